# SPDX-License-Identifier: MIT
# What a round costs: requests, bytes and round trips, counted by the store.
. "$TESTS/lib.sh"

store fault
node a BOX_HYDRATE=off
node b BOX_HYDRATE=off
project="$WORK/project"; mkdir "$project"
python3 - "$project" <<'END'
import os, random, sys
chance = random.Random(1)
for d in range(40):
    os.makedirs("%s/d%02d/e" % (sys.argv[1], d))
    for f in range(50):
        with open("%s/d%02d/%sf%02d" % (sys.argv[1], d, "e/" if f % 2 else "", f), "wb") as out:
            out.write(chance.randbytes(chance.randrange(3000)))
END
lazy_box a demo "$project"
for i in $(seq 10 29); do
    on a sh -c "head -c 5000 /dev/urandom >'$project/d$i/f$i'"
done

at_most() { # NAME MAX
    local got
    got=$(fault_counter "$1")
    [ "$got" -le "$2" ] || fail "$got $1, at most $2: $(fault log)"
    echo "$got $1 (at most $2)"
}

fault reset
on a ag-box park demo
at_most requests 8
at_most bytes_in $((20 * 5000 + 200000))
expect_commits box/demo/head 1

# A node that has never seen the store: config and head, then lease, hold and snapshot, then one page. What streams in
# the background is on its way by then, and its answers are not: the store is far away.
fault rtt 400
fault reset
on b ag-box up demo
on b ls "$project" >"$WORK/list"
fault log >"$WORK/log"
depth=$(python3 -c 'import json, sys
print(max(v["depth"] for v in map(json.loads, open(sys.argv[1])) if v["status"]))' "$WORK/log")
[ "$depth" -le 3 ] || fail "$depth round trips: $(cat "$WORK/log")"
expect_commits box/demo/head 1
fault rtt 0
on b ag-box park demo
