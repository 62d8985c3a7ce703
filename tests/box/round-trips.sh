# SPDX-License-Identifier: MIT
# From `up` on a node that has nothing to the end of the first `ls`: at most three round trips, one after the other, at
# 22,000 files and at a million (rule F2). With hard links one more, for the leaves of the tree that have such names, whatever
# their number. Each answer is late by so much that its number can be told from the time; the time to join the names is told
# beside it.
# lane: cpu
# limit: 500
. "$TESTS/lib.sh"
needs_plain_build "a sanitized build has no time for a million files"

rtt=6000
store fault
node a

# first_ls BOX COUNT TRIPS [LINKED]: made without a tree on disk; then seen from a node that has not heard of the store.
first_ls() {
    local box=$1 count=$2 trips=$3 linked=${4:-0} path="$WORK/$1" begin took joined
    on a "$BUILD/tests/generator/generator" "$box" "$path" "$count" "$linked"
    NO_INIT=yes node "fresh-$box"
    fault reset
    fault rtt "$rtt"
    begin=$(date +%s%N)
    on "fresh-$box" ag-box up --json "$box" >"$WORK/up"
    on "fresh-$box" ls "$path" >"$WORK/listed"
    took=$((($(date +%s%N) - begin) / 1000000))
    fault rtt 0
    joined=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["phases"].get("links", 0))' "$WORK/up")
    echo "$box: $took ms, $(wc -l <"$WORK/listed") names; $linked names of hard links joined in $joined ms"
    fault log | head -n 40
    [ "$(wc -l <"$WORK/listed")" = $(((count + 9999) / 10000)) ] || fail "ls showed $(wc -l <"$WORK/listed") names"
    [ "$took" -ge "$rtt" ] || fail "no answer was late"
    [ "$linked" -gt 1000 ] || [ "$joined" -lt "$rtt" ] || fail "a name waited for the store"
    took=$((took - joined))
    [ "$took" -lt $(((trips + 1) * rtt)) ] || fail "$took ms are more than $trips round trips of $rtt ms"
}

first_ls small 22000 3
first_ls big 1000000 3
first_ls some-links 22000 4 1000
first_ls many-links 22000 4 20000
first_ls big-links 1000000 4 20000

# What a snapshot carries of a large tree with hard links is no burden for a small park: 20 files of 5 KB in 20 directories.
big="$WORK/big-links"
on fresh-big-links ag-box hydrate big-links
on fresh-big-links sh -c "cd '$big' && for d in \$(ls | head -n 20); do head -c 5000 /dev/urandom >\$d/new; done"
# The daemon's first renewal, and its look for stray holds, are not the park's.
until fault log | grep -q '"op":"LIST","key":"box/big-links/hold/"'; do sleep 0.1; done
fault reset
on fresh-big-links ag-box park big-links
[ "$(fault_counter requests)" -le 8 ] || fail "$(fault_counter requests) requests: $(fault log)"
sent=$(fault_counter bytes_in)
echo "a park of 20 files sends $sent bytes"
[ "$sent" -le $((20 * 5000 + 200000)) ] || fail "a park of 20 files sends $sent bytes"
