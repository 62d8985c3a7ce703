# SPDX-License-Identifier: MIT
# One file with more names than the file system of another node takes (ext4: 65,000): there the further ones are a file of
# their own, which is said, lazy, in plain directories and restored. Everything else is as it was.
# limit: 300
. "$TESTS/lib.sh"

NAMES=65010
command -v mkfs.xfs mkfs.ext4 >/dev/null || skip "no mkfs.xfs, or no mkfs.ext4"
store file
NO_INIT=1
node a
node b
place_on_disk a xfs
place_on_disk b ext4
on a ag-box init
project="$WORK/place/project"
on a python3 - "$project" $NAMES <<'END'
import os, sys
top, count = sys.argv[1], int(sys.argv[2])
os.mkdir(top)
first = f"{top}/00000"
with open(first, "w") as f:
    f.write("many names\n")
for n in range(1, count):
    os.link(first, f"{top}/{n:05}")
END
on a ag-box track demo "$project"
on a ag-box park demo

is_split() { # NODE DIRECTORY
    on "$1" python3 - "$2" $NAMES <<'END'
import collections, os, sys
top, count = sys.argv[1], int(sys.argv[2])
inodes = collections.Counter()
for n in range(count):
    with open(f"{top}/{n:05}") as f:
        assert f.read() == "many names\n", n
    st = os.stat(f"{top}/{n:05}")
    inodes[st.st_ino] += 1
assert sorted(inodes.values()) == [count - 65000, 65000], inodes
END
}

expect_exit 0 on b ag-box restore demo "$WORK/place/restored"
expect_error "no more names of one file"
is_split b "$WORK/place/restored"
on b rm -rf "$WORK/place/restored"
expect_exit 0 on b ag-box up demo
expect_error "no more names of one file"
is_split b "$project"
on b sh -c 'echo more >"$1/more"' - "$project"
on b ag-box park demo
on b ag-box check demo
expect_exit 0 on b ag-box up --full demo
is_split b "$project"
on b ag-box park demo
on b ag-box check demo
