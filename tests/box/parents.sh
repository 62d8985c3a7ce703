# SPDX-License-Identifier: MIT
# `up` makes the directories above the project's path that a node has never had.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/never/seen/project"; make_project "$project"
cp -a "$project" "$WORK/original"
on a ag-box track demo "$project"
on a ag-box park demo
chattr -i "$project"
rm -r "$WORK/never"

on b ag-box up demo
expect_same_tree "$project" "$WORK/original"
[ "$(stat -c %a "$WORK/never/seen")" = 755 ] || fail "the new directory has mode $(stat -c %a "$WORK/never/seen")"
on b ag-box park demo
