# SPDX-License-Identifier: MIT
# Any snapshot's project or home is written into an empty directory exactly as it was, on a node that never had the box,
# and its hold is gone afterwards: at once, or with the next command when the restore was killed.
. "$TESTS/lib.sh"

store file
node a
node b
needs_crash_points
project="$WORK/project"; make_project "$project"
holds() { find "$WORK/store/box/demo/hold" -type f 2>/dev/null | wc -l; }

on a ag-box track demo "$project"
on a sh -c "echo remembered >'$WORK/node/a/state/box/demo/home/note'; ln '$WORK/node/a/state/box/demo/home/note' '$WORK/node/a/state/box/demo/home/again'"
first=$(on a ag-box snapshot demo --json | jq -r .snapshot)
copy_tree "$project" "$WORK/original"
on a python3 "$TESTS/mutate-project.py" "$project" 1
on a ag-box park demo
[ "$(holds)" = 0 ] || fail "park left a hold"

on b ag-box restore demo --snapshot "${first:0:10}" "$WORK/old"
expect_same_tree "$WORK/old" "$WORK/original"
mkdir "$WORK/new"
on b ag-box restore demo "$WORK/new"
[ "$(holds)" = 0 ] || fail "restore left a hold"
on b ag-box restore demo --home "$WORK/home"
expect_file "$WORK/home/again" remembered
[ "$(stat -c %h "$WORK/home/note")" = 2 ] || fail "hard links came apart"
on a ag-box up demo
expect_same_tree "$WORK/new" "$project"
on a ag-box park demo

expect_exit 2 on b ag-box restore demo "$WORK/new"
expect_error "not empty"
expect_exit 4 on b ag-box restore demo --snapshot 0123456789 "$WORK/none"
expect_missing "$WORK/none"
expect_exit 4 on b ag-box restore nobox "$WORK/none"
expect_missing "$WORK/none"

mkdir "$WORK/small"
on b mount -t tmpfs -o size=64k none "$WORK/small"
expect_exit 1 on b ag-box restore demo "$WORK/small"
expect_error "No space left on device"
expect_error "project/"
on b umount "$WORK/small"
[ "$(holds)" = 0 ] || fail "a failed restore left a hold"

# Killed with its hold in the store: the next command of that node takes it away, and only that one.
expect_exit 137 on b env AGBOX_CRASH_AT=restore:fill-file.after#3 ag-box restore demo "$WORK/killed"
[ "$(holds)" = 1 ] || fail "no hold while a restore is under way"
on a ag-box restore demo "$WORK/another"
[ "$(holds)" = 1 ] || fail "a node took another node's hold away"
on b ag-box restore demo "$WORK/another-2"
[ "$(holds)" = 0 ] || fail "the hold of a killed restore stays"
[ -z "$(ls -A "$WORK/node/b/state/visits")" ] || fail "the record of a killed restore stays"

# Damage: what is whole is written, what is not is named and left out, with all its names.
mkdir -p "$WORK/harm/deep"
for i in $(seq 1 25); do head -c 1500000 /dev/urandom >"$WORK/harm/deep/file$i"; done
ln "$WORK/harm/deep/file7" "$WORK/harm/second-name"
echo small >"$WORK/harm/small"
on a ag-box track harm "$WORK/harm"
for pack in $(find "$WORK/store/box/harm/pack" -type f -size +12M); do
    lose_cache b # it would have all of it
    mv "$pack" "$WORK/gone"
    expect_exit 7 on b ag-box restore harm "$WORK/harmed" --json
    jq -e '.ok == false and .code == 7 and .lost > 2 and .files + .lost == 27' "$WORK/output" >/dev/null || fail "$(cat "$WORK/output")"
    expect_error "project/deep/file"
    [ "$(grep -c "is left out" "$WORK/error")" = "$(jq '[.lost, 20] | min' "$WORK/output")" ] || fail "not as many are named"
    [ "$(find "$WORK/harmed" -type f | wc -l)" = "$(jq .files "$WORK/output")" ] || fail "not as many are there"
    find "$WORK/harmed" -type f -printf '%P\n' | while read -r file; do cmp "$WORK/harm/$file" "$WORK/harmed/$file"; done
    rm -r "$WORK/harmed"
    mv "$WORK/gone" "$pack"
done
on b ag-box restore harm "$WORK/harmed"
expect_same_tree "$WORK/harm" "$WORK/harmed"
on a ag-box park harm
