# SPDX-License-Identifier: MIT
# A prune that is killed at any step harms nothing: the box can be taken at once, everything kept is whole, and the next
# prunes finish the work, litter included.
# limit: 300
. "$TESTS/lib.sh"

days() { on "$1" env AGBOX_STORE_CLOCK=$(($2 * 86400)) "${@:3}"; }
prune() { days "$1" "$2" ag-box prune demo --keep-hourly 1 --keep-daily 1 --keep-weekly 1 "${@:3}"; }
objects() { (cd "$WORK/store/box/demo" && for kind in snap pack condemned; do { find $kind -type f 2>/dev/null || true; } | wc -l; done | tr '\n' ' '); }
write() { head -c 400000 /dev/urandom >"$project/random"; echo "$1" >"$project/when"; }

store file
node a BOX_LEASE_TTL=30d
node b
project="$WORK/project"; make_project "$project"
on a ag-box track demo "$project"
write one; on a ag-box snapshot demo
write two; on a ag-box snapshot demo
on a ag-box park demo
prune a 2                                  # condemns what the first two had
days a 3 ag-box up demo
on a sh -c "head -c 400000 /dev/urandom >'$project/random'; echo three >'$project/when'"
days a 3 ag-box snapshot demo
on a sh -c "head -c 400000 /dev/urandom >'$project/random'; echo four >'$project/when'"
days a 3 ag-box park demo
cp -a "$WORK/store" "$WORK/before"
cp -a "$WORK/node/a/state" "$WORK/state"

# Once without a kill: it deletes, condemns anew, and removes a list.
prune a 5
prune a 7
expected=$(objects)
echo "$(objects) are left; before: $(cd "$WORK/before/box/demo" && find snap pack -type f | wc -l)"

fresh() {
    rm -rf "$WORK/store" "$WORK/node/a/state"
    cp -a "$WORK/before" "$WORK/store"
    cp -a "$WORK/state" "$WORK/node/a/state"
}
fresh
rm -f "$WORK/steps"
days a 5 env AGBOX_CRASH_LIST="$WORK/steps" ag-box prune demo --keep-hourly 1 --keep-daily 1 --keep-weekly 1
steps=$(grep -E 'prune:(put-|remove-|prune-batch|journal)' "$WORK/steps" | grep -E '#1$' | sort -u)
[ "$(wc -l <<<"$steps")" -ge 8 ] || fail "only these steps: $steps"
for step in $steps; do
    fresh
    code=0
    days a 5 env AGBOX_CRASH_AT="$step" ag-box prune demo --keep-hourly 1 --keep-daily 1 --keep-weekly 1 || code=$?
    [ "$code" = 137 ] || fail "$step: exit $code"
    days b 5 ag-box check demo                     # nothing that is kept lacks anything
    prune a 5
    prune a 7
    prune a 9
    [ "$(objects)" = "$expected" ] || fail "$step: $(objects) instead of $expected"
    days b 9 ag-box check --read-data demo
done

# Killed, and taken at once by another node, which reads everything and parks.
fresh
days a 5 env AGBOX_CRASH_AT=prune:prune-batch.after ag-box prune demo && fail "was not killed"
days b 5 ag-box up demo
on b sh -c "tar -C '$project' -cf - . | wc -c"
expect_file "$project/when" four
days b 5 ag-box park demo
days a 5 ag-box check --read-data demo
