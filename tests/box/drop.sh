# SPDX-License-Identifier: MIT
# Drop asks, refuses what is in use, leaves nothing but a tombstone, goes on after a kill, and a new box may take the name.
# limit: 180
. "$TESTS/lib.sh"

objects() { (cd "$WORK/store" && find box -type f 2>/dev/null | sort | tr '\n' ' '); }

store file
node a
node b
project="$WORK/project"; make_project "$project"
on a ag-box track demo "$project"
expect_exit 8 on a ag-box drop demo --yes
expect_error "park demo first"
expect_exit 3 on b ag-box drop demo --yes
expect_error "held by a"
on a ag-box park demo

# Only the box's own name will do.
expect_exit 2 on a ag-box drop demo </dev/null
expect_error "not confirmed"
expect_exit 2 on a script -qec "ag-box drop demo" /dev/null <<<"demos"
on a python3 -c 'import sys
sys.path.insert(0, sys.argv[1])
import pty
t = pty.Terminal(["ag-box", "drop", "demo"])
t.sees("type demo")
t.type("\x03")
assert t.wait() == 130, (t.status, t.text())' "$TESTS"
[ "$(on a ag-box ls --json | jq '.boxes | length')" = 1 ]

# A hold of another node, of a mount or a session, stands in the way; one may be dropped by itself.
on b ag-box up demo
on a ag-box up demo --force
on a sh -c "echo 'written on a' >'$project/file'"
on a ag-box park demo
expect_exit 8 on a ag-box drop demo --yes
expect_error "in use: 1 hold, 0 forks"
hold=$(on a ag-box ls --snapshots demo --json | jq -r '.holds[0].id')
expect_exit 8 on b ag-box drop demo --hold "$hold" --yes
expect_exit 4 on a ag-box drop demo --hold 0123456789abcdef-0123456789abcdef --yes
on a ag-box drop demo --hold "$hold" --yes
[ "$(on a ag-box ls --snapshots demo --json | jq '.holds | length')" = 0 ]
on b sh -c "echo lost >'$project/file'"
expect_exit 3 on b ag-box park demo
expect_exit 8 on a ag-box drop demo --yes
expect_error "fork:b-"
fork=$(on a ag-box ls --snapshots demo --json | jq -r '.forks[0].id')
expect_exit 4 on a ag-box drop demo --fork fork:c-1 --yes
on a ag-box drop demo --fork "$fork" --yes
[ "$(on a ag-box ls --snapshots demo --json | jq '.forks | length')" = 0 ]

# Killed anywhere, the same command finishes it.
cp -a "$WORK/store" "$WORK/before"
cp -a "$WORK/node/a/state" "$WORK/state"
on a env AGBOX_CRASH_LIST="$WORK/steps" ag-box drop demo --yes
[ "$(objects)" = "box/demo/head " ] || fail "left in the store: $(objects)"
expect_exit 4 on a ag-box up demo
[ "$(on a ag-box ls --json | jq '.boxes | length')" = 0 ]

# What was dropped is marked, so that completion (self/completion.sh) does not offer it: here at once, elsewhere by the next ls.
[ -e "$WORK/node/a/state/box/demo/dropped" ]
[ ! -e "$WORK/node/b/state/box/demo/dropped" ]
on b ag-box ls
[ -e "$WORK/node/b/state/box/demo/dropped" ]
for step in $(grep -E 'put-head|drop-tombstone|remove-(snap|pack)[.](before|after)#1$' "$WORK/steps" | sort -u); do
    rm -rf "$WORK/store" "$WORK/node/a/state"
    cp -a "$WORK/before" "$WORK/store"
    cp -a "$WORK/state" "$WORK/node/a/state"
    code=0
    on a env AGBOX_CRASH_AT="$step" ag-box drop demo --yes || code=$?
    [ "$code" = 137 ] || [ "$code" = 0 ] || fail "$step: exit $code"
    on a ag-box drop demo --yes
    [ "$(objects)" = "box/demo/head " ] || fail "$step: left in the store: $(objects)"
done

# A new box of the name has nothing of the old one, and prune finds nothing to do.
on a ag-box track demo "$WORK/node/a/config/.." 2>/dev/null && fail "tracked our own directory"
mkdir "$WORK/other"; echo new >"$WORK/other/file"
on b ag-box track demo "$WORK/other"
[ ! -e "$WORK/node/b/state/box/demo/dropped" ]
[ -e "$WORK/node/a/state/box/demo/dropped" ]
on a ag-box ls
[ ! -e "$WORK/node/a/state/box/demo/dropped" ]
[ "$(on a ag-box ls --snapshots demo --json | jq '.snapshots | length')" = 1 ]
on b ag-box park demo

# What an unfinished track has sent goes with drop, its directory stays.
mkdir "$WORK/third"; head -c 100000 /dev/urandom >"$WORK/third/file"
on a env AGBOX_CRASH_AT=track:put-snap.after ag-box track third "$WORK/third" && fail "was not killed"
expect_state a third tracking
[ -n "$(find "$WORK/store/box/third/pack" -type f)" ]
on a ag-box drop third --yes
expect_exit 4 on a ag-box status third
[ -z "$(find "$WORK/store/box/third" -type f 2>/dev/null)" ] || fail "left of an unfinished track"
[ -s "$WORK/third/file" ]
on a ag-box track third "$WORK/third"
on a ag-box park third

# What was excluded from a box that was dropped stays, but not for another one of its name: tracked anew here or elsewhere.
kept() { find "$WORK/node/a/state/box" -path '*/fourth/stash-*/entry' -type f | wc -l; }
for by in a b; do
    mkdir -p "$WORK/fourth"; echo "of the old one" >"$WORK/fourth/.auth-secret"; echo "$by" >"$WORK/fourth/file"
    before=$(kept)
    on a ag-box track fourth "$WORK/fourth"
    on a ag-box park fourth
    on a ag-box drop fourth --yes
    mkdir -p "$WORK/fourth"; echo new >"$WORK/fourth/file"
    on "$by" ag-box track fourth "$WORK/fourth"
    on "$by" ag-box park fourth
    on a ag-box up fourth 2>"$WORK/error"
    [ "$(on a cat "$WORK/fourth/file")" = new ]
    on a test ! -e "$WORK/fourth/.auth-secret" || fail "a secret of the box that was dropped is in another of its name"
    [ "$(kept)" -gt "$before" ] || fail "it is gone"
    on a ag-box park fourth
    on a ag-box drop fourth --yes
    rm -rf "$WORK"/.fourth.agbox-*
done
