# SPDX-License-Identifier: MIT
# A hold of this node that its journal does not know goes by itself while the box is up here (rule S2), and `up` makes no
# request for it. `status` knows at once that the lease is held, and after `park` nothing of the daemon is left.
# limit: 180
. "$TESTS/lib.sh"

store fault
node a BOX_LEASE_TTL=60s BOX_HYDRATE=off
project="$WORK/project"; make_project "$project"
lease() {
    on a ag-box status --json demo >"$WORK/status"
    json_field "$WORK/status" lease
}
ended() { # right after a command that ends it
    [ -z "$(pgrep -f 'ag-box boxfs|boxfs-serve' || true)" ] || fail "the daemon is still there: $(pgrep -af boxfs)"
}
on a ag-box track demo "$project"
[ "$(lease)" = held ] || fail "after track: $(lease)"
on a ag-box park demo
ended
on a ag-box up demo
[ "$(lease)" = held ] || fail "after up: $(lease)"
first=$(fault keys box/demo/hold/)
reboot a
rm -rf "$WORK/node/a/state/box/demo"

fault reset
on a ag-box up demo --force
[ "$(lease)" = held ] || fail "after up --force: $(lease)"
[ "$(fault keys box/demo/hold/ | wc -l)" = 2 ] || fail "the stray is not there: $(fault keys box/demo/hold/)"
fault log | grep -q '"LIST"' && fail "up lists holds"
fault await --op DELETE --key 'box/demo/hold/*' --timeout 100
on a ag-box snapshot demo
fault keys box/demo/hold/ | grep -qF "$first" && fail "the stray stays"
[ "$(fault keys box/demo/hold/ | wc -l)" = 1 ] || fail "the hold in use went too"
on a ag-box park demo
ended
on a ag-box up demo --full
[ "$(lease)" = held ] || fail "after up --full: $(lease)"
on a ag-box park demo

# Busy fetching at the end: the store answers late.
on a sh -c "sed -i /BOX_HYDRATE/d '$WORK/node/a/config/env'"
lose_cache a
on a ag-box up demo
fault rtt 3000
on a ag-box park demo
ended
