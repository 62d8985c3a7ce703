# SPDX-License-Identifier: MIT
# A box that was dropped while this node had work in it: the work stays and is named, until `drop` here gives it up.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; mkdir "$project"; echo first >"$project/file"

on a ag-box track demo "$project"
on a ag-box park demo
on a ag-box up demo
echo work | on a tee "$project/file" >/dev/null
on b ag-box up demo --force
on b ag-box park demo
on b ag-box drop demo --yes --force

expect_exit 3 on a ag-box snapshot demo
expect_exit 3 on a ag-box park demo
expect_error "the work here is kept in"
expect_exit 3 on a ag-box up demo
expect_file "$project/file" work
expect_exit 0 on a ag-box drop demo --yes
expect_state a demo none
[ -z "$(ls -d "$WORK/node/a/state/box/demo"/upper-* 2>/dev/null)" ] || fail "the upper is still there"
mkdir -p "$project.new"
on a ag-box track demo "$project.new"
on a ag-box park demo
