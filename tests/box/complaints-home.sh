# SPDX-License-Identifier: MIT
# Configuration, HOME and what is left behind: complaints 2 to 10, 36 and 62 about other sandboxes (contrib/SPEC.md).
# lane: wait
# limit: 240
BOXES=yes
. "$TESTS/lib.sh"

store file
node a BOX_HYDRATE=off
node b BOX_HYDRATE=off
project="$WORK/demo"
user="$WORK/node/b/home" # of the host's root, on b
mkdir "$project"
git init -q "$project"
echo text >"$project/file"
head -c 3000000 /dev/urandom >"$project/large"
git -C "$project" add .
git -C "$project" -c user.name=x -c user.email=x@x commit -q -m x
on a ag-box track demo "$project"
on a ag-box exec demo -- sh -ec '
    mkdir -p ~/.claude/projects/slug
    echo old >~/.claude/projects/slug/old.jsonl
    touch -d "100 days ago" ~/.claude/projects/slug/old.jsonl
    echo new >~/.claude/projects/slug/new.jsonl'
on a ag-box park demo

inside() { on b ag-box exec demo -- "$@"; }

# 2: a start reads nothing of the project and the home, however large they are, and what else it looks at is soon seen.
mkdir -p "$user/.local/share/many"
(cd "$user/.local/share/many" && seq -f '%.0f' 20000 | xargs touch)
on b ag-box up demo --no-start
mv "$WORK/store" "$WORK/store.away"
begin=$SECONDS
on b ag-box up demo
((SECONDS - begin < 15)) || fail "the box took $((SECONDS - begin)) s to start"
mv "$WORK/store.away" "$WORK/store"
expect_exit 1 inside touch /root/.local/share/written # what the host has there stays its own (README)
expect_error "Read-only file system"
expect_exit 0 inside sh -c 'mkdir -p ~/.local/state/agent && touch ~/.local/state/agent/lock'
on b ag-box park demo
rm -r "$user/.local"

# 7: what the host has not is not made there, and is nothing in the box.
[ -z "$(ls -A "$user")" ] || fail "the host's HOME is not empty: $(ls -A "$user")"
on b ag-box up demo
inside sh -ec 'for f in .claude.json .claude/CLAUDE.md .claude/settings.json .claude/.credentials.json .codex .grok .gitconfig .config/gh/hosts.yml .ssh; do
    [ ! -e ~/$f ] || { echo "$f is there"; exit 1; }
done'
[ -z "$(ls -A "$user")" ] || fail "a start has made in the host's HOME: $(ls -A "$user")"

# 8, 9: killed as hard as can be, it has left nothing in the project or HOME, and git sees nothing; PATH is the same.
tree() { inside sh -c 'cd; find . -type f -o -type l; echo "$PATH"; cd "$1"; find . -path ./.git -prune -o -print; git status --porcelain' sh "$project" | sort; }
before=$(tree)
[ -z "$(inside git status --porcelain)" ] || fail "git sees in the box: $(inside git status --porcelain)"
on b ag-box status --json demo >"$WORK/status"
keeper=$(json_field "$WORK/status" box_pid)
kill -KILL "$keeper"
while [ -e "/proc/$keeper" ]; do sleep 0.01; done
[ -z "$(on b git -C "$project" status --porcelain)" ] || fail "git sees: $(on b git -C "$project" status --porcelain)"
[ "$(tree)" = "$before" ] || fail "after the kill: $(diff <(echo "$before") <(tree))"
[ -z "$(ls -A "$user")" ] || fail "left in the host's HOME: $(ls -A "$user")"

