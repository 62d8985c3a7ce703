# SPDX-License-Identifier: MIT
# The box's exclude rules are the project's: what agents keep in HOME goes along, whatever it is called. HOME has rules
# of its own, with a word before them.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"
mkdir -p "$project/.claude"
echo text >"$project/file"
on a ag-box track demo "$project"
home="$WORK/node/a/state/box/demo/home"
on a mkdir -p "$home/.claude/projects" "$home/.local" "$project/.claude" "$project/deep/x.local"
on a sh -c "echo said >'$home/.claude/projects/session'; echo mine >'$home/.local/file'; echo other >'$home/session'"
on a sh -c "echo 1 >'$project/.claude/one'; echo 2 >'$project/deep/x.local/two'; echo secret >'$home/.auth-secret.no'"
on a ag-box set demo 'exclude+=.claude/' 'exclude+=*.local' 'exclude+=session'
on a ag-box park demo
on b ag-box restore demo "$WORK/restored"
on b ag-box restore demo --home "$WORK/home"
expect_file "$WORK/home/.claude/projects/session" said
expect_file "$WORK/home/.local/file" mine
expect_file "$WORK/home/session" other
expect_missing "$WORK/restored/.claude"
expect_missing "$WORK/restored/deep/x.local"
on b ag-box up demo
expect_missing "$project/.claude"
on b ag-box park demo
on a ag-box up demo
expect_file "$project/.claude/one" 1
on a ag-box park demo

on a ag-box up demo
on a mkdir -p "$home/.npm/_cacache" "$project/.npm"
on a sh -c "echo large >'$home/.npm/_cacache/file'; echo kept >'$project/.npm/file'"
on a ag-box set demo 'exclude+=home:.npm/' 'exclude+=home:/session'
on a ag-box park demo
rm -rf "$WORK/restored" "$WORK/home"
on b ag-box restore demo "$WORK/restored"
on b ag-box restore demo --home "$WORK/home"
expect_file "$WORK/restored/.npm/file" kept
expect_missing "$WORK/home/.npm"
expect_missing "$WORK/home/session"
expect_file "$WORK/home/.claude/projects/session" said
on a ag-box up demo
expect_file "$home/.npm/_cacache/file" large
on a ag-box park demo
