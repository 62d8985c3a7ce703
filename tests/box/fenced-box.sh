# SPDX-License-Identifier: MIT
# A box whose lease another node has taken goes on: one gets into it, a park that writers outside refuse does not stop it,
# and where no fork can be made it runs again.
# lane: wait
# limit: 180
BOXES=yes
. "$TESTS/lib.sh"

store fault
node a
node b
project="$WORK/project"; mkdir "$project"
lazy_box a demo "$project"
on a ag-box exec demo -- touch begun
keeper() { json_field <(on a ag-box status --json demo) box_pid; }
first=$(keeper)
on b ag-box up --force --no-start demo
expect_exit 3 on a ag-box snapshot demo
expect_state a demo fenced
expect_exit 0 on a ag-box exec demo -- ls
expect_output begun
expect_exit 0 on a ag-box hydrate demo

mkfifo "$WORK/go" "$WORK/ready"
on a sh -c "exec 9>'$project/open'; echo ready >'$WORK/ready'; read x <'$WORK/go'" & writer=$!
read -r <"$WORK/ready"
expect_exit 8 on a ag-box park demo
expect_error "$project/open"
[ "$(keeper)" = "$first" ] || fail "the box was stopped by a park that was refused"
echo >"$WORK/go"; wait $writer

fault status 403 --op PUT --key 'box/demo/fork/*'
expect_exit 5 on a ag-box park demo
[ "$(json_field <(on a ag-box status --json demo) box)" = running ] || fail "the box is stopped"
expect_exit 0 on a ag-box exec demo -- touch later
fault clear
expect_exit 3 on a ag-box park demo
on b ag-box restore demo --snapshot "$(on b ag-box ls --snapshots demo | grep -o 'fork:a-[0-9]*')" "$WORK/forked"
[ -e "$WORK/forked/later" ] || fail "the last work is not in the fork"
on b ag-box park demo
