# SPDX-License-Identifier: MIT
# Check finds what is gone, cut off or altered in the store, and names objects, snapshots and files; nothing else.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
head -c 700000 /dev/urandom >"$project/large"
on a ag-box track demo "$project"
echo second >"$project/later"
on a ag-box snapshot demo
on a ag-box park demo
on b ag-box check demo
expect_exit 0 on b ag-box check --read-data
expect_output "all is well"
expect_exit 0 on b ag-box check --read-data=50% demo
expect_exit 2 on b ag-box check --read-data=0% demo
expect_exit 2 on b ag-box check --read-data=many demo
expect_exit 4 on b ag-box check nobody
mkdir "$WORK/node/b/state/check.0123456789abcdef" # as a check that was killed leaves it
on b ag-box check demo
[ -z "$(find "$WORK/node/b/state" -name 'check.*')" ] || fail "its cache is left"

cp -a "$WORK/store" "$WORK/whole"
whole() { rm -rf "$WORK/store"; cp -a "$WORK/whole" "$WORK/store"; }
flip() { python3 -c 'import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2])); byte = f.read(1)[0]; f.seek(-1, 1); f.write(bytes([byte ^ 1]))' "$1" "$2"; }
found() { jq -e "$1" "$WORK/output" >/dev/null || fail "not found: $1 in $(head -c 600 "$WORK/output")"; }
largest=$(find "$WORK/store/box/demo/pack" -type f -printf '%s %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-)

# A pack is gone.
rm "$largest"
expect_exit 7 on b ag-box check demo --json
found '.ok == false and .code == 7'
found '[.findings[] | select(.path == "project/large" and (.object | endswith("'"${largest##*/}"'")) and .what == "it is gone")] | length >= 1'
found '[.findings[].snapshot] | unique | length == 2'
whole

# It is cut off: its footer is not where it was.
truncate -s -100 "$largest"
expect_exit 7 on b ag-box check demo --json
found '[.findings[] | select(.path == "project/large")] | length >= 1'
whole

# A byte of content is another one: only reading finds that.
flip "$largest" 200000
expect_exit 0 on b ag-box check demo
expect_exit 7 on b ag-box check --read-data demo
expect_output "a frame in it is damaged"
expect_error "the store has damage"
whole

# Metadata is read always. At most 20 are shown, all are in the JSON.
for pack in $(find "$WORK/store/box/demo/pack" -type f); do
    whole
    flip "$pack" 30
    expect_exit 7 on b ag-box check --read-data demo
    whole
    rm "$pack"
    expect_exit 7 on b ag-box check demo
    [ "$(grep -c 'box/demo' "$WORK/output")" -le 20 ] || fail "too many are shown"
done
whole

# A snapshot object, and the newest.
for snapshot in "$WORK/store/box/demo/snap"/*; do
    whole
    flip "$snapshot" 100
    expect_exit 7 on b ag-box check demo --json
    found '[.findings[] | select(.object == "box/demo/snap/'"${snapshot##*/}"'")] | length == 1'
done
whole
newest=$(on b ag-box ls --snapshots demo --json | jq -r '.snapshots[0].id')
rm "$WORK/store/box/demo/snap/$newest"
expect_exit 7 on b ag-box check
expect_output "the newest snapshot is gone"
whole
on b ag-box check --read-data
