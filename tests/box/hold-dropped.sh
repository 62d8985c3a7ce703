# SPDX-License-Identifier: MIT
# A node's hold is dropped, and prune takes what the node had sent and counts on: the work there is sent again, as a fork or
# by the lease that is still its own. It can always be parked.
# limit: 180
. "$TESTS/lib.sh"

store file
node a
node b
needs_crash_points
project="$WORK/project"; mkdir "$project"; echo first >"$project/file"
on a ag-box track demo "$project"
on a ag-box park demo

days() { on "$1" env AGBOX_STORE_CLOCK=$((day * 86400)) "${@:2}"; }
listed() { days b ag-box ls --snapshots demo --json | jq -r ".$1[].id"; }
day=0
# prunes NODE: nothing protects what a has sent, and two prunes come by
prunes() {
    local id packs
    id=$(listed forks | head -n 1) # and with the newest its older ones
    [ -z "$id" ] || days b ag-box drop demo --yes --fork "$id"
    for id in $(listed holds); do days b ag-box drop demo --yes --hold "$id"; done
    packs=$(find "$WORK/store/box/demo/pack" -type f | wc -l)
    for id in 1 2; do
        day=$((day + 2))
        days "$1" ag-box prune demo
    done
    [ "$(find "$WORK/store/box/demo/pack" -type f | wc -l)" -lt "$packs" ] || fail "prune has left what a had sent"
}
loses() { # what a has sent since its lease began: its own prune would not (own-prune.sh)
    find "$WORK/store/box/demo/pack" "$WORK/store/box/demo/snap" -type f -newer "$WORK/before" -delete
}
killed() { # COMMAND STEP: after work that is only here
    touch -r "$WORK/store/box/demo/head" "$WORK/before"
    head -c 100000 /dev/urandom | tee "$WORK/mine" | on a tee "$project/mine" >/dev/null
    sleep 0.1 # so that the stat cache believes its times
    [ "$1" = park ] || expect_exit 3 days a ag-box snapshot demo
    echo "$day" | on a tee "$project/more" >/dev/null
    expect_exit 137 days a env AGBOX_CRASH_AT="$1:$2" ag-box "$1" demo
}
is_kept() { # [--snapshot ID]
    rm -rf "$WORK/out"
    days b ag-box restore demo "$@" "$WORK/out"
    cmp "$WORK/mine" "$WORK/out/mine"
    days b ag-box check demo
}

for step in put-snap.after put-fork.before put-fork.after; do
    for command in park snapshot; do
        day=$((day + 1))
        days a ag-box up demo
        days b ag-box up demo --force
        echo "$day" | on b tee "$project/theirs" >/dev/null
        days b ag-box park demo
        killed "$command" "$step"
        prunes b
        expect_exit 3 days a ag-box park demo
        is_kept --snapshot "$(listed forks)"
        days b ag-box drop demo --yes --fork "$(listed forks)"
    done
done

for command in park snapshot; do
    day=$((day + 1))
    days a ag-box up demo
    killed park put-snap.after
    [ "$command" = park ] || days a ag-box up demo
    loses
    expect_exit 0 days a ag-box "$command" demo
    expect_error "sending it again"
    days a ag-box park demo
    is_kept
done

# What the stat cache told of is looked for, too, when no page is the one that was sent.
day=$((day + 1))
days a ag-box up demo
killed park put-head.before
days a ag-box up demo
loses
echo "other than $day" | on a tee "$project/other" >/dev/null
expect_exit 0 days a ag-box snapshot demo
expect_error "sending it again"
days a ag-box park demo
is_kept
