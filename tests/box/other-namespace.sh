# SPDX-License-Identifier: MIT
# While another mount namespace still shows a parked tree, its upper layer and its hold stay (P8); a reader there goes on.
# Fails if the park removes the upper at once: then what was changed cannot be read any more.
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"; mkdir "$project"; echo first >"$project/file"

lazy_box a demo "$project"
echo changed | on a tee "$project/file" >/dev/null

mkfifo "$WORK/ready" "$WORK/go" "$WORK/end"
on a unshare --mount --propagation private sh -c "
    echo >'$WORK/ready'; read x <'$WORK/go'; cat '$project/file' >'$WORK/seen'; echo >'$WORK/ready'; read x <'$WORK/end'" &
reader=$!
read -r x <"$WORK/ready"
expect_exit 0 on a ag-box park demo
expect_error "in another mount namespace"
expect_state a demo parked
ls -d "$WORK/node/a/state/box/demo"/upper-* >/dev/null
[ "$(ls "$WORK/store/box/demo/hold" | wc -l)" = 1 ] || fail "the hold went"
echo >"$WORK/go"
read -r x <"$WORK/ready"
expect_file "$WORK/seen" changed
expect_exit 8 on a ag-box up demo

echo >"$WORK/end"
wait "$reader"
expect_exit 0 on a ag-box park demo
expect_state a demo moved-aside
[ -z "$(ls "$WORK/store/box/demo/hold")" ] || fail "the hold is still there"
expect_exit 0 on a ag-box up demo
expect_file "$project/file" changed
on a ag-box park demo
