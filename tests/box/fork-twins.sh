# SPDX-License-Identifier: MIT
# Two machines that were one (a clone, or an image that was put back) make forks of the same node and lease. Each is work of
# its own: listed, brought back and dropped without the other.
# limit: 120
. "$TESTS/lib.sh"

store file
node a
node b
node c
project="$WORK/project"; mkdir "$project"; echo first >"$project/file"
lazy_box a demo "$project"

# c is a's clone: both go on with one lease.
rmdir "$WORK/node/c/state"
cp -a "$WORK/node/a/state" "$WORK/node/c/state"
cp "$WORK/node/a/machine-id" "$WORK/node/a/boot_id" "$WORK/node/c"
sed -i 's/^BOX_NODE=.*/BOX_NODE=a/' "$WORK/node/c/config/env"
on c ag-box up demo
echo "work of a" | on a tee "$project/file" >/dev/null
echo "work of c" | on c tee "$project/file" >/dev/null
on b ag-box up demo --force
echo theirs | on b tee "$project/theirs" >/dev/null
on b ag-box park demo
expect_exit 3 on a ag-box park demo
expect_exit 3 on c ag-box park demo

forks() { on b ag-box ls --snapshots demo --json | jq -r ".forks[].$1"; }
content() { # content FORK
    rm -rf "$WORK/out"
    on b ag-box restore demo --snapshot "$1" "$WORK/out" >&2
    cat "$WORK/out/file"
}
[ "$(forks id | wc -l)" = 2 ] || fail "two forks were expected: $(forks id)"
expect_exit 0 on b ag-box ls --snapshots demo
expect_output "one of several"
one=$(forks id | sed -n 1p) other=$(forks id | sed -n 2p)
[ "$(content "$one")" != "$(content "$other")" ] || fail "one of the two has gone"

# The short name could be either: each command that takes one refuses, and says the whole names.
mkdir "$WORK/empty"
for words in "drop demo --yes --fork fork:a-2" "drop demo --yes --fork a-2" "up demo --from fork:a-2" \
    "restore demo --snapshot fork:a-2 $WORK/refused" "mount demo --snapshot fork:a-2 $WORK/empty"; do
    expect_exit 2 on b ag-box $words
    expect_error "fork:a-2 of demo may be any of these: fork:a-2-"
    expect_error "$one"
    expect_error "$other"
    expect_error "hint: say its whole name, fork:a-2-"
done
expect_missing "$WORK/refused"
expect_exit 8 on b ag-box drop demo --yes
expect_error "  $one: work that only the fork keeps"

# Dropped is what was listed by that name. The other one goes by the short name then.
kept=$(content "$other")
on b ag-box drop demo --yes --fork "$one"
[ "$(forks id)" = fork:a-2 ] || fail "left: $(forks id)"
[ "$(content fork:a-2)" = "$kept" ] || fail "the wrong one was dropped"
on b ag-box drop demo --yes --fork fork:a-2
[ -z "$(forks id)" ] || fail "left: $(forks id)"

# What a crash has left of one work is listed as older, and goes with the newest.
on a ag-box up demo # as long as c shows its twin of the upper, a keeps its own, and a fork of that
forks() { on b ag-box ls --snapshots demo --json | jq -r ".forks[] | select(.epoch > 2).$1"; }
echo more | on a tee "$project/file" >/dev/null
on b ag-box up demo --force
echo theirs too | on b tee "$project/theirs" >/dev/null
on b ag-box park demo
expect_exit 3 on a ag-box snapshot demo
echo "still more" | on a tee "$project/file" >/dev/null
expect_exit 137 on a env AGBOX_CRASH_AT=park:remove-fork.before ag-box park demo
[ "$(forks id | wc -l)" = 2 ] || fail "two forks were expected: $(forks id)"
expect_exit 0 on b ag-box ls --snapshots demo
expect_output "older"
expect_exit 0 on b ag-box drop demo --yes --json --fork "$(forks id | grep -x 'fork:a-[0-9]*')"
[ "$(json_field "$WORK/output" forks_removed)" = 2 ] || fail "one is left"
[ -z "$(forks id)" ] || fail "left: $(forks id)"
expect_exit 3 on a ag-box park demo # the work itself is still here, and becomes a fork again
[ "$(content "$(forks id)")" = "still more" ] || fail "the work is not in the fork"
