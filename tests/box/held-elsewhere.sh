# SPDX-License-Identifier: MIT
# A foreign live lease is refused and its holder named; --force takes it over, and the other node's work becomes a fork.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
lazy_box a demo "$project"
expect_exit 3 on b ag-box up demo
expect_error "held by a"
on a sh -c "echo 'not sent' >'$project/late'"

on b ag-box up demo --force
expect_missing "$project/late"
on b sh -c "echo 'b went on' >'$project/b'"
on b ag-box park demo
on a ag-box snapshot demo || true # the first of the fork's snapshots, and not its last
on a sh -c "echo 'not sent either' >'$project/later'"
expect_exit 3 on a ag-box park demo
expect_error "fork"
expect_exit 0 on a ag-box ls --snapshots demo
expect_output "fork:a-"
fork=$(on a ag-box ls --snapshots demo --json | jq -r '.forks[0].id')
on a ag-box restore demo --snapshot "$fork" "$WORK/forked"
expect_file "$WORK/forked/late" "not sent"

# Listed are the line and the fork's newest. What a dropped fork leaves is of no line.
count() { on a ag-box ls --snapshots demo --json | jq -r "$1 | length"; }
all=$(find "$WORK/store/box/demo/snap" -type f | wc -l)
line=$(count .snapshots)
[ "$(count .forks)" = 1 ] && [ "$all" = $((line + 2)) ] || fail "$all in the store, listed: $(on a ag-box ls --snapshots demo)"
[ "$(count '[.snapshots[] | select(.unreferenced)]')" = 0 ]
on a ag-box drop demo --yes --fork "$fork"
[ "$(count .snapshots) $(count '[.snapshots[] | select(.unreferenced)]')" = "$all 2" ]
expect_exit 0 on a ag-box ls --snapshots demo
expect_output "unreferenced"
days=$((2 * 86400))
expect_exit 0 on a env AGBOX_STORE_CLOCK=$days ag-box prune demo
expect_output "3 snapshots and"
[ "$(count '[.snapshots[] | select(.unreferenced)]')" = 0 ]
