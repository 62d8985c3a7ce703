# SPDX-License-Identifier: MIT
# The agents' logins in a box's HOME enter no snapshot under any name, whatever the rules say; they pin nothing, and are
# there again after park and up on their node, and on no other.
# lane: wait
# limit: 180
BOXES=yes
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"
mkdir "$project"
echo text >"$project/file"
on a ag-box track demo "$project"
on a ag-box set demo 'exclude+=!*'
on a ag-box park demo
on a ag-box up demo
on a ag-box exec demo -- sh -ec '
    cd
    mkdir -p .claude .codex .grok
    for f in .claude/.credentials.json .codex/auth.json .grok/auth.json; do
        echo "TOP-SECRET $f" >"$f.tmp.1.2"
        mv "$f.tmp.1.2" "$f"
        echo "TOP-SECRET unfinished" >"$f.tmp.3.4"
    done
    echo "kept" >.codex/config.toml
    ln .codex/auth.json copy'
on a ag-box snapshot demo
on a ag-box park demo

on b ag-box restore --home demo "$WORK/home"
on b ag-box restore demo "$WORK/restored"
expect_file "$WORK/home/.codex/config.toml" kept
! grep -r TOP-SECRET "$WORK/home" "$WORK/restored" || fail "a login is in the snapshot"
names=$(find "$WORK/home" "$WORK/restored" -name '*auth.json*' -o -name '*credentials*' -o -name copy)
[ -z "$names" ] || fail "in the snapshot: $names"

on b ag-box up demo # no login pins it
expect_exit 1 on b ag-box exec demo -- grep -r TOP-SECRET /root "$project"
expect_exit 1 on b ag-box exec demo -- test -e /root/copy
on b ag-box park demo

on a ag-box up demo
expect_exit 0 on a ag-box exec demo -- sh -ec '
    cd
    cat .claude/.credentials.json .codex/auth.json .grok/auth.json copy
    cat .claude/.credentials.json.tmp.3.4 .codex/auth.json.tmp.3.4 .grok/auth.json.tmp.3.4
    stat -c %h .codex/auth.json'
[ "$(cat "$WORK/output")" = "TOP-SECRET .claude/.credentials.json
TOP-SECRET .codex/auth.json
TOP-SECRET .grok/auth.json
TOP-SECRET .codex/auth.json
TOP-SECRET unfinished
TOP-SECRET unfinished
TOP-SECRET unfinished
2" ] || fail "not all came back"
on a ag-box park demo

# The host's login goes into a box that has none, and what a box has refreshed comes back at its end: whole, with the
# file's mode, and from there into the next box. Another account's does not.
login() { # ACCOUNT HOURS TOKEN
    jq -nc --arg account "$1" --arg refresh "$3" --argjson at $(($(date +%s) + 3600 * $2)) '{OPENAI_API_KEY: null, tokens: {
        account_id: $account, refresh_token: $refresh,
        access_token: ("h." + ({exp: $at, sub: "me"} | tojson | @base64 | gsub("\\+"; "-") | gsub("/"; "_") | gsub("="; "")) + ".s")}}'
}
token() { jq -r .tokens.refresh_token "$1"; }
codex="$WORK/node/a/home/.codex"
mkdir -p "$codex"
login me 1 first >"$codex/auth.json"
chmod 640 "$codex/auth.json"
mkdir "$WORK/other"
on a ag-box track other "$WORK/other"
box_token() { on a ag-box exec "$1" -- cat /root/.codex/auth.json | jq -r .tokens.refresh_token; }
refresh() { # BOX ACCOUNT HOURS TOKEN
    login "$2" "$3" "$4" | on a ag-box exec "$1" -- sh -c 'cat >/root/.codex/auth.json.new && mv /root/.codex/auth.json.new /root/.codex/auth.json'
}
[ "$(box_token other)" = first ] || fail "the box has not got the host's login"
refresh other me 2 second
on a ag-box park other
[ "$(token "$codex/auth.json") $(stat -c %a "$codex/auth.json")" = "second 640" ] || fail "the refreshed login is lost"
on a ag-box up other
refresh other somebody-else 3 foreign
on a ag-box park other
[ "$(token "$codex/auth.json")" = second ] || fail "another account's login came out of the box"
on a ag-box up other
[ "$(box_token other)" = foreign ] || fail "the box's own account is gone"
refresh other me 2 second
login me 4 third >"$codex/auth.json"
on a ag-box park other
on a ag-box up other
[ "$(box_token other)" = third ] || fail "the box has not got the host's newer login"

# While it runs, too; and another box that runs gets it.
on a ag-box up demo
becomes() { # TOKEN COMMAND...
    local until=$((SECONDS + 20)) token=$1
    shift
    while [ "$("$@")" != "$token" ]; do
        ((SECONDS < until)) || fail "no $token after 20 s: $*"
        sleep 0.05
    done
}
on a ag-box exec demo -- rm /root/.codex/auth.json
refresh other me 5 fourth
becomes fourth token "$codex/auth.json"
becomes fourth box_token demo
login me 6 fifth >"$codex/auth.json"
becomes fifth box_token demo
becomes fifth box_token other
on a ag-box park other
on a ag-box park demo
