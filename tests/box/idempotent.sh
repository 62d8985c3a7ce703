# SPDX-License-Identifier: MIT
# A command that has nothing to do says so and succeeds; the exit codes are those of the table.
. "$TESTS/lib.sh"

NO_INIT=1
store file
node a
project="$WORK/project"; make_project "$project"
expect_exit 5 on a ag-box track demo "$project"
expect_error "ag-box init"
on a ag-box init
expect_exit 0 on a ag-box init
expect_exit 4 on a ag-box up demo
expect_exit 4 on a ag-box park demo
on a ag-box track demo "$project"
expect_exit 0 on a ag-box track demo "$project"
expect_output "already"
expect_exit 0 on a ag-box snapshot demo
on a ag-box park demo
expect_exit 0 on a ag-box park demo
on a ag-box up demo
expect_exit 0 on a ag-box up demo
on a ag-box park demo
expect_exit 0 on a ag-box snapshot --active
