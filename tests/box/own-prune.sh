# SPDX-License-Identifier: MIT
# The hold of a node that has the box up is dropped elsewhere: its own prune, which alone may delete while it has the lease,
# puts the hold back before it looks for what nobody needs. What the next park refers to is there.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"
mkdir "$project"
echo small >"$project/small"
on a ag-box track demo "$project"
head -c 300000 /dev/urandom >"$WORK/content"
on a cp "$WORK/content" "$project/content"
on a ag-box park demo # its pack holds nothing else

on a ag-box up demo
on a ag-box hydrate demo
on a rm "$project/content"
on a ag-box snapshot demo
hold=$(on b ag-box ls --snapshots demo --json | jq -r '.holds[].id')
on b ag-box drop demo --yes --hold "$hold"
for day in 2 4; do
    on a env AGBOX_STORE_CLOCK=$((day * 86400)) ag-box prune demo --keep-hourly 0 --keep-daily 0 --keep-weekly 0
done
on a cp "$WORK/content" "$project/content" # which the base had, and the newest snapshot has not
on a ag-box park demo
on b ag-box check demo
on b ag-box up demo
on b cmp "$WORK/content" "$project/content"
on b ag-box park demo
