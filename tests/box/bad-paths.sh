# SPDX-License-Identifier: MIT
# A path that cannot be a box's is refused with its reason, and nothing is made in the store.
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"; make_project "$project"
row() { # row EXIT TEXT DIR
    expect_exit "$1" on a ag-box track demo "$3"
    expect_error "$2"
}
row 2 "No such file" "$WORK/absent"
echo x >"$WORK/file"
row 2 "not a directory" "$WORK/file"
mkdir "$WORK/caf"$'\xe9'
row 2 "is not UTF-8" "$WORK/caf"$'\xe9'
mkdir "$WORK/mnt"
on a mount -t tmpfs none "$WORK/mnt"
row 2 "mount point" "$WORK/mnt"
mkdir "$WORK/above"; mv "$WORK/mnt" "$WORK/mnt2" 2>/dev/null || true
on a sh -c "mkdir -p '$project/below' && mount -t tmpfs none '$project/below'"
row 2 "mounted below" "$project"
on a umount "$project/below"; rmdir "$project/below"
on a umount "$WORK/mnt" 2>/dev/null || on a umount "$WORK/mnt2"
row 2 "ag-box's own" "$WORK/node/a/state"
row 2 "ag-box's own" "$WORK"
[ ! -e "$WORK/node/a/state/box/demo" ] && [ ! -e "$WORK/store/box" ] || fail "something was made for what was refused"
on a ag-box track demo "$project"
expect_exit 8 on a ag-box track other "$project"
expect_error "demo"
expect_exit 8 on a ag-box track other "$project/deep"
expect_error "demo"
expect_exit 2 on a ag-box track ../x "$project"
expect_exit 2 on a ag-box track globals "$project"
expect_exit 0 on a ag-box ls
expect_output "demo"
on a ag-box park demo
