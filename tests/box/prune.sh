# SPDX-License-Identifier: MIT
# Prune keeps by policy, condemns first and deletes a day later, and never touches what the newest snapshot needs.
. "$TESTS/lib.sh"

# at DAY HH:MM COMMAND...: with the store's clock on that day of a fixed week; day 0 is a Monday
monday=$(( ($(date +%s) / 604800 + 2) * 604800 + 4 * 86400 ))
at() {
    local clock=$((monday + $1 * 86400 + 10#${2%:*} * 3600 + 10#${2#*:} * 60 - $(date +%s)))
    shift 2
    on a env AGBOX_STORE_CLOCK=$clock "$@"
}
objects() { find "$WORK/store/box/demo/$1" -type f 2>/dev/null | wc -l; }
listed() { at 30 00:00 ag-box ls --snapshots demo --json | jq '.snapshots | length'; }

store file
node a BOX_LEASE_TTL=30d
node b
project="$WORK/project"; make_project "$project"
snapshot_at() {
    head -c 300000 /dev/urandom >"$project/big"
    echo "$*" >"$project/when"
    at "$@" ag-box snapshot demo
}
at 0 00:30 ag-box track demo "$project"
snapshot_at 0 01:10
snapshot_at 0 01:20   # the last of its hour
snapshot_at 0 03:00   # of its day, and its week
snapshot_at 9 10:00
snapshot_at 10 10:00
snapshot_at 15 10:10
snapshot_at 15 11:00
at 15 11:30 ag-box park demo
all=$(objects snap) # the park may have written something anew (rule S4)
[ "$all" -ge 8 ] || fail "$all snapshots"

# 0 keeps none of that kind, but the newest stays.
kept() { at 16 00:00 ag-box prune demo --dry-run --json "$@" | jq '.boxes[0].kept'; }
[ "$(kept --keep-hourly 0 --keep-daily 0 --keep-weekly 0)" = 1 ] || fail "0 does not mean none"
[ "$(kept --keep-hourly 0 --keep-daily 1 --keep-weekly 0)" -lt "$(kept --keep-daily 1)" ] || fail "0 is the default"

# Nothing is written by a dry run.
find "$WORK/store" -type f -printf '%p %T@\n' | grep -v .agbox | sort >"$WORK/before"
at 16 00:00 ag-box prune demo --dry-run
find "$WORK/store" -type f -printf '%p %T@\n' | grep -v .agbox | sort >"$WORK/after"
cmp "$WORK/before" "$WORK/after"

# Hours: 15 11, 15 10. Days: 15, 10. Weeks: 2, 1, 0.
at 16 00:00 ag-box prune demo --keep-hourly 2 --keep-daily 2 --keep-weekly 3
[ "$(listed)" = 4 ] || fail "$(listed) are kept"
[ "$(objects snap)" = "$all" ] || fail "something was deleted at once"
[ "$(objects condemned)" = 1 ] || fail "no list"
at 30 00:00 ag-box ls --snapshots demo --json | jq -r '.snapshots[].time' >"$WORK/kept"

packs=$(objects pack)
at 16 23:59 ag-box prune demo --keep-hourly 2 --keep-daily 2 --keep-weekly 3
[ "$(objects snap) $(objects pack)" = "$all $packs" ] || fail "deleted before a day had passed"
# What is condemned stays so, whatever later policies say.
at 17 00:01 ag-box prune demo
[ "$(objects snap)" = 4 ] || fail "$(objects snap) snapshots are left"
[ "$(objects pack)" -lt "$packs" ] || fail "no pack was deleted"
[ "$(objects condemned)" -le 1 ] || fail "an old list is left"

# Every one of those that are left is whole.
at 30 00:00 ag-box ls --snapshots demo --json | jq -r '.snapshots[].id' >"$WORK/remaining"
for id in $(cat "$WORK/remaining"); do
    on b ag-box restore demo --snapshot "$id" "$WORK/$id"
    on b ag-box digest "$WORK/$id"
done
expect_file "$WORK/$(tail -n 1 "$WORK/remaining")/when" "0 03:00"
expect_file "$WORK/$(head -n 1 "$WORK/remaining")/when" "15 11:00"
