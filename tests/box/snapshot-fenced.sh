# SPDX-License-Identifier: MIT
# A snapshot of a box whose lease another node has taken becomes a fork, live, and the work here goes on.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; mkdir "$project"; echo one >"$project/file"
lazy_box a demo "$project"
on a sh -c "echo 'only on a' >'$project/late'"
on b ag-box up --force demo

other="$WORK/other"; mkdir "$other"; echo one >"$other/file"
on a ag-box track other "$other"

expect_exit 3 on a ag-box snapshot demo
expect_output "is kept as fork:a-"
expect_error "becomes a fork"
expect_error "the lease of demo was lost; the work here is kept as a fork, and goes on"
expect_error "hint: ag-box ls --snapshots demo"
expect_state a demo fenced
[ "$(json_field <(on a ag-box status --json demo) lease)" = lost ] || fail "status has a lease"
on a sh -c "echo 'a goes on' >'$project/later'"
expect_exit 3 on a ag-box snapshot demo --json
[ "$(json_field "$WORK/output" fork) $(json_field "$WORK/output" code)" = "fork:a-2 3" ] || fail "no fork is named"
expect_exit 3 on a ag-box snapshot demo
expect_output "nothing is new in demo here since fork:a-"
echo two >"$other/file"
expect_exit 3 on a ag-box snapshot --active
expect_output "other: snapshot"
[ "$(find "$WORK/store/box/demo/fork" -type f | wc -l)" = 1 ] || fail "the older fork is still there"
on b ag-box park demo
