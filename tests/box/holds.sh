# SPDX-License-Identifier: MIT
# What a node uses is held in the store, under its journal's name, for as long as it uses it, and not longer.
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"; make_project "$project"
holds() {
    find "$WORK/store/box/demo/hold" -type f | wc -l
}
expect_holds() {
    [ "$(holds)" = "$1" ] || fail "$(holds) holds, expected $1"
}
on a ag-box track demo "$project"
expect_holds 1
on a ag-box park demo
expect_holds 0
on a ag-box up demo
expect_holds 1
on a ag-box snapshot demo
expect_holds 1
on a ag-box park demo
expect_holds 0
