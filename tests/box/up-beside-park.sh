# SPDX-License-Identifier: MIT
# What up reads of a box that is held may be old when it asks for the lease: where it was parked meanwhile, up goes on with
# what the park has sent, and a pin that came with it counts.
# lane: wait
. "$TESTS/lib.sh"

store fault
node a
node b
project="$WORK/project"; mkdir "$project"
on a ag-box track demo "$project"
late() { # COMMAND...: between up's two looks at the head
    fault delay 4000 --op GET --key config --times 1
    { on b ag-box up demo >"$WORK/said" 2>&1 || echo $? >"$WORK/code"; } &
    fault await --op GET --key config --timeout 30
    "$@"
    wait $!
    cat "$WORK/said"
    fault reset
}
echo sent >"$project/file"
echo 0 >"$WORK/code"
late on a ag-box park demo
[ "$(cat "$WORK/code")" = 0 ] || fail "up ends with $(cat "$WORK/code")"
on b cat "$project/file" | grep -qx sent
on b ag-box park demo

on a ag-box up demo
pin_and_park() {
    on a ag-box set demo pin=a
    on a ag-box park demo
}
late pin_and_park
[ "$(cat "$WORK/code")" = 3 ] || fail "up of a pinned box ends with $(cat "$WORK/code")"
grep -q "pinned to a" "$WORK/said" || fail "the pin is not said"
on a ag-box up demo
on a ag-box park demo
