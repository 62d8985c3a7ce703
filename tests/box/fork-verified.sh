# SPDX-License-Identifier: MIT
# Work whose lease is lost is not taken away as long as packs that its fork needs are missing in the store.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
on a ag-box track demo "$project"
on a ag-box park demo
on a ag-box up demo
on b ag-box up demo --force
on b sh -c "echo 'of b' >'$project/b'"
on b ag-box park demo
on a sh -c "echo 'only here' >'$project/file'"

mv "$WORK/store/box/demo/pack" "$WORK/pack"
mkdir "$WORK/store/box/demo/pack"
expect_exit 7 on a ag-box park demo
expect_state a demo fenced
expect_file "$project/file" "only here"
cp -a "$WORK/pack/." "$WORK/store/box/demo/pack"
expect_exit 3 on a ag-box park demo
expect_state a demo moved-aside
