# SPDX-License-Identifier: MIT
# A box that was dropped and tracked again from the same files is whole: nothing of it is taken for sent that went with
# the first one. What was begun where another node made the box first says how it is got out of. (Fails if track trusts the stat cache, the journal's packs or the catalog of the earlier box.)
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

needs_crash_points
mkdir "$WORK/ours" "$WORK/theirs"
head -c 3000000 /dev/urandom >"$WORK/ours/file"
echo theirs >"$WORK/theirs/file"
expect_exit 137 on b env AGBOX_CRASH_AT=track:put-pack.after ag-box track late "$WORK/ours"
on a ag-box track late "$WORK/theirs"
expect_exit 8 on b ag-box track late "$WORK/ours"
expect_error '`ag-box drop late` here forgets what was begun here'
on b ag-box drop late --yes
[ -f "$WORK/ours/file" ] || fail "the directory has gone"
on a ag-box check late
on a ag-box park late
on b ag-box track other "$WORK/ours"
on b ag-box up late
expect_file "$WORK/theirs/file" theirs