# 3, 4: no file of HOME or the project is a mount, so each can be replaced by rename, with locks and others beside it, also
# those that came from the host; nothing of that is the host's.
on b ag-box park demo
mkdir -p "$user/.claude/skills/own" "$user/.config/gh"
echo '{"cleanupPeriodDays": 99}' >"$user/.claude/settings.json"
echo "be brief" >"$user/.claude/CLAUDE.md"
printf '[user]\n\tname = Somebody\n' >"$user/.gitconfig"
find "$user" -mindepth 1 -printf '%p %y %m %s %T@\n' | sort >"$WORK/before"
on b ag-box up demo
[ "$(inside sh -c 'cat ~/.claude/CLAUDE.md; git config user.name')" = "be brief
Somebody" ] || fail "the box has not got the host's configuration"
mounts=$(inside sh -c 'while read -r _ _ _ _ at _; do
    case $at in /root | /root/* | "$1" | "$1"/*) [ -d "$at" ] || echo "$at" ;; esac
done </proc/self/mountinfo' sh "$project")
[ -z "$mounts" ] || fail "files that are mounts: $mounts"
inside sh -ec '
    cd
    for f in .claude.json .claude/settings.json .claude/CLAUDE.md .claude/.credentials.json .codex/auth.json .codex/config.toml \
        .grok/auth.json .gitconfig .bashrc .config/tool/config.json; do
        mkdir -p "$(dirname "$f")"
        mkdir "$f.lock"
        echo "{}" >"$f.tmp.1"
        mv "$f.tmp.1" "$f"
        echo "{ }" >"$f.tmp.2"
        mv -T "$f.tmp.2" "$f"
        rmdir "$f.lock"
        [ "$(cat "$f")" = "{ }" ]
    done
    rm .gitconfig
    git config --global user.name Other' # by a lock beside it
[ "$(inside git config user.name)" = Other ] || fail "git's configuration of the box does not count"
find "$user" -mindepth 1 -printf '%p %y %m %s %T@\n' | sort >"$WORK/after"
cmp "$WORK/before" "$WORK/after" || fail "the box has changed the host's configuration: $(diff "$WORK/before" "$WORK/after")"

# 6: whoever reads a file that two sessions replace finds one of them, whole, and two boxes have each their own.
mkdir "$WORK/other"
on b ag-box track other "$WORK/other"
write() { # BOX LETTER
    on b ag-box exec "$1" -- sh -ec 'i=0; while [ $i -lt 200 ]; do
        head -c 50000 /dev/zero | tr "\0" "$1" >~/.claude.json.$$
        mv ~/.claude.json.$$ ~/.claude.json
        i=$((i + 1))
    done' sh "$2" || echo failed >"$WORK/write-failed"
}
write demo x &
write demo y &
write other z &
inside sh -ec 'i=0; until [ "$(head -c 1 ~/.claude.json)" = x ] || [ "$(head -c 1 ~/.claude.json)" = y ]; do :; done
    while [ $i -lt 200 ]; do
        text=$(cat ~/.claude.json)
        [ "${#text} $(printf %s "$text" | tr -s xy | wc -c)" = "50000 1" ] || { echo "not one of them: ${#text} bytes"; exit 1; }
        i=$((i + 1))
    done'
wait
expect_missing "$WORK/write-failed"
[ "$(on b ag-box exec other -- sh -c 'tr -d z <~/.claude.json')" = "" ] || fail "another box has written here"
expect_missing "$user/.claude.json"

# 5: a program that prints for ever fills nothing on the host. What 100 MB leave behind is looked for below all of ours.
size() { du -s -B1 --apparent-size "$WORK/node/b" | cut -f 1; }
before=$(size)
on b ag-box exec demo -d -- sh -c 'head -c 100000000 /dev/zero | tr "\0" x >&2; touch /tmp/printed-too; sleep 60' >/dev/null 2>&1
until inside test -e /tmp/printed-too; do :; done
(($(size) - before < 20000000)) || fail "$(($(size) - before)) bytes more on the host"

# 10: where it begins may be read-only, or gone.
[ "$(inside sh -c 'cd /usr && pwd') $(on b ag-box exec demo --cwd /usr -- pwd)" = "/usr /usr" ] || fail "not in a read-only directory"
mkdir "$WORK/gone"
[ "$(on b sh -ec "cd '$WORK/gone'; rmdir '$WORK/gone'; exec ag-box exec demo -- pwd")" = "$project" ] || fail "exec wants the host's directory"
inside sh -ec 'mkdir /tmp/gone; cd /tmp/gone; rmdir /tmp/gone; exec ls' || fail "not in a directory that is gone"

# 36: the host's CLAUDE_CONFIG_DIR and its like lead nobody in the box astray: a login is where agents look for it there.
on b ag-box park other
on b ag-box park demo
printf '{"claudeAiOauth":{"accessToken":"login","expiresAt":%d}}' $((($(date +%s) + 3600) * 1000)) >"$user/.claude/.credentials.json"
on b env CLAUDE_CONFIG_DIR="$WORK/elsewhere" CODEX_HOME="$WORK/elsewhere" GROK_HOME="$WORK/elsewhere" ag-box up other
expect_exit 0 on b env CLAUDE_CONFIG_DIR="$WORK/elsewhere" ag-box exec other -- sh -c 'cat "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/.credentials.json"; env'
expect_output '"accessToken": "login"'
! grep -q elsewhere "$WORK/output" || fail "the host's directories are in the box's environment"
on b ag-box park other

# 62: agents delete transcripts by their age. It is the same on every node, and what an agent deleted is in the snapshots.
on a ag-box up demo
expect_exit 0 on a ag-box exec demo -- find /root/.claude/projects -name '*.jsonl' -mtime +30
[ "$(cat "$WORK/output")" = /root/.claude/projects/slug/old.jsonl ] || fail "ages are not what they were"
on a ag-box ls --snapshots demo --json >"$WORK/list"
snapshot=$(python3 -c 'import json, sys; print(next(s["id"] for s in json.load(open(sys.argv[1]))["snapshots"] if s["newest"]))' "$WORK/list")
on a ag-box exec demo -- find /root/.claude/projects -name '*.jsonl' -mtime +30 -delete
on a ag-box park demo
on b ag-box restore demo --home "$WORK/newest"
expect_missing "$WORK/newest/.claude/projects/slug/old.jsonl"
on b ag-box restore demo --home --snapshot "$snapshot" "$WORK/earlier"
expect_file "$WORK/earlier/.claude/projects/slug/old.jsonl" old
