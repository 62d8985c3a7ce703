# SPDX-License-Identifier: MIT
# The power goes: what had not reached the disk is gone. The journal, the base and what a snapshot has sent are there;
# the dirty upper comes back over its own base although the head has moved on, and nothing of it is half.
. "$TESTS/lib.sh"

store file
NO_INIT=1
node a
node b
state_on_disk a
on a ag-box init
project="$WORK/project"; make_project "$project"
on a ag-box track demo "$project"
on a ag-box park demo

on a ag-box up demo
on a sh -c "echo before >'$project/before' && mv '$project/deep' '$project/moved'"
on a ag-box snapshot demo
expect_state a demo mounted
copy_tree "$project" "$WORK/model"
on a sh -c "echo 'never on disk' >'$project/after'"
power_off a
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
    power_off a
    expect_exit 0 on a ag-box park demo
    on b ag-box up demo
    expect_same_tree "$project" "$WORK/model" --exclude kept.log
    on b ag-box park demo
    on a ag-box up demo
done
expect_file "$project/kept.log" "only here"
on a ag-box park demo
