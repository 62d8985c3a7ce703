# SPDX-License-Identifier: MIT
# A node that comes back after three weeks, while another took its box, worked and pruned: prune never took what its
# mount reads, its work becomes a fork, and the fork is restored from.
. "$TESTS/lib.sh"

days() { on a env AGBOX_STORE_CLOCK=$(($1 * 86400)) "${@:2}"; }

store file
node a BOX_HYDRATE=off
node b BOX_HYDRATE=off
project="$WORK/project"; make_project "$project"
head -c 3000000 /dev/urandom >"$project/data"
on a ag-box track demo "$project"
on a ag-box park demo
cp -a "$(echo "$WORK"/.project.agbox-*)" "$WORK/base"

# b goes away with the box up, little of it read and something not sent.
on b ag-box up demo
on b sh -c "echo 'three weeks old' >'$project/mine'; rm '$project/file'; mkdir '$project/new'; mv '$project/deep' '$project/new/moved'"

# On the other side: taken over, everything rewritten, and pruned again and again.
days 1 ag-box up demo --force
for week in 1 2 3; do
    on a sh -c "find '$project' -type f -size +0 -exec sh -c 'echo week $week >\"\$1\"' sh {} \;"
    days $((7 * week)) ag-box snapshot demo
    days $((7 * week + 1)) ag-box prune demo --keep-hourly 1 --keep-daily 1 --keep-weekly 1
    days $((7 * week + 3)) ag-box prune demo --keep-hourly 1 --keep-daily 1 --keep-weekly 1
done
days 24 ag-box park demo
days 25 ag-box prune demo --keep-hourly 1 --keep-daily 1 --keep-weekly 1
days 27 ag-box prune demo --keep-hourly 1 --keep-daily 1 --keep-weekly 1
days 27 ag-box ls --snapshots demo --json >"$WORK/list"
jq -e '.holds[0].stale' "$WORK/list"

# b reads all of its base from the store, with nothing cached.
lose_cache b
on b sync
drop_caches
on b cmp "$project/data" "$WORK/base/data"
on b sh -c "tar -C '$project' -cf - . | wc -c"
copy_tree "$project" "$WORK/mine"
expect_exit 3 on b env AGBOX_STORE_CLOCK=$((27 * 86400)) ag-box park demo
expect_error "fork"
expect_missing "$project/mine"

# The fork outlives further prunes, and is all there.
days 40 ag-box prune demo --keep-hourly 1 --keep-daily 1 --keep-weekly 1
days 42 ag-box prune demo --keep-hourly 1 --keep-daily 1 --keep-weekly 1
fork=$(days 42 ag-box ls --snapshots demo --json | jq -r '.forks[0].id')
[[ $fork == fork:b-* ]]
lose_cache a
on a ag-box restore demo --snapshot "$fork" "$WORK/restored"
expect_same_tree "$WORK/restored" "$WORK/mine"

# When the fork is dropped, what only it kept goes.
packs=$(find "$WORK/store/box/demo/pack" -type f | wc -l)
days 42 ag-box drop demo --fork "$fork" --yes
days 43 ag-box prune demo
days 45 ag-box prune demo
[ "$(find "$WORK/store/box/demo/pack" -type f | wc -l)" -lt "$packs" ] || fail "nothing was freed"
on a ag-box up demo
expect_file "$project/data" "week 3"
on a ag-box park demo
