# SPDX-License-Identifier: MIT
# A park that dies while it cleans up is cleaned up by the next command; one that is called off and dies is writable.
# Readers whose tree was unmounted under them keep their daemon, wherever the park died that did it.
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"; mkdir "$project"; echo 1 >"$project/file"
on a ag-box track demo "$project"
on a ag-box park demo
for step in park:remove-directory.before park:remove.after park:remove-hold.after; do
    on a ag-box up demo
    on a sh -c "echo $step >'$project/file'"
    expect_exit 137 on a env AGBOX_CRASH_AT=$step ag-box park demo
    expect_exit 0 on a ag-box park demo
    expect_state a demo moved-aside
done
on a ag-box up demo
expect_file "$project/file" park:remove-hold.after
expect_exit 137 on a env AGBOX_CRASH_AT=park:remount-ro.after ag-box park demo
expect_exit 137 on a env AGBOX_CRASH_AT=up:thaw.before ag-box up demo
expect_exit 0 on a ag-box up demo
on a sh -c "echo writable >'$project/file'"
on a ag-box park demo

# Nobody reads a file before the park, so that its content is still the daemon's to give.
mkfifo "$WORK/ready" "$WORK/go"
for step in park:unmount-bind.after#2 park:unmount-overlay.after#2 park:unmount-lower.after#2 park:upper-removing.after; do
    on a ag-box up demo
    on a sh -c "echo $step >'$project/file'"
    on a ag-box park demo
    on a ag-box up demo
    on a sh -c "exec 3<'$project/file'; echo >'$WORK/ready'; read x <'$WORK/go'; cat <&3 >'$WORK/seen'" &
    reader=$!
    read -r x <"$WORK/ready"
    expect_exit 137 on a env AGBOX_CRASH_AT=$step ag-box park demo
    expect_exit 0 on a ag-box park demo
    echo >"$WORK/go"
    wait "$reader" || fail "the reader's tree went when the park that had died at $step was done again"
    expect_file "$WORK/seen" "$step"
done
