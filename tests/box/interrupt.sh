# SPDX-License-Identifier: MIT
# Ctrl-C during a long track stops it, says what state it left, and a second track goes on: what was sent is not sent again.
. "$TESTS/lib.sh"

store fault
node a
project="$WORK/project"
mkdir "$project"
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do head -c 8000000 /dev/urandom >"$project/$n"; done
cp -a "$project" "$WORK/original"

fault bandwidth 200M
on a sh -c 'echo $$ >"$1/pid"; exec ag-box track demo "$2"' sh "$WORK" "$project" >"$WORK/output" 2>"$WORK/error" &
fault await --op PUT --key 'box/demo/pack/*' --times 4 --timeout 60 # two at a time: the first ones are noted by then
kill -INT "$(cat "$WORK/pid")"
code=0
wait $! || code=$?
cat "$WORK/error"
[ "$code" = 130 ] || fail "exit $code after Ctrl-C"
expect_error "interrupted"
expect_error "ag-box track demo"
expect_state a demo tracking
fault keys box/demo/head >"$WORK/keys"
[ ! -s "$WORK/keys" ] || fail "the box exists"
expect_exit 4 on a ag-box up demo
expect_error "track"

sent=$(fault keys box/demo/pack/ | wc -l)
fault bandwidth 0
fault reset
expect_exit 0 on a ag-box track --json demo "$project"
[ "$(json_field "$WORK/output" sent_bytes)" -lt 96000000 ] || fail "everything was sent again, with $sent packs there"
expect_state a demo full-held
on a ag-box park demo
on a ag-box restore demo "$WORK/out"
expect_same_tree "$WORK/original" "$WORK/out"
