# SPDX-License-Identifier: MIT
# .auth-secret never enters a snapshot, pins the box to its node, and is still there after park and up.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
mkdir -p "$project/conf"; echo "only on a" >"$project/conf/.auth-secret"
ln "$project/conf/.auth-secret" "$project/other-name"
on a ag-box track demo "$project"
on a ag-box park demo
expect_exit 3 on b ag-box up demo --force
expect_error "pinned to a"
expect_error "unpin it there"
for pin in "" b; do
    expect_refused 3 "pinned to a, and only there" b ag-box set demo memory_max=1G pin=$pin
done
on b ag-box set demo memory_max=1G pin=a # nothing else is a's alone
expect_exit 3 on b ag-box up demo
on a ag-box up demo
expect_file "$project/conf/.auth-secret" "only on a"
expect_file "$project/other-name" "only on a"
on a ag-box park demo
on b ag-box restore demo "$WORK/restored"
expect_missing "$WORK/restored/conf/.auth-secret"
expect_missing "$WORK/restored/other-name"
on a ag-box up demo
expect_file "$project/conf/.auth-secret" "only on a"
on a ag-box park demo

# A pin is the pinned node's: it takes it away, and gives another one; a node that has work here can undo its own.
on a ag-box set demo pin=
on b ag-box up demo
on b ag-box set demo pin=a
on b ag-box set demo pin=
on b ag-box set demo pin=a
on b ag-box park demo
expect_refused 3 "pinned to a" b ag-box set demo pin=
on a ag-box up demo
on a ag-box set demo pin=
expect_file "$project/conf/.auth-secret" "only on a"
written=$(on a stat -c %y "$project/conf")
on a ag-box park demo # sees the file again
expect_exit 3 on b ag-box up demo

# An `up` that is killed while it lays the file back leaves half a copy, under another name: no snapshot takes that, and
# the directory is as old as it was.
needs_crash_points
expect_exit 137 on a env AGBOX_CRASH_AT=up:copy.made ag-box up demo
[ -n "$(on a find "$WORK/node/a/run" -name '.agbox-copying')" ] || fail "nothing was cut off"
on a ag-box snapshot demo
on a ag-box park demo
on b ag-box restore demo "$WORK/after"
[ -z "$(find "$WORK/after" -name '.agbox-copying')" ] || fail "half a copy is in the snapshot"
! grep -rq "only on a" "$WORK/after" || fail "the secret is in the snapshot"
on a ag-box up demo
expect_file "$project/conf/.auth-secret" "only on a"
[ -z "$(on a find "$project" -name '.agbox-copying')" ] || fail "half a copy is left"
[ "$(on a stat -c %y "$project/conf")" = "$written" ] || fail "the directory is younger than it was"
on a ag-box park demo

# Once that name is gone, what is left is a file like any other.
on a ag-box up demo
on a rm "$project/conf/.auth-secret"
on a ag-box park demo
on b ag-box restore demo "$WORK/named"
expect_file "$WORK/named/other-name" "only on a"
