# SPDX-License-Identifier: MIT
# A park asks the store before it stops the box: of one that is away the box hears nothing. A park that was stopped
# halfway is named by whatever would have saved its work, until it goes on or is called off.
# lane: wait
# limit: 180
BOXES=yes
. "$TESTS/lib.sh"

store fault
node a
project="$WORK/project"; mkdir "$project"
lazy_box a demo "$project"
on a ag-box exec -d demo -- sh -c 'touch begun; while [ ! -e end ]; do sleep 0.1; done; touch ended'
on a sh -c "while [ ! -e '$project/begun' ]; do sleep 0.01; done"

fault drop-request
expect_exit 5 on a ag-box park demo
expect_error "nothing is lost"
expect_state a demo mounted
on a ag-box exec demo -- touch end # the same box: its program sees it
on a sh -c "while [ ! -e '$project/ended' ]; do sleep 0.01; done"
fault clear
on a ag-box park demo

on a ag-box up --no-start demo
on a sh -c "echo unsent >'$project/unsent'"
fault drop-request
expect_exit 5 on a ag-box park demo
expect_state a demo parking
for what in demo --active; do
    expect_exit 8 on a ag-box snapshot $what
    expect_error "the park of demo has not ended"
    expect_error "hint: nothing is lost: \`ag-box park demo\` goes on"
done
fault clear
expect_exit 8 on a ag-box snapshot --active
on a ag-box up --no-start demo
expect_exit 0 on a ag-box snapshot --active
on a ag-box park demo
on a ag-box restore demo "$WORK/out"
expect_file "$WORK/out/unsent" unsent
