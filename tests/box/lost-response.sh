# SPDX-License-Identifier: MIT
# A park whose last answer is lost is a park: the box is free, and another node can take it at once.
. "$TESTS/lib.sh"

store fault
node a
node b
project="$WORK/project"; make_project "$project"

on a ag-box track demo "$project"
echo changed >"$project/file"
fault drop-response --key box/demo/head --op PUT --times 1

on a ag-box park demo
on b ag-box up demo
expect_file "$project/file" changed
expect_state a demo moved-aside
expect_state b demo mounted
expect_commits box/demo/head 3   # track, park (answer lost, found by GET), up; retries do not count
