# SPDX-License-Identifier: MIT
# A fork is made by the rules that were set while the box was up, as the stash is: what one leaves out the other has.
# limit: 60
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
on a ag-box track demo "$project"
on a ag-box set demo exclude+=kept/
on a ag-box park demo

on a ag-box up demo
on a sh -c "mkdir '$project/kept' '$project/left'; echo kept >'$project/kept/file'; echo left >'$project/left/file'"
on a ag-box set demo exclude-=kept/ exclude+=left/
on b ag-box up demo --force
on b sh -c "echo theirs >'$project/theirs'"
on b ag-box park demo

expect_exit 3 on a ag-box park demo
on a ag-box restore demo --snapshot "$(on a ag-box ls --snapshots demo --json | jq -r '.forks[0].id')" "$WORK/restored"
expect_file "$WORK/restored/kept/file" kept
expect_missing "$WORK/restored/left"
on a ag-box up demo
[ "$(on a cat "$project/left/file")" = left ]
[ "$(on a cat "$project/theirs")" = theirs ]
