# SPDX-License-Identifier: MIT
# Lazy and full in turn: the tree is equal every time. A fill that was killed goes on, or is given up without a trace. A
# machine without /dev/fuse comes up in full mode by itself, and says so.
. "$TESTS/lib.sh"

store file
node a
node b
needs_crash_points
project="$WORK/project"; make_project "$project"
on a ag-box track demo "$project"
on a sh -c "echo remembered >'$WORK/node/a/state/box/demo/home/note'"
on a ag-box park demo
on a ag-box up demo --full
pending() { on a ag-box status --json demo | jq .pending_bytes; }
[ "$(pending)" = 0 ] || fail "$(pending) bytes are pending, all of which were just fetched"
on a sh -c "echo more >>'$project/file'"
[ "$(pending)" -gt 0 ] || fail "nothing is pending"
on a ag-box park demo
on a ag-box up demo --full
on a sh -c "echo here >'$project/new-file'; rm '$project/new-file'"
expect_exit 0 on a ag-box diff demo # what a park makes a snapshot of, however little, is told
[ "$(cat "$WORK/output")" = "M	." ] || fail "a directory's time is not told"
expect_exit 0 on a ag-box park demo --json
jq -e .changed "$WORK/output" || fail "no snapshot"
on a ag-box up demo --full
expect_exit 0 on a ag-box park demo
expect_output "nothing had changed" # what was filled is what the store has: not a byte is sent again

for round in 1 2 3; do
    on b ag-box up demo --full
    expect_state b demo full-held
    [ "$round" = 1 ] || expect_same_tree "$project" "$WORK/model"
    on b test -f "$WORK/node/b/state/box/demo/home/note" || fail "no home"
    on b python3 "$TESTS/mutate-project.py" "$project" "${round}b"
    rm -rf "$WORK/model"; copy_tree "$project" "$WORK/model"
    on b ag-box park demo
    expect_state b demo moved-aside
    on a ag-box up demo
    expect_exit 0 on a ag-box up demo --full # nothing is made full while it is up
    expect_error "--full counts from its next"
    expect_state a demo mounted
    expect_same_tree "$project" "$WORK/model"
    on a python3 "$TESTS/mutate-project.py" "$project" "${round}a"
    rm -rf "$WORK/model"; copy_tree "$project" "$WORK/model"
    on a ag-box park demo
done
on b ag-box restore demo "$WORK/restored"
expect_same_tree "$WORK/restored" "$WORK/model"

# Killed on the way: the next `up` goes on; killed after the rename: it is there.
expect_exit 137 on a env AGBOX_CRASH_AT=up:fill-file.after#4 ag-box up demo --full
expect_state a demo filling
expect_exit 0 on a ag-box snapshot demo
expect_output "renewed"
on a ag-box up demo
expect_same_tree "$project" "$WORK/model"
on a ag-box park demo
expect_exit 137 on a env AGBOX_CRASH_AT=up:fill-rename.after ag-box up demo --full
expect_state a demo filling
on a ag-box up demo
expect_state a demo full-held
expect_same_tree "$project" "$WORK/model"
on a ag-box park demo
expect_exit 137 on a env AGBOX_CRASH_AT=up:fill-entries.after#2 ag-box up demo --full
reboot a
on a ag-box park demo
expect_missing "$project/file"
expect_state a demo none

# Its lease was lost meanwhile: nothing had been changed here, so it begins again.
expect_exit 137 on a env AGBOX_CRASH_AT=up:fill-file.after#4 ag-box up demo --full
on b ag-box up demo --force
on b sh -c "echo newer >'$project/newer'"
on b ag-box park demo
on a ag-box up demo --full
expect_file "$project/newer" newer
on a ag-box park demo

# No /dev/fuse.
mknod "$WORK/no-driver" c 240 200
on b mount --bind "$WORK/no-driver" /dev/fuse
expect_exit 0 on b ag-box up demo
expect_error "no /dev/fuse here"
expect_state b demo full-held
expect_file "$project/newer" newer
on b ag-box park demo
on b umount /dev/fuse

# Somebody has moved the plain directory.
on b ag-box up demo --full
mv "$project" "$WORK/elsewhere"
for command in snapshot park; do
    expect_exit 1 on b ag-box "$command" demo
    expect_error "hint: put the directory back"
done
expect_state b demo full-held
mv "$WORK/elsewhere" "$project"
on b ag-box park demo
