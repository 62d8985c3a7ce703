# SPDX-License-Identifier: MIT
# A box that was dropped while this node had work in it: the work stays and is named, until `drop` here gives it up.
. "$TESTS/lib.sh"

store file
node a
node b
needs_crash_points
project="$WORK/project"; mkdir "$project"; echo first >"$project/file"

lazy_box a demo "$project"
echo work | on a tee "$project/file" >/dev/null
on b ag-box up demo --force
on b ag-box park demo
on b ag-box drop demo --yes --force

expect_exit 3 on a ag-box snapshot demo
expect_exit 3 on a ag-box park demo
expect_error "the work here is kept in"
expect_state a demo mounted # not half parked: what works there can go on
on a sh -c "echo more >'$project/more'"
expect_exit 137 on a env AGBOX_CRASH_AT=park:remount-ro.after ag-box park demo
expect_exit 3 on a ag-box up demo
expect_state a demo mounted
on a sh -c "echo again >'$project/more'"
expect_file "$project/file" work
expect_exit 3 on a ag-box drop demo --yes
expect_error "the work here is kept in $WORK/node/a/state/box/demo/upper-"
expect_error "drop demo --force"
expect_file "$project/file" work
expect_exit 0 on a ag-box drop demo --yes --force
expect_state a demo none
[ -z "$(ls -d "$WORK/node/a/state/box/demo"/upper-* 2>/dev/null)" ] || fail "the upper is still there"
mkdir -p "$WORK/plain" "$WORK/plain-of-b"
on b mount --bind "$WORK/plain-of-b" "$WORK/plain" # a plain directory is in every namespace
project="$WORK/plain/project"; mkdir "$project"
echo plain >"$project/file"
on a ag-box track demo "$project"
echo old >"$WORK/node/a/state/box/demo/home/memory"

# The same of a plain directory: a park that is refused has it at its path again.
on b ag-box up demo --force
on b ag-box park demo
on b ag-box drop demo --yes --force
touch "$project/file" # read again, it is found to be what this node has sent: that is gone with the box
expect_exit 3 on a ag-box snapshot demo
expect_exit 3 on a ag-box park demo
expect_error "the work here is kept in $project"
expect_state a demo full-held
expect_file "$project/file" plain
expect_exit 137 on a env AGBOX_CRASH_AT=park:rename-aside.after ag-box park demo
expect_missing "$project/file"
expect_exit 3 on a ag-box up demo
expect_state a demo full-held
expect_file "$project/file" plain
expect_exit 3 on a ag-box drop demo --yes # what its agents remembered is nowhere else
expect_error "the work here is kept in $project"
[ -f "$WORK/node/a/state/box/demo/home/memory" ] || fail "the home is gone without a word"
expect_exit 137 on a env AGBOX_CRASH_AT=park:rename-aside.after ag-box park demo
expect_missing "$project/file"
mkdir "$project"; echo other >"$project/other" # what took its place
expect_exit 8 on a ag-box drop demo --yes --force
rm -r "$project"
on a ag-box drop demo --yes --force # a hidden name beside it would be as good as lost
expect_file "$project/file" plain

# What the agents of that box remembered is no other box's, nor what a killed track left.
on a ag-box track demo "$project"
on a ag-box restore demo "$WORK/home" --home
expect_missing "$WORK/home/memory"
on a ag-box park demo
on a ag-box up demo --full
echo old >"$WORK/node/a/state/box/demo/home/memory"
expect_exit 137 on a env AGBOX_CRASH_AT=park:plain-home.before ag-box park demo
on a ag-box drop demo --yes
rm -rf "$WORK/home"
project="$WORK/plain/third"; mkdir "$project"; echo newest >"$project/file"
on a ag-box track demo "$project"
on a ag-box restore demo "$WORK/home" --home
expect_missing "$WORK/home/memory"
on a ag-box park demo

# Work whose lease was lost does not become a fork of another box.
on a ag-box up demo
echo fenced | on a tee "$project/file" >/dev/null
on b ag-box up demo --force
echo theirs | on b tee "$project/file" >/dev/null
expect_exit 3 on a ag-box snapshot demo
expect_state a demo fenced
on b ag-box park demo
on b ag-box drop demo --yes --force
expect_exit 3 on a ag-box park demo
expect_error "the work here is kept in"
expect_exit 3 on a ag-box drop demo --yes
expect_file "$project/file" fenced
on a ag-box drop demo --yes --force
on b umount "$WORK/plain"
