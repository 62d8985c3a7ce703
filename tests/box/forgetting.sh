# SPDX-License-Identifier: MIT
# The power goes right after a node was told to forget what it knows to be in the store, from where it is gone: it stays
# forgotten, and that content is sent again.
. "$TESTS/lib.sh"

store file
NO_INIT=1
node a
node b
state_on_disk a
on a ag-box init
needs_crash_points

# What an earlier base had, and prune has deleted while the box was elsewhere.
project="$WORK/project"
mkdir "$project"
echo small >"$project/small"
on a ag-box track demo "$project"
head -c 300000 /dev/urandom >"$WORK/content"
on a cp "$WORK/content" "$project/content"
on a ag-box park demo # its pack holds nothing else

# Elsewhere the file goes, and then all that only older snapshots have.
on b ag-box up demo
on b rm "$project/content"
on b ag-box park demo
for day in 2 4 6; do
    on b env AGBOX_STORE_CLOCK=$((day * 86400)) ag-box prune demo --keep-hourly 0 --keep-daily 0 --keep-weekly 0
done
on a sync
on a ag-box up demo
power_off a
on a ag-box up demo
on a cp "$WORK/content" "$project/content"
on a ag-box park demo
on b ag-box check demo
on b ag-box up demo
on b cmp "$WORK/content" "$project/content"
on b ag-box park demo

# What a track had sent that was given up.
project="$WORK/second"
mkdir "$project"
cp "$WORK/content" "$project/content"
sleep 0.1 # of real time, which is what makes times count
expect_exit 137 on a env AGBOX_CRASH_AT=track:get-head.before#3 ag-box track second "$project"
on a ag-box drop second --yes
on a sync
expect_exit 137 on a env AGBOX_CRASH_AT=track:put-hold.before ag-box track second "$project"
power_off a
on a ag-box track second "$project"
on b ag-box check second
on a ag-box park second
