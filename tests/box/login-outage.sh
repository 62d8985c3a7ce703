# SPDX-License-Identifier: MIT
# What a box's HOME has of a login's account may not be here yet: a store that is away does not keep the box from starting,
# nor another box on the node.
# lane: wait
# limit: 180
BOXES=yes
. "$TESTS/lib.sh"

store fault
node a BOX_HYDRATE=off
home="$WORK/node/a/home"
login() { # HOURS TOKEN
    jq -nc --arg token "$2" --argjson at $((($(date +%s) + 3600 * $1) * 1000)) '{claudeAiOauth: {accessToken: $token, expiresAt: $at}}'
}
mkdir "$home/.claude" "$WORK/demo" "$WORK/other"
echo '{"oauthAccount": {"accountUuid": "me"}}' >"$home/.claude.json"
login 1 first >"$home/.claude/.credentials.json"
on a ag-box track other "$WORK/other"
on a ag-box track demo "$WORK/demo"
on a ag-box exec demo -- grep -q first /root/.claude/.credentials.json
head -c 200000 /dev/urandom | base64 -w 0 | jq -Rc '{oauthAccount: {accountUuid: "me"}, more: .}' |
    on a ag-box exec demo -- sh -c 'cat >/root/.claude.json'
on a ag-box park demo
lose_cache a
login 2 second >"$home/.claude/.credentials.json"
on a ag-box up --no-start demo
on a find "$WORK/node/a/run/demo/tree" >/dev/null # of all that there is, but for its content
fault drop-request
expect_exit 0 on a ag-box exec demo -- grep -q first /root/.claude/.credentials.json
expect_exit 0 on a ag-box exec other -- true
grep -q "the agents' logins stay as they are" "$WORK/node/a/state/box/demo/box.log" || fail "it has read what is not here"
fault clear
on a ag-box park demo
on a ag-box park other
