# SPDX-License-Identifier: MIT
# From `up` on a node that has nothing to the end of the first `ls`: at most three round trips, one after the other, at
# 22,000 files and at a million (rule F2). Each answer is late by so much that its number can be told from the time.
# lane: cpu
# limit: 300
. "$TESTS/lib.sh"

rtt=3000
store fault
node a

# first_ls BOX COUNT: made without a tree on disk; then seen from a node that has not heard of the store.
first_ls() {
    local box=$1 count=$2 path="$WORK/$1" begin took
    on a "$BUILD/tests/generator/generator" "$box" "$path" "$count"
    NO_INIT=yes node "fresh-$box"
    fault reset
    fault rtt "$rtt"
    begin=$(date +%s%N)
    on "fresh-$box" ag-box up "$box"
    on "fresh-$box" ls "$path" >"$WORK/listed"
    took=$((($(date +%s%N) - begin) / 1000000))
    fault rtt 0
    echo "$box: $took ms, $(wc -l <"$WORK/listed") names"
    fault log | head -n 40
    [ "$(wc -l <"$WORK/listed")" = $(((count + 9999) / 10000)) ] || fail "ls showed $(wc -l <"$WORK/listed") names"
    [ "$took" -ge "$rtt" ] || fail "no answer was late"
    [ "$took" -lt $((4 * rtt)) ] || fail "$took ms are more than three round trips of $rtt ms"
}

first_ls small 22000
first_ls big 1000000
