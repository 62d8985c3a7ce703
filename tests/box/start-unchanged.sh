# SPDX-License-Identifier: MIT
# Starting a box changes nothing that a snapshot has: what it links to of its node's own configuration is the node's.
BOXES=yes
. "$TESTS/lib.sh"

store file
node a
node b
mkdir -p "$WORK/node/a/home/.claude"
echo "be brief" | tee "$WORK/node/a/home/.claude/CLAUDE.md" >"$WORK/node/a/home/.claude/settings.json"
project="$WORK/project"
mkdir "$project"
echo text >"$project/file"
on a ag-box track demo "$project"
expect_exit 0 on a ag-box exec demo -- sh -c 'cat ~/.claude/CLAUDE.md'
expect_output "be brief"
on a ag-box snapshot demo
expect_exit 0 on a ag-box diff demo
[ ! -s "$WORK/output" ] || fail "tracked: $(cat "$WORK/output")"
on a ag-box park demo
on b ag-box restore demo --home "$WORK/home"
expect_missing "$WORK/home/.claude/CLAUDE.md"

for turn in "b" "a" "b --full" "a --full" "b"; do # one node has what the other has not
    set -- $turn
    on "$1" ag-box up demo ${2:-}
    [ "$1" = b ] || expect_exit 0 on a ag-box exec demo -- sh -c '[ -L ~/.claude/settings.json ] && cat ~/.claude/settings.json'
    expect_exit 0 on "$1" ag-box diff demo
    [ ! -s "$WORK/output" ] || fail "$turn: $(cat "$WORK/output")"
    expect_exit 0 on "$1" ag-box park demo
    expect_output "nothing had changed"
done

on a ag-box up demo
on a ag-box exec demo -- sh -c 'rm ~/.claude/CLAUDE.md; echo mine >~/.claude/CLAUDE.md; ln -sf elsewhere ~/.claude/settings.json'
on a ag-box park demo
on b ag-box restore demo --home "$WORK/home-2"
expect_file "$WORK/home-2/.claude/CLAUDE.md" mine
[ "$(readlink "$WORK/home-2/.claude/settings.json")" = elsewhere ] || fail "a link of the box's own is missing"
