# SPDX-License-Identifier: MIT
# A snapshot of a box whose lease another node has taken becomes a fork, live, and the work here goes on.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; mkdir "$project"; echo one >"$project/file"
on a ag-box track demo "$project"
on a ag-box park demo
on a ag-box up demo
on a sh -c "echo 'only on a' >'$project/late'"
on b ag-box up --force demo

expect_exit 0 on a ag-box snapshot demo
expect_output "fork:a-"
expect_error "becomes a fork"
expect_state a demo fenced
on a sh -c "echo 'a goes on' >'$project/later'"
expect_exit 0 on a ag-box snapshot demo
expect_output "fork:a-"
[ "$(find "$WORK/store/box/demo/fork" -type f | wc -l)" = 1 ] || fail "the older fork is still there"
on b ag-box park demo
