# SPDX-License-Identifier: MIT
# Three rounds between a node on XFS and one on btrfs, lazy and in full mode: the tree is equal every time.
# limit: 300
. "$TESTS/lib.sh"

command -v mkfs.xfs mkfs.btrfs >/dev/null || skip "no mkfs.xfs, or no mkfs.btrfs"
store file
NO_INIT=1
node a
node b
place_on_disk a xfs
place_on_disk b btrfs
on a ag-box init
project="$WORK/place/project"
make_project "$WORK/original"
on a cp -a "$WORK/original" "$project"
on a ag-box track demo "$project"
on a ag-box park demo

for round in "" --full ""; do
    for name in b a; do
        # shellcheck disable=SC2086
        on $name ag-box up $round demo
        [ ! -e "$WORK/model" ] || expect_same_tree "$project" "$WORK/model"
        on $name ag-box snapshot demo
        on $name python3 "$TESTS/mutate-project.py" "$project" "$round$name"
        on $name ag-box snapshot demo
        on $name sh -c 'cd "$1" && for i in 1 2 3; do head -c ${i}00000 /dev/urandom >r$i; done && truncate -s 3M r1 &&
            fallocate -p -o 65536 -l 65536 r2 && cp --reflink=auto r2 r4 && mv r3 r5 && cp -a r5 r3' - "$project"
        drop_caches
        rm -rf "$WORK/model"
        copy_tree "$project" "$WORK/model"
        expect_same_tree "$project" "$WORK/model"
        on $name ag-box park demo
    done
done
on b ag-box restore demo "$WORK/restored"
expect_same_tree "$WORK/restored" "$WORK/model"
on b ag-box check --read-data demo

# What ext4 does not take is no full disk.
[ "$(stat -f -c %T "$WORK")" = ext2/ext3 ] || exit 0
on a ag-box up demo
on a python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.large", b"x" * 10000)' "$project/r1"
on a ag-box park demo
expect_exit 1 on b ag-box restore demo "$WORK/small"
expect_error "does not take xattr user.large of 10000 bytes"
