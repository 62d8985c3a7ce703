# SPDX-License-Identifier: MIT
# A box that was dropped and tracked again from the same files is whole: nothing of it is taken for sent that went with
# the first one. (Fails if track trusts the stat cache, the journal's packs or the catalog of the earlier box.)
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
on a ag-box track demo "$project"
on a ag-box park demo
on a ag-box drop --yes demo
on a sh -c "chattr -i '$project'; rmdir '$project'; mv '$WORK'/.project.agbox-* '$project'"
cp -a "$project" "$WORK/original"
on a ag-box track demo "$project"
on a ag-box park demo
on b ag-box restore demo "$WORK/out"
expect_same_tree "$WORK/original" "$WORK/out"
