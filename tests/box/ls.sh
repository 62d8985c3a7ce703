# SPDX-License-Identifier: MIT
# Ls costs a list of names, and a head and a snapshot of each box, however many packs there are; a listing that fails is an
# error and never an empty list. Check, prune and drop do the same over S3 as over a directory.
. "$TESTS/lib.sh"

store fault
node a
node b
expect_exit 0 on a ag-box ls
expect_output "no boxes"
for name in one two; do
    mkdir "$WORK/$name"; echo "$name" >"$WORK/$name/file"
    on a ag-box track $name "$WORK/$name"
    for i in 1 2 3; do echo $i >"$WORK/$name/file"; on a ag-box snapshot $name >/dev/null; done
done
on a ag-box set two pin=a
on a ag-box park one

fault reset
expect_exit 0 on b ag-box ls --json
[ "$(fault_counter requests)" -le 6 ] || fail "$(fault log)"
jq -e '[.boxes[] | "\(.name) \(.state)@\(.node) \(.pin) \(.here)"] == ["one free@a null none", "two held@a a none"]' "$WORK/output"
on a ag-box ls --json | jq -e '.boxes[1].here == "full-held" and (.boxes[1].runs | not)'
expect_exit 0 on b env BOX_MEMORY_MAX=1500M BOX_GLOBALS_ROLE=pull ag-box status
expect_output "node: b (globals: pull), memory limit of a box: 1.5G"
expect_output "snapshots: 9, of 2 boxes"
expect_output "timers: snapshot none, prune none"
expect_output "no box is active here"
on a ag-box ls --snapshots two --json >"$WORK/listing"
jq -e '(.snapshots | length) == 5 and .snapshots[0].newest and .holds[0].node == "a"' "$WORK/listing"
[ "$(cut -f 1 "$WORK/node/a/state/box/two/listed")" = "$(jq -r '.snapshots[].id' "$WORK/listing")" ] ||
    fail "completion (self/completion.sh) would not offer what was listed"
on b ag-box ls --snapshots two # nothing of it is here, nor shall be
expect_missing "$WORK/node/b/state/box/two"

# What a crash left of a first `up`, before its journal was written, is nothing yet.
mkdir -p -m 700 "$WORK/node/b/state/box/one"
for words in ls status "status one" resume doctor; do
    code=0
    on b ag-box $words >"$WORK/output" 2>&1 || code=$?
    [ "$code" -le 1 ] || fail "$words: exit $code: $(cat "$WORK/output")"
done

# A store that does not answer, or a listing that breaks off, is no empty store.
fault drop-request --op LIST
expect_exit 5 on b env AGBOX_LOG=warn timeout 100 ag-box ls --json
jq -e '.ok == false and .kind == "store" and (has("boxes") | not)' "$WORK/output"
fault clear

on b ag-box check --read-data
on b ag-box prune
on a ag-box prune two
on b ag-box drop one --yes
[ "$(on b ag-box ls --json | jq -r '.boxes[].name')" = two ]
on a ag-box park two
on b ag-box prune two
on b ag-box check --read-data two
