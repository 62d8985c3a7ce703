# SPDX-License-Identifier: MIT
# A node whose lease another took and freed, and whose hold was dropped, takes the lease again only over a base that is all
# there, however often it is killed on the way: what prune has deleted is never referred to. The work can be parked.
# limit: 120
. "$TESTS/lib.sh"

store file
node a
node b
needs_crash_points
project="$WORK/project"; mkdir "$project"
echo small >"$project/small"
on a ag-box track demo "$project"
on a ag-box park demo
day=0
days() { on "$1" env AGBOX_STORE_CLOCK=$((day * 86400)) "${@:2}"; }
taken_and_freed() { # by b, which commits nothing; and a's hold is dropped
    days b ag-box up demo --force
    days b ag-box park demo
    hold=$(days b ag-box ls --snapshots demo --json | jq -r '.holds[].id')
    days b ag-box drop demo --yes --hold "$hold"
}

prunes() {
    local _
    for _ in 1 2; do
        day=$((day + 2))
        days b ag-box prune demo --keep-hourly 0 --keep-daily 0 --keep-weekly 0
    done
}

# What only the base has is gone: the work is a fork's, with all that is in it.
for step in put-head.before put-hold.before put-snap.after put-fork.after; do
    head -c 300000 /dev/urandom >"$WORK/content"
    days a ag-box up demo
    on a cp "$WORK/content" "$project/content"
    days a ag-box park demo # its pack holds nothing else
    days a ag-box up demo
    days a ag-box hydrate demo
    on a rm "$project/content"
    days a ag-box snapshot demo
    taken_and_freed
    prunes
    on a cp "$WORK/content" "$project/content"
    days a env AGBOX_CRASH_AT="park:$step" ag-box park demo || true
    days a ag-box park demo || true
    fork=$(days b ag-box ls --snapshots demo --json | jq -r '.forks[].id')
    rm -rf "$WORK/out"
    days b ag-box restore demo --snapshot "$fork" "$WORK/out"
    cmp "$WORK/content" "$WORK/out/content"
    days b ag-box drop demo --yes --fork "$fork"
    prunes # of what the fork's first try has left
    days b ag-box check demo
done

# All of it is there: the lease is the node's again, and the hold.
for step in put-hold.before put-hold.after put-head.before put-head.after; do
    days a ag-box up demo
    echo "$step" | on a tee "$project/small" >/dev/null
    taken_and_freed
    expect_exit 137 days a env AGBOX_CRASH_AT="park:$step" ag-box park demo
    days a ag-box park demo
    days b ag-box check demo
    days b ag-box up demo
    [ "$(on b cat "$project/small")" = "$step" ] || fail "$step: the work did not arrive"
    days b ag-box park demo
done
