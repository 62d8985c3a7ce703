# SPDX-License-Identifier: MIT
# A full box's directory is moved aside by park and kept for 7 days. Then it goes, unless somebody wrote to it after the
# park: that one is kept, and named. A late writer is found right after the commit, too.
. "$TESTS/lib.sh"

store file
node a
needs_crash_points
project="$WORK/project"; make_project "$project"
echo "not sent" >"$project/.auth-secret"
aside() { find "$WORK" -maxdepth 1 -name '.project.agbox-*' | LC_ALL=C sort; }
days_later() { # the journal's time, and those of older ones, 8 days back
    on a python3 -c 'import sqlite3, sys, glob
with sqlite3.connect(sys.argv[1] + "/journal.db") as db: db.execute("update box set aside_ns = aside_ns - 8*86400*1000000000 where aside_ns > 0")
for record in glob.glob(sys.argv[1] + "/aside-*"):
    ns, rest = open(record).read().split("\n", 1)
    open(record, "w").write("%d\n%s" % (int(ns) - 8 * 86400 * 10**9 if int(ns) > 0 else int(ns), rest))' "$WORK/node/a/state/box/demo"
}

on a ag-box track demo "$project"
on a ag-box park demo
first=$(aside); [ -d "$first" ] || fail "nothing was moved aside"
on a ag-box up demo
on a ag-box park demo
[ "$(aside)" = "$first" ] || fail "it is gone before its time"
expect_file "$first/file" "$(cat "$first/file")"

# Two of them, whose time comes: both go, the box is none again.
on a ag-box up demo --full
expect_file "$project/.auth-secret" "not sent"
on a ag-box park demo
[ "$(aside | wc -l)" = 2 ] || fail "not two of them: $(aside)"
days_later
expect_exit 137 on a env AGBOX_CRASH_AT=park:aside-removing.after ag-box park demo
on a ag-box snapshot --active # what a timer runs
[ -z "$(aside)" ] || fail "still there after 8 days: $(aside)"
expect_state a demo none

# Somebody had his working directory in it, and wrote there days later.
on a ag-box up demo --full
on a ag-box park demo
days_later
one=$(aside)
touch -r "$one" "$WORK/times"; echo late >"$one/late"; touch -r "$WORK/times" "$one"
expect_exit 0 on a ag-box up demo
expect_error "$one was written to"
[ -e "$one/late" ] || fail "a late writer's work is gone"
on a ag-box park demo
expect_exit 0 on a ag-box park demo
expect_error "$one was written to"
rm -rf "$one"
on a ag-box park demo
expect_state a demo none

# And one who writes while park commits.
on a ag-box up demo --full
mkfifo "$WORK/there" "$WORK/go"
(cd "$project" && echo >"$WORK/there"; read -r _ <"$WORK/go"; echo late >late) &
read -r _ <"$WORK/there"
expect_exit 137 on a env AGBOX_CRASH_AT=park:fsync-parent.after ag-box park demo
expect_state a demo moving
on a sh -c "true"
expect_exit 137 on a env AGBOX_CRASH_AT=park:unmount-bind.after ag-box park demo
echo >"$WORK/go"; wait
expect_exit 0 on a ag-box park demo
one=$(aside)
expect_error "$one was written to"
[ "$(cat "$one/late")" = late ] || fail "a late writer's work is gone"
on a ag-box up demo
expect_missing "$project/late"
on a ag-box park demo
rm -rf "$one"

# A name as long as names may be still has room for what is put to it.
long="$WORK/$(printf 'n%.0s' $(seq 255))"; mkdir "$long"; echo 1 >"$long/file"
on a ag-box track long "$long"
on a ag-box park long
on a ag-box up long --full
expect_file "$long/file" 1
on a ag-box park long
