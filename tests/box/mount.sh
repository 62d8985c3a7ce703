# SPDX-License-Identifier: MIT
# A snapshot is shown read-only, on a node that never had the box: project/ and home/ as they were, hard links and all. Its
# hold is there as long as the mount, and goes with it, or with the next command after a reboot.
. "$TESTS/lib.sh"

store file
node a
node b
needs_crash_points
project="$WORK/project"; make_project "$project"
holds() { find "$WORK/store/box/demo/hold" -type f 2>/dev/null | wc -l; }
point="$WORK/a point"; mkdir "$point"

on a ag-box track demo "$project"
on a sh -c "echo remembered >'$WORK/node/a/state/box/demo/home/note'"
ln "$project/file" "$project/one more name"
on a ag-box snapshot demo >"$WORK/saved"
grep -q "left out: 1 socket" "$WORK/saved" || fail "it is not said what is left out: $(cat "$WORK/saved")"
first=$(on a ag-box snapshot demo --json | jq -r .snapshot)
copy_tree "$project" "$WORK/original"
on a sh -c "echo changed >'$project/file'"
on a ag-box park demo

on b ag-box mount demo --snapshot "${first:0:8}" "$point"
expect_same_tree "$point/project" "$WORK/original"
expect_file "$point/home/note" remembered
[ "$(on b stat -c %h "$point/project/one more name")" = 2 ] || fail "hard links came apart"
! on b touch "$point/project/new" 2>/dev/null || fail "it can be written to"
[ "$(holds)" = 1 ] || fail "no hold"

# Others use the store meanwhile; a daemon that dies is replaced; a busy mount stays.
on a ag-box up demo
on a ag-box park demo
daemon=$(pgrep -f "mountfs-serve $(ls "$WORK/node/b/state/visits")")
kill -KILL "$daemon"
on b sync
drop_caches
expect_same_tree "$point/project" "$WORK/original"
mkfifo "$WORK/in" "$WORK/go"
on b sh -c "cd '$point/project' && echo in >'$WORK/in' && read x <'$WORK/go'" &
read -r <"$WORK/in"
expect_exit 8 on b ag-box umount "$point"
echo >"$WORK/go"; wait
on b ag-box umount "$point"
[ "$(holds)" = 0 ] || fail "the hold stays"
[ -z "$(ls -A "$WORK/node/b/state/visits")" ] || fail "the record stays"
expect_clean b

expect_exit 4 on b ag-box umount "$point"
expect_exit 2 on b ag-box mount demo "$WORK/absent"
expect_exit 8 on b ag-box mount demo "$WORK/original"
expect_error "not empty"
expect_exit 4 on b ag-box mount nobox "$point"
expect_exit 4 on b ag-box mount demo --snapshot 01234567 "$point"
[ "$(holds)" = 0 ] || fail "a mount that failed left a hold"

# A reboot, and a mount that was killed: the next command of that node cleans up.
on b ag-box mount demo "$point"
expect_file "$point/project/file" changed
expect_exit 8 on b ag-box mount demo "$point"
reboot b
[ "$(holds)" = 1 ] || fail "the hold went by itself"
on a ag-box restore demo "$WORK/restored-a"
[ "$(holds)" = 1 ] || fail "a node took another node's hold away"
on b ag-box restore demo "$WORK/restored-b"
[ "$(holds)" = 0 ] || fail "the hold of before the reboot stays"
expect_exit 137 on b env AGBOX_CRASH_AT=mount:visit-hold.after ag-box mount demo "$point"
[ "$(holds)" = 1 ] || fail "no hold before it is mounted"
on b ag-box mount demo "$point"
[ "$(holds)" = 1 ] || fail "the hold of a mount that was killed stays"
on b umount "$point" # by somebody who does not know of ag-box
expect_exit 0 on b ag-box umount "$point"
expect_output "not mounted"
[ "$(holds)" = 0 ] || fail "the hold stays"

# In the foreground until it is unmounted.
mkfifo "$WORK/said"
on b ag-box mount --foreground demo "$point" >"$WORK/said" &
foreground=$!
read -r line <"$WORK/said"
expect_file "$point/project/file" changed
on b ag-box umount "$point"
wait "$foreground"
[ "$(holds)" = 0 ] || fail "the hold stays"

# Or until it is interrupted.
{ on b ag-box mount --foreground demo "$point" >"$WORK/said" || echo $? >"$WORK/code"; } &
foreground=$!
read -r line <"$WORK/said"
kill -TERM "$(pgrep -f "^ag-box mount --foreground demo $point")"
wait "$foreground"
[ "$(cat "$WORK/code")" = 130 ] || fail "exit $(cat "$WORK/code") of an interrupted mount"
[ "$(holds)" = 0 ] || fail "the hold stays"
expect_clean b

# Also if that was before it waits: here while nobody takes what it says.
mkfifo "$WORK/full"
exec 5<>"$WORK/full"
! dd if=/dev/zero of="$WORK/full" oflag=nonblock bs=4096 2>/dev/null || fail "the pipe takes all"
{ on b ag-box mount --foreground demo "$point" >"$WORK/full" || echo $? >"$WORK/code"; } &
foreground=$!
mounting() { pgrep -f "^ag-box mount --foreground demo $point"; }
until grep -q pipe_write "/proc/$(mounting)/wchan" 2>/dev/null; do sleep 0.01; done # no sign is given of that
kill -TERM "$(mounting)"
for _ in $(seq 1000); do on b findmnt "$point" >/dev/null || break; sleep 0.01; done
! on b findmnt "$point" || fail "a signal was lost"
exec 5>&-
wait "$foreground"
[ "$(cat "$WORK/code")" = 130 ] || fail "exit $(cat "$WORK/code") of an interrupted mount"
[ "$(holds)" = 0 ] || fail "the hold stays"

# What is still read then is waited for, and that is said.
{ on b ag-box mount --foreground demo "$point" >"$WORK/said" 2>"$WORK/waits" || echo $? >"$WORK/code"; } &
foreground=$!
read -r line <"$WORK/said"
on b sh -c "cd '$point/project' && echo in >'$WORK/in' && read x <'$WORK/go'" &
reader=$!
read -r <"$WORK/in"
kill -TERM "$(mounting)"
until grep -q "still in use" "$WORK/waits"; do sleep 0.01; done
[ "$(holds)" = 1 ] || fail "what is read has no hold"
echo >"$WORK/go"
wait "$reader" "$foreground"
[ "$(cat "$WORK/code")" = 130 ] || fail "exit $(cat "$WORK/code") of an interrupted mount"
[ "$(holds)" = 0 ] || fail "the hold stays"
expect_clean b
