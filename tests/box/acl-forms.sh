# SPDX-License-Identifier: MIT
# XFS lists an ACL twice: as every file system does, and in its own form. Only the first travels; else what was taken from an
# ACL on another file system comes back with the second.
. "$TESTS/lib.sh"

command -v mkfs.xfs >/dev/null || skip "no mkfs.xfs"
truncate -s 400M "$WORK/disk.xfs"
mkfs.xfs -q "$WORK/disk.xfs"
store file
NO_INIT=1
node a
node b
on a mount -o loop "$WORK/disk.xfs" "$WORK/node/a/state" || skip "no XFS here"
on a chmod 700 "$WORK/node/a/state"
mkdir "$WORK/place"
on a mkdir "$WORK/node/a/state/place"
on a mount --bind "$WORK/node/a/state/place" "$WORK/place"
_mounts_before[a]=$(_mounts_of a)
on a ag-box init

project="$WORK/place/project"
acl() { # acl NODE: user 1234 may read and write
    on "$1" python3 -c 'import os, struct, sys
entries = [(1, 6, -1), (2, 6, 1234), (4, 4, -1), (16, 6, -1), (32, 0, -1)]
os.setxattr(sys.argv[1], "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *x) for x in entries))' "$project/file"
}
names() { on "$1" python3 -c 'import os, sys; print(*sorted(os.listxattr(sys.argv[1])))' "$project/file"; }
on a mkdir "$project"
echo content | on a tee "$project/file" >/dev/null
acl a
[ "$(names a)" = "system.posix_acl_access trusted.SGI_ACL_FILE" ] || fail "it is listed otherwise: $(names a)"
on a ag-box track demo "$project"
on a ag-box park demo

on b ag-box up demo
[ "$(names b)" = system.posix_acl_access ] || fail "b has $(names b)"
on b python3 -c 'import os, sys; os.removexattr(sys.argv[1], "system.posix_acl_access")' "$project/file"
on b ag-box park demo

on a ag-box up demo
echo more | on a tee -a "$project/file" >/dev/null # copied up
[ -z "$(names a)" ] || fail "a has $(names a)"
on a ag-box park demo
on a ag-box up --full demo
[ -z "$(names a)" ] || fail "a has $(names a) in full mode"
on a ag-box park demo
