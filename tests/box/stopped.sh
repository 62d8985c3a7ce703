# SPDX-License-Identifier: MIT
# restore and up --full that are stopped on the way end at once with 130, say what they leave, and leave what they say: a
# restore no hold; a fill what it has fetched, for the next up; set no lease.
. "$TESTS/lib.sh"

store fault
node a
node b
project="$WORK/project"; mkdir "$project"
for i in $(seq 24); do head -c 1000000 /dev/urandom >"$project/$i"; done
on a ag-box track demo "$project"
copy_tree "$project" "$WORK/model"
on a ag-box park demo
await=(--op GET --key 'box/demo/pack/*' --times 2)
stop() { # stop COMMAND...: TERM once content arrives, or what else await says
    echo 0 >"$WORK/code"
    { on b ag-box "$@" >"$WORK/said" 2>&1 || echo $? >"$WORK/code"; } &
    fault await "${await[@]}" --timeout 30
    kill -TERM "$(pgrep -f "^ag-box $1 ")"
    wait $!
    cat "$WORK/said"
    [ "$(cat "$WORK/code")" = 130 ] || fail "exit $(cat "$WORK/code"), not 130"
}

fault bandwidth 40M
fault reset
stop restore demo "$WORK/restored"
grep -q "holds what was written until then" "$WORK/said" || fail "it does not say what it left"
[ -z "$(fault keys box/demo/hold)" ] || fail "the hold stays"

fault reset
lose_cache b
stop up demo --full
grep -q "goes on" "$WORK/said" || fail "it does not say what can be done"
expect_state b demo filling
expect_exit 3 on a ag-box up demo # the lease is still b's
fault bandwidth 0
on b ag-box up demo
expect_state b demo full-held
expect_same_tree "$project" "$WORK/model"
on b ag-box park demo

fault reset
fault delay 20000 --op PUT --key 'box/demo/snap/*' --times 1
await=(--op PUT --key 'box/demo/snap/*')
stop set demo memory_max=1G
fault clear
on a ag-box up demo
on a ag-box park demo
