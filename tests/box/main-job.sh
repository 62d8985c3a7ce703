# SPDX-License-Identifier: MIT
# A project tracked and parked on one node is usable on another one a moment later, at the same path, and back again.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
cp -a "$project" "$WORK/original"

on a ag-box track demo "$project"
expect_state a demo full-held
on a ag-box park demo
expect_missing "$project/file"
on b ag-box up demo
expect_state b demo mounted
expect_same_tree "$project" "$WORK/original"

on b sh -c "echo 'written on b' >'$project/new file'; rm '$project/file'; mv '$project/deep' '$project/moved'"
on b sh -c "cd '$project' && find . | LC_ALL=C sort" >"$WORK/b.list"
copy_tree "$project" "$WORK/b"
on b ag-box park demo
expect_missing "$project/new file"

on a ag-box up demo
expect_same_tree "$project" "$WORK/b"
drop_caches
expect_same_tree "$project" "$WORK/b"
on a ag-box park demo
