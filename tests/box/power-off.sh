# SPDX-License-Identifier: MIT
# The power goes: what had not reached the disk is gone. The journal, the base and what a snapshot has sent are there;
# the dirty upper comes back over its own base although the head has moved on, and nothing of it is half.
. "$TESTS/lib.sh"

store file
image="$WORK/disk.ext4"
truncate -s 192M "$image"
mkfs.ext4 -q "$image"
losetup --find >"$WORK/free" 2>&1 || skip "no loop devices here"

NO_INIT=1
node a
node b
mount_disk() {
    on a mount -o loop "$image" "$WORK/node/a/state" || return 1
    on a chmod 700 "$WORK/node/a/state"
    _mounts_before[a]=$(_mounts_of a)
}
mount_disk || skip "no loop mounts here"
on a ag-box init
project="$WORK/project"; make_project "$project"
on a ag-box track demo "$project"
on a ag-box park demo

# Only what was written to the device is in the image's file; unmounting would add the rest, so the copy comes first.
power_off() {
    cp --sparse=always "$image" "$WORK/left.ext4"
    reboot a
    mv "$WORK/left.ext4" "$image"
    mount_disk
}

on a ag-box up demo
on a sh -c "echo before >'$project/before' && mv '$project/deep' '$project/moved'"
on a ag-box snapshot demo
expect_state a demo mounted
copy_tree "$project" "$WORK/model"
on a sh -c "echo 'never on disk' >'$project/after'"
power_off
expect_state a demo dirty-unmounted
on a ag-box up demo
on a rm -f "$project/after" # or a part of it: nobody synced it
expect_same_tree "$project" "$WORK/model"

# In the middle of a park: nothing of what it froze is lost.
for step in remount-ro.after put-head.before put-head.after stash-move.after remove.before remove.after; do
    on a sh -c "echo $step >'$project/file'"
    if [ "$step" = stash-move.after ]; then
        on a ag-box set demo exclude+='*.log'
        on a sh -c "echo 'only here' >'$project/kept.log'"
    fi
    rm -rf "$WORK/model"
    copy_tree "$project" "$WORK/model"
    expect_exit 137 on a env AGBOX_CRASH_AT=park:$step ag-box park demo
    power_off
    expect_exit 0 on a ag-box park demo
    on b ag-box up demo
    expect_same_tree "$project" "$WORK/model" --exclude kept.log
    on b ag-box park demo
    on a ag-box up demo
done
expect_file "$project/kept.log" "only here"
on a ag-box park demo
