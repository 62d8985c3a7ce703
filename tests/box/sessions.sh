# SPDX-License-Identifier: MIT
# track takes the project's sessions of Claude Code, Codex and Grok into the box, by the directory that each has recorded:
# at the same paths, through a park, on another node. What is another project's, or a login, stays where it is, and the
# host's files as they were.
# limit: 180
BOXES=yes
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/a/b"
mkdir -p "$project"
echo text >"$project/file"
user="$WORK/node/a/home"
slug=$(echo "$project" | tr -c 'A-Za-z0-9\n' -)
encoded=$(jq -rn --arg path "$project" '$path | @uri')
claude() { # DIRECTORY ID CWD
    mkdir -p "$user/.claude/projects/$1"
    jq -nc --arg cwd "$3" '{type: "summary", summary: "x"}, {type: "user", cwd: $cwd, message: "hello"}' \
        >"$user/.claude/projects/$1/$2.jsonl"
}
codex() { # NAME CWD
    mkdir -p "$user/.codex/sessions/2026/07/16"
    jq -nc --arg cwd "$2" '{type: "session_meta", payload: {cwd: $cwd}}' \
        >"$user/.codex/sessions/2026/07/16/rollout-2026-07-16T08-00-00-$1.jsonl"
}
grok() { # DIRECTORY ID
    mkdir -p "$user/.grok/sessions/$1/$2"
    echo '{}' >"$user/.grok/sessions/$1/$2/summary.json"
    echo '{"text":"hello"}' >"$user/.grok/sessions/$1/$2/updates.jsonl"
}
claude "$slug" own "$project"
claude "$slug" other "$WORK/a-b" # the same slug
claude "$slug-sub" below "$project/sub"
claude "$slug-up" up "$project/../other"
mkdir -p "$user/.claude/projects/$slug/own/subagents"
echo part >"$user/.claude/projects/$slug/own/subagents/agent-1.jsonl"
echo 'no JSON' >"$user/.claude/projects/$slug/damaged.jsonl"
ln -s "$user/.claude/projects/$slug/own.jsonl" "$user/.claude/projects/$slug/link.jsonl"
mkfifo "$user/.claude/projects/$slug/pipe.jsonl"
echo TOP-SECRET >"$user/.claude/.credentials.json"
codex own "$project"
codex other "$WORK/a"
grok "$encoded" own
grok "$(jq -rn --arg path "$WORK" '$path | @uri')" other
find "$user" -mindepth 1 -printf '%p %y %m %s %T@ %l\n' | sort >"$WORK/before"

expect_exit 0 on a ag-box track demo "$project"
expect_output "imported 2 sessions of Claude Code, 1 of Codex, 1 of Grok"
expect_output "no plain file: 4 files" # damaged, a link, a pipe, and the one that goes up
find "$user" -mindepth 1 -printf '%p %y %m %s %T@ %l\n' | sort >"$WORK/after"
cmp "$WORK/before" "$WORK/after" || fail "track has changed the host's files"
on a ag-box park demo

resume() { # what an agent finds, appended to as it would be
    on b ag-box exec demo -- sh -ec '
        cd /root
        for f in ".claude/projects/$1/own.jsonl" ".claude/projects/$1-sub/below.jsonl" .codex/sessions/2026/07/16/rollout-*-own.jsonl \
            ".grok/sessions/$2/own/updates.jsonl"; do
            tail -n 1 "$f"
            echo "{\"resumed\":true}" >>"$f"
        done
        cat ".grok/sessions/$2/own/summary.json" ".claude/projects/$1/own/subagents/agent-1.jsonl"' - "$slug" "$encoded"
}
on b ag-box up demo
resume >"$WORK/found"
[ "$(grep -c "$project" "$WORK/found") $(grep -c hello "$WORK/found") $(tail -n 2 "$WORK/found" | tr '\n' ' ')" = "3 3 {} part " ] ||
    fail "not all sessions are there: $(cat "$WORK/found")"
[ "$(resume | grep -c resumed)" = 4 ] || fail "a session does not go on"
expect_exit 0 on b ag-box exec demo -- find /root/.claude /root/.codex /root/.grok -type f -o -type l -o -type p
! grep -E 'other|damaged|link|pipe|up.jsonl' "$WORK/output" || fail "what is not the project's is in the box"
on b ag-box park demo
on b ag-box restore --home demo "$WORK/home"
! grep -r TOP-SECRET "$WORK/home" || fail "a login is in the snapshot"

# Without them; and said to programs.
mkdir "$WORK/two" "$WORK/three"
claude two own "$WORK/two"
claude three own "$WORK/three"
expect_exit 0 on a ag-box track --no-sessions three "$WORK/three"
! grep imported "$WORK/output" || fail "something was imported"
on a ag-box park three
on b ag-box restore --home three "$WORK/home-of-three"
expect_missing "$WORK/home-of-three/.claude/projects"
expect_exit 0 on a ag-box track --json two "$WORK/two"
[ "$(jq -c '[.sessions, .sessions_left_out, .sessions_bytes > 0]' "$WORK/output")" = '[{"claude":1,"codex":0,"grok":0},4,true]' ] ||
    fail "JSON: $(cat "$WORK/output")"

# Of two boxes that run here each has its own.
on a ag-box up demo
for box in demo two; do
    on a ag-box exec "$box" -- find / -path /proc -prune -o -path /usr -prune -o -name '*.jsonl' -printf '%f\n' | sort | tr '\n' ' ' >"$WORK/$box.seen"
done
[ "$(cat "$WORK/two.seen")" = "own.jsonl " ] || fail "the other's sessions are seen: $(cat "$WORK/two.seen")"
[ "$(cat "$WORK/demo.seen")" = "agent-1.jsonl below.jsonl own.jsonl rollout-2026-07-16T08-00-00-own.jsonl updates.jsonl " ] ||
    fail "the box has others than its own: $(cat "$WORK/demo.seen")"
on a ag-box park demo
on a ag-box park two
