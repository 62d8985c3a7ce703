# SPDX-License-Identifier: MIT
# A file of the tree that is open for writing stops park: the writer is named, nothing has changed, and the tree stays writable.
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"; make_project "$project"
on a ag-box track demo "$project"
on a ag-box park demo
on a ag-box up demo

mkfifo "$WORK/go" "$WORK/ready"
on a sh -c "exec 9>'$project/open'; echo ready >'$WORK/ready'; read x <'$WORK/go'; echo more >&9" &
read -r <"$WORK/ready"
expect_exit 8 on a ag-box park demo
expect_error "sh"
expect_error "open"
expect_state a demo mounted
on a sh -c "echo still >'$project/writable'"
echo >"$WORK/go"; wait
on a ag-box park demo
on a ag-box up demo
expect_file "$project/open" more
expect_file "$project/writable" still
on a ag-box park demo
