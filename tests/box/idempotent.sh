# SPDX-License-Identifier: MIT
# A command that has nothing to do says so and succeeds; the exit codes are those of the table.
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"; make_project "$project"
on a expect_exit 2 ag-box track demo "$project"
expect_error "not initialised"
on a ag-box init
on a expect_exit 0 ag-box init
on a expect_exit 4 ag-box up demo
on a expect_exit 4 ag-box park demo
on a ag-box track demo "$project"
on a expect_exit 8 ag-box track demo "$project"
on a expect_exit 0 ag-box snapshot demo
on a ag-box park demo
on a expect_exit 0 ag-box park demo
on a ag-box up demo
on a expect_exit 0 ag-box up demo
on a ag-box park demo
on a expect_exit 0 ag-box snapshot --active
