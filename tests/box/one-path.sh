# SPDX-License-Identifier: MIT
# Of two boxes of one path that come up at the same time one gets it; the other is as it was, and its lease free.
# lane: wait
. "$TESTS/lib.sh"

store fault
node a
mkdir "$WORK/one" "$WORK/two"
echo one >"$WORK/one/file"
for box in one two; do
    on a ag-box track $box "$WORK/$box"
    on a ag-box park $box
done
on a ag-box set two path="$WORK/one"

fault reset
fault delay 3000 --op PUT --key box/one/head --times 1
echo 0 >"$WORK/code"
{ on a ag-box up one >"$WORK/said" 2>&1 || echo $? >"$WORK/code"; } &
fault await --op PUT --key box/one/head --timeout 30
on a ag-box up two
wait $!
cat "$WORK/said"
[ "$(cat "$WORK/code")" = 8 ] || fail "exit $(cat "$WORK/code")"
grep -q "box two has $WORK/one on this node" "$WORK/said" || fail "it does not say whose it is"
expect_state a two mounted
[ "$(json_field <(on a ag-box status --json one) lease_state)" = free ] || fail "the lease of one is not given back"
on a ag-box park two
on a ag-box up one
expect_file "$WORK/one/file" one
on a ag-box park one

# Nor do two become boxes of one directory.
mkdir "$WORK/three"; tracks=()
fault reset
fault delay 1000 --op GET --key 'box/*/head' --times 2
for box in three four; do
    { on a ag-box track $box "$WORK/three" 2>&1 || true; } >"$WORK/$box.said" &
    tracks+=($!)
done
wait "${tracks[@]}"
cat "$WORK"/*.said
held=$(on a ag-box ls --json | jq -r '.boxes[] | select(.path == "'"$WORK/three"'").name')
[ "$(wc -w <<<"$held")" -le 1 ] || fail "one directory is these boxes: $held"
mkdir "$WORK/as-three" "$WORK/as-four"
for box in three four; do # what was refused is nothing here
    [ "$box" = "$held" ] || on a ag-box track "$box" "$WORK/as-$box"
    on a ag-box park "$box"
done

# What is closed until its box comes up again is no directory to begin with.
expect_exit 2 on a ag-box track five "$WORK/one"
expect_error "is closed"
