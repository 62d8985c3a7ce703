# SPDX-License-Identifier: MIT
# Work whose lease is lost is not taken away as long as packs that its fork needs are missing in the store.
. "$TESTS/lib.sh"

store file
node a BOX_HYDRATE=off
node b
node c
project="$WORK/project"; make_project "$project"
on c ag-box track demo "$project"
on c ag-box park demo
on a ag-box up demo
on b ag-box up demo --force
on b sh -c "echo 'of b' >'$project/b'"
on b ag-box park demo
on a sh -c "echo 'only here' >'$project/file'"

# Of the content nothing is cached here: it cannot be sent again.
mv "$WORK/store/box/demo/pack" "$WORK/pack"
mkdir "$WORK/store/box/demo/pack"
expect_exit 7 on a ag-box park demo
expect_state a demo fenced
expect_file "$project/file" "only here"
cp -a "$WORK/pack/." "$WORK/store/box/demo/pack"
expect_exit 3 on a ag-box park demo
expect_state a demo none

# What is still here is sent again, and the fork stands on its own.
on b ag-box up demo
on b sh -c "echo 'of b' >'$project/b2'"
on a ag-box up demo --force
on a sh -c "echo 'of a' >'$project/a'"
on a ag-box park demo
on b ag-box hydrate demo
copy_tree "$project" "$WORK/model"
mv "$WORK/store/box/demo/pack" "$WORK/pack2"
mkdir "$WORK/store/box/demo/pack"
expect_exit 3 on b ag-box park demo
expect_error "sending again"
fork=$(on b ag-box ls --snapshots demo --json | jq -r '[.forks[] | select(.node == "b")][0].id')
[ "$(on b ag-box ls --snapshots demo --json | jq '[.forks[] | select(.node == "b")] | length')" = 1 ] || fail "a fork that lacks packs is listed"
lose_cache a
on a ag-box restore demo --snapshot "$fork" "$WORK/restored"
expect_same_tree "$WORK/restored" "$WORK/model"
