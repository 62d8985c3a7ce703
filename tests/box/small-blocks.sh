# SPDX-License-Identifier: MIT
# A full disk whose blocks are smaller than a page: what sqlite maps has holes there, which no write fills any more. That is an
# error with a next step for a command that cannot do without, and no crash of any.
. "$TESTS/lib.sh"

store file
image="$WORK/disk.ext4"
truncate -s 24M "$image"
mkfs.ext4 -q -b 1024 -O ^has_journal "$image"
losetup --find >"$WORK/free" 2>&1 || skip "no loop devices here"
node a
project="$WORK/project"
mkdir "$project"
head -c 100000 /dev/urandom >"$project/file"
on a ag-box track demo "$project"
on a ag-box park demo

NO_INIT=yes node b
state="$WORK/node/b/state"
on b mount -o loop "$image" "$state" || skip "no loop mounts here"
on b chmod 700 "$state"
_mounts_before[b]=$(_mounts_of b)
on b ag-box up --full demo
on b sh -c "echo more >'$project/more'"
fill() { on b sh -c "cat /dev/zero >>'$state/fills'; for i in 1 2 3 4; do printf %01023d 0 >>'$state/fills'; done" 2>/dev/null || true; }

# Whatever the room that is left: from none on, a block at a time.
for blocks in 0 1 2 3 4 8 16 24 31 32 33 48 64 96 128; do
    rm -rf "$state/cache"
    fill
    on b truncate -s -$((blocks * 1024)) "$state/fills"
    for words in "diff demo" "status demo" "ls" "snapshot demo"; do
        code=0
        on b ag-box $words >"$WORK/output" 2>"$WORK/error" || code=$?
        [ "$code" -lt 128 ] || fail "$blocks blocks left: $words: exit $code: $(cat "$WORK/error")"
        [ "$code" = 0 ] || grep -qE "No space left|disk is full" "$WORK/error" || fail "$blocks blocks left: $words: $(cat "$WORK/error")"
        [ "$code" = 0 ] || expect_error "hint: make room"
    done
done
on b rm "$state/fills"
on b ag-box park demo
on a ag-box up demo
expect_file "$project/more" more
on a ag-box park demo
on b umount "$state"
