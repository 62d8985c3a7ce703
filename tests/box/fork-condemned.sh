# SPDX-License-Identifier: MIT
# A fork never stands on what prune has condemned: packs of the old base are sent again, and the snapshot of a fork that was
# dropped is made anew.
# limit: 180
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
prune() { # prune DAYS: that much later, keeping nothing but the newest
    on b env AGBOX_STORE_CLOCK=$(($1 * 86400)) ag-box prune demo --keep-hourly 0 --keep-daily 0 --keep-weekly 0 --json
}
condemned() { # condemned DAYS: prune finds something to condemn
    prune "$1" >"$WORK/pruned"
    cat "$WORK/pruned"
    [ "$(jq '.boxes[0].condemned > 0' "$WORK/pruned")" = true ] || fail "nothing is condemned"
}
lazy_box a demo "$project"
on a ag-box hydrate demo
on a sh -c "echo 'only here' >'$project/file'"
copy_tree "$project" "$WORK/model"
on b ag-box up demo --force
on b find "$project" -mindepth 1 -delete
on b sh -c "echo theirs >'$project/theirs'"
on b ag-box park demo
on b ag-box drop demo --yes --hold "$(on b ag-box ls --snapshots demo --json | jq -r '.holds[] | select(.node == "a").id')"
condemned 3

expect_exit 3 on a ag-box park demo
expect_error "sending again"
prune 5
fork=$(on b ag-box ls --snapshots demo --json | jq -r '.forks[0].id')
on b ag-box restore demo --snapshot "$fork" "$WORK/restored"
expect_same_tree "$WORK/restored" "$WORK/model"
on b ag-box check demo

on a ag-box up demo
on a sh -c "echo 'once more' >'$project/file'"
on b ag-box up demo --force
on b sh -c "echo more >'$project/theirs'"
on b ag-box park demo
expect_exit 3 on a ag-box snapshot demo
expect_state a demo fenced
fork=$(on b ag-box ls --snapshots demo --json | jq -r '[.forks[].id | select(startswith("fork:a-4"))][0]')
on b ag-box drop demo --yes --fork "$fork"
condemned 20
expect_exit 3 on a ag-box park demo
prune 22
fork=$(on b ag-box ls --snapshots demo --json | jq -r '[.forks[].id | select(startswith("fork:a-4"))][0]')
rm -rf "$WORK/restored"
on b ag-box restore demo --snapshot "$fork" "$WORK/restored"
expect_file "$WORK/restored/file" "once more"
