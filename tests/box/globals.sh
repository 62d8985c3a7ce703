# SPDX-License-Identifier: MIT
# `ag-box globals`: what one node has of the user's configuration comes to the others, one way, and nothing else does.
# What was changed there is kept; roles; what is hostile, wrong or unreachable touches nothing.
# limit: 240
. "$TESTS/lib.sh"

store file
node a BOX_GLOBALS_ROLE=push
node b BOX_GLOBALS_ROLE=pull
node c
needs_crash_points
A="$WORK/node/a/home" B="$WORK/node/b/home" C="$WORK/node/c/home"

# --- what there is of it

on a ag-box globals auto >"$WORK/first" # HOME is empty: that is a configuration, too
on b ag-box globals auto
mkdir -p "$A/.claude/skills/one/deep" "$A/.claude/output-styles" "$A/.claude/projects" "$A/.config/gh" "$A/.codex" "$A/.grok" "$A/dotfiles/plugins" "$A/.ssh"
echo "be brief" >"$A/.claude/CLAUDE.md"
echo '{"model":"x"}' >"$A/.claude/settings.json"
echo "skill" >"$A/.claude/skills/one/SKILL.md"
printf '#!/bin/sh\n' >"$A/.claude/skills/one/deep/run"
chmod 755 "$A/.claude/skills/one/deep/run"
chmod 700 "$A/.claude/skills/one/deep"
ln -s ../one/SKILL.md "$A/.claude/skills/link"
echo "plugin" >"$A/dotfiles/plugins/p.json"
ln -s ../dotfiles/plugins "$A/.claude/plugins" # as those have it who keep such files elsewhere
echo "[user]" >"$A/dotfiles/gitconfig"
ln -s dotfiles/gitconfig "$A/.gitconfig"
echo "oauth_token: t" >"$A/.config/gh/hosts.yml"
chmod 600 "$A/.config/gh/hosts.yml"
echo "model = 1" >"$A/.codex/config.toml"
echo "grok" >"$A/.grok/config.toml"
for file in .claude/.credentials.json .codex/auth.json .grok/auth.json .claude.json .ssh/id .claude/projects/session; do
    echo "STAYS-HERE" >"$A/$file"
done
echo "STAYS-HERE" >"$A/.claude/skills/one/.auth-secret"
ln "$A/.claude/skills/one/.auth-secret" "$A/.claude/skills/one/other"
touch -d '2020-01-01 10:00:00.123456789' "$A/.claude/CLAUDE.md"

expect_exit 0 on a ag-box globals push --json
[ "$(json_field "$WORK/output" changed)" = true ] || fail "nothing was pushed"
[ "$(json_field "$WORK/output" action)" = push ] || fail "that was no push"
snapshot=$(json_field "$WORK/output" snapshot)
! grep -r STAYS-HERE "$WORK/node/a/state/globals" || fail "a secret is on its way"
[ -d "$WORK/store/globals/snap" ] || fail "it is not where FORMAT.md says"
expect_missing "$WORK/store/box"

mkdir -p "$B/.claude/projects"
echo "b's own" | tee "$B/.claude/.credentials.json" "$B/.claude/projects/session" "$B/file" >/dev/null
expect_exit 0 on b ag-box globals pull --json
[ "$(json_field "$WORK/output" snapshot)" = "$snapshot" ] || fail "another snapshot"
[ "$(json_field "$WORK/output" from)" = a ] || fail "who pushed it?"
equal() { # the places are the same on a and there, with modes and times
    local place
    for place in .claude/{output-styles,skills,plugins,CLAUDE.md,settings.json} .gitconfig .config/gh .codex/config.toml .grok/config.toml; do
        if [ ! -e "$A/$place" ]; then
            expect_missing "$1/$place"
        elif [ -d "$A/$place" ]; then
            expect_same_tree "$(realpath "$A/$place")" "$1/$place"
        else
            cmp "$A/$place" "$1/$place" || fail "$place differs"
            [ "$(stat -L -c '%a %y' "$A/$place")" = "$(stat -c '%a %y' "$1/$place")" ] || fail "$place: mode or time"
        fi
    done
}
touch -r "$A/.claude/skills/one" "$WORK/time"
rm "$A/.claude/skills/one/other" # a secret's other name: it did not come over
touch -r "$WORK/time" "$A/.claude/skills/one"
equal "$B"
[ "$(readlink "$B/.claude/skills/link")" = ../one/SKILL.md ] || fail "the link is none"
expect_missing "$B/.claude/skills/one/.auth-secret"
[ "$(find "$B" -type f -exec grep -l STAYS-HERE {} +)" = "" ] || fail "a secret came over"
for file in .claude/.credentials.json .claude/projects/session file; do
    expect_file "$B/$file" "b's own"
done
for file in .codex/auth.json .grok/auth.json .claude.json .ssh; do
    expect_missing "$B/$file"
done
[ "$(stat -c %a "$B/.codex")" = 700 ] || fail "a directory that others can read"

# --- nothing changed: nothing is written, anywhere

find "$WORK/store" -type f -printf '%p %T@ %i\n' | grep -v /.agbox/ | sort >"$WORK/before"
find "$B" -printf '%p %T@ %i\n' | sort >"$WORK/before-b"
touch -c "$A/.claude" # what else there is in its directories does not matter
expect_exit 0 on a env AGBOX_TRACE="$WORK/trace" ag-box globals auto
expect_output "nothing has changed since snapshot ${snapshot:0:8}"
[ "$(grep -c '"event":"store"' "$WORK/trace")" = 1 ] || fail "more than the head was asked for: $(cat "$WORK/trace")"
expect_exit 0 on b env AGBOX_TRACE="$WORK/trace-b" ag-box globals auto
expect_output "all is as in snapshot ${snapshot:0:8} by a"
[ "$(grep -c '"event":"store"' "$WORK/trace-b")" = 1 ] || fail "more than the head was asked for: $(cat "$WORK/trace-b")"
find "$WORK/store" -type f -printf '%p %T@ %i\n' | grep -v /.agbox/ | sort | diff "$WORK/before" - || fail "the store was written to"
find "$B" -printf '%p %T@ %i\n' | sort | diff "$WORK/before-b" - || fail "HOME was written to"

# --- what is neither file, directory nor link is passed over on both sides, and that is said

touch -r "$A/.claude/skills" "$WORK/time"
touch -r "$A/.config/gh" "$WORK/time-gh"
mkfifo "$A/.claude/skills/pipe"
python3 -c 'import os, socket, sys; os.chdir(sys.argv[1]); socket.socket(socket.AF_UNIX).bind("socket")' "$A/.config/gh"
expect_exit 0 on a ag-box globals push --json
expect_error "~/.claude/skills/pipe is a FIFO"
expect_error "~/.config/gh/socket is a socket"
[ "$(jq '.warnings | length' "$WORK/output")" = 2 ] || fail "warnings: $(cat "$WORK/output")"
rm "$B/.codex/config.toml"
mkfifo "$B/.codex/config.toml"
expect_exit 0 on b ag-box globals pull
expect_error "~/.codex/config.toml is a FIFO: it stays"
[ -p "$B/.codex/config.toml" ] || fail "a FIFO was replaced"
expect_missing "$B/.claude/skills/pipe"
rm "$A/.claude/skills/pipe" "$A/.config/gh/socket" "$B/.codex/config.toml"
touch -r "$WORK/time" "$A/.claude/skills"
touch -r "$WORK/time-gh" "$A/.config/gh"
on a ag-box globals push
on b ag-box globals pull
equal "$B"

# --- what goes, and what is kept

mv "$A/.claude/skills/one/deep/run" "$A/.claude/skills/one/walk"
rm "$A/.claude/skills/link" "$A/.grok/config.toml"
echo "be very brief" >"$A/.claude/CLAUDE.md"
echo "longer" >"$A/.claude/skills/one/SKILL.md"
on a ag-box globals push
echo "changed on b" >"$B/.claude/CLAUDE.md"
mkdir "$B/.claude/skills/mine"
echo "made on b" >"$B/.claude/skills/mine/SKILL.md"
expect_exit 0 on b ag-box globals pull --json
[ "$(python3 -c 'import json, sys
print(sorted(k["path"] for k in json.load(open(sys.argv[1]))["kept"]))' "$WORK/output")" = "['.claude/CLAUDE.md', '.claude/skills/mine/SKILL.md']" ] || fail "kept: $(cat "$WORK/output")"
kept=$(json_field "$WORK/output" kept_in)
expect_file "$kept/.claude/CLAUDE.md" "changed on b"
expect_file "$kept/.claude/skills/mine/SKILL.md" "made on b"
expect_file "$B/.claude/CLAUDE.md" "be very brief"
expect_missing "$B/.claude/skills/mine"
expect_missing "$B/.claude/skills/link"
expect_missing "$B/.claude/skills/one/deep/run"
expect_file "$B/.grok/config.toml" grok # a single file that the source has not stays
cp "$B/.grok/config.toml" -p "$A/.grok/"
equal "$B"
rm "$A/.grok/config.toml"

# Changed here while nothing was pushed: put right as well, and kept. What was not changed is not kept.
echo "again on b" >"$B/.claude/CLAUDE.md"
expect_exit 0 on b ag-box globals auto
expect_output "~/.claude/CLAUDE.md was changed here"
expect_file "$B/.claude/CLAUDE.md" "be very brief"
[ "$(find "$WORK/node/b/state/globals/kept" -type f | wc -l)" = 3 ] || fail "kept: $(find "$WORK/node/b/state/globals/kept")"

# Of more than a hundred pulls that kept something the oldest go.
kept="$WORK/node/b/state/globals/kept"
mkdir "$kept"/2001{1001..1131}T000000Z.0000
on b ag-box globals pull
[ "$(ls "$kept" | wc -l)" = 100 ] || fail "$(ls "$kept" | wc -l) are kept"
expect_missing "$kept/20011001T000000Z.0000"
[ -d "$kept/20011131T000000Z.0000" ] || fail "the newest went"

# Which these are is no clock's matter, wherever that stood: what was kept last is the newest, and its time begins with it.
mkdir "$kept"/pull-{00000101..00000199}-20991231T235959Z
touch -d 2099-12-31 "$kept"/pull-*
echo "once more on b" >"$B/.claude/CLAUDE.md"
expect_exit 0 on b ag-box globals pull --json
newest=$(json_field "$WORK/output" kept_in)
[ "${newest%-*}" = "$kept/pull-00000200" ] || fail "kept in $newest"
expect_file "$newest/.claude/CLAUDE.md" "once more on b"
[ "$(ls "$kept" | wc -l)" = 100 ] || fail "$(ls "$kept" | wc -l) are kept"
echo "later" >"$B/.claude/CLAUDE.md"
expect_exit 0 on b env AGBOX_STORE_CLOCK=$((20 * 86400)) ag-box globals pull --json
later=$(json_field "$WORK/output" kept_in)
expect_file "$newest/.claude/CLAUDE.md" "once more on b"
on b env AGBOX_STORE_CLOCK=$((45 * 86400)) ag-box globals pull
expect_missing "$newest"
touch -d 1970-01-02 "$later"
on b env AGBOX_STORE_CLOCK=$((400 * 86400)) ag-box globals pull
expect_file "$later/.claude/CLAUDE.md" later

# A directory that is gone as a whole goes; what pulls have kept goes when its time is over.
rm -r "$A/.claude/output-styles"
find "$WORK/node/b/state/globals/kept" -mindepth 1 -maxdepth 1 -exec touch -d '40 days ago' {} +
on a ag-box globals push
on b ag-box globals pull
expect_missing "$B/.claude/output-styles"
[ "$kept/$(ls "$kept")" = "$later" ] || fail "what was kept stays for ever: $(ls "$kept")"

# --- roles

expect_exit 2 on b ag-box globals push
expect_error "BOX_GLOBALS_ROLE is pull"
expect_error "hint: change the files on the node that pushes"
expect_exit 2 on a ag-box globals pull
expect_error "BOX_GLOBALS_ROLE is push"
expect_exit 0 on c ag-box globals auto --json
[ "$(json_field "$WORK/output" action)" = none ] || fail "a node without a role did something"
expect_missing "$WORK/node/c/state/globals"
expect_exit 2 on a ag-box globals
expect_exit 2 on a ag-box globals sideways
expect_error "usage: ag-box globals push|pull|auto"

# A node without a role does either, when asked. What one pushes the other does not overwrite unasked.
on c ag-box globals pull
expect_file "$C/.claude/CLAUDE.md" "be very brief"
echo "from c" >"$C/.claude/CLAUDE.md"
on c ag-box globals push
echo "from a" >"$A/.claude/settings.json"
expect_exit 3 on a ag-box globals auto
expect_error "c has pushed since this node last pushed or pulled"
expect_file "$A/.claude/CLAUDE.md" "be very brief"
expect_exit 0 on a ag-box globals pull --force
expect_output "~/.claude/settings.json was changed here"
expect_file "$A/.claude/CLAUDE.md" "from c"
[ -f "$A/.gitconfig" ] && [ ! -L "$A/.gitconfig" ] || fail "a link was followed" # it is kept, as any change is
[ "$(readlink "$WORK"/node/a/state/globals/kept/*/.gitconfig)" = dotfiles/gitconfig ] || fail "a link is lost"
expect_exit 0 on a ag-box globals auto
expect_output "nothing has changed" # it is what c pushed
on b ag-box globals auto
expect_file "$B/.claude/CLAUDE.md" "from c"
echo "from b" >"$B/.claude/CLAUDE.md"
expect_exit 0 on b ag-box globals push --force
expect_error "BOX_GLOBALS_ROLE is pull, which does not count"
expect_exit 3 on a ag-box globals push
expect_exit 0 on a ag-box globals push --force
on b ag-box globals pull
expect_file "$B/.claude/CLAUDE.md" "from c"

# --- no box

mkdir "$WORK/x"

expect_exit 0 on a ag-box ls
! grep -q '^globals' "$WORK/output" || fail "globals are listed as a box"
for command in "up globals" "park globals" "track globals $A" "drop globals --yes" "set globals pin=a" "mount globals $WORK/x" \
    "snapshot globals" "status globals" "diff globals" "hydrate globals" "exec globals -- true"; do
    code=2
    [ "${command%% *}" != exec ] || code=125
    expect_exit $code on a ag-box $command
    expect_error "is no box name"
done
expect_exit 0 on a ag-box ls --snapshots globals
[ "$(grep -c ' files' "$WORK/output")" -ge 3 ] || fail "too few snapshots"
oldest=$(grep ' files' "$WORK/output" | tail -n 2 | head -n 1 | cut -c 1-32)
expect_exit 0 on c ag-box restore globals --snapshot "$oldest" "$WORK/older"
expect_file "$WORK/older/.claude/CLAUDE.md" "be brief"

# --- store: checked and pruned as boxes are

expect_exit 0 on a ag-box check --read-data
expect_output "globals:"
expect_exit 0 on c ag-box check globals
late() { on a env AGBOX_STORE_CLOCK="$1" "${@:2}"; }
none=(--keep-hourly 0 --keep-daily 0 --keep-weekly 0) # whatever the hour: but the newest
expect_exit 0 late $((90 * 86400)) ag-box prune "${none[@]}"
expect_exit 0 late $((95 * 86400)) ag-box prune globals "${none[@]}" --json
[ "$(find "$WORK/store/globals/snap" -type f | wc -l)" = 1 ] || fail "prune keeps them all"
expect_exit 0 on a ag-box check
[ -z "$(find "$WORK/store/globals" -path '*/hold/*' -type f)" ] || fail "a hold is left"
rm -rf "$WORK/node/c/state" "$C"
mkdir "$C"
on c ag-box globals pull
equal "$C"

# --- what must not be followed, or believed

# A snapshot with more in it than the places, and with what is no file: a's copy of its HOME is what it sends.
made="$WORK/node/a/state/globals/home"
mkdir -p "$made/.ssh"
echo "ssh-ed25519 AAAA" >"$made/.ssh/authorized_keys"
echo "rm -rf /" >"$made/.bashrc"
mknod "$made/.claude/skills/device" c 1 3
on a ag-box globals push
on b ag-box globals pull
on c ag-box restore globals "$WORK/hostile"
[ -e "$WORK/hostile/.ssh/authorized_keys" ] && [ -c "$WORK/hostile/.claude/skills/device" ] || fail "that was no hostile snapshot"
expect_missing "$B/.ssh"
expect_missing "$B/.bashrc"
expect_missing "$B/.claude/skills/device"
rm -r "$made/.ssh" "$made/.bashrc" "$made/.claude/skills/device"

mkdir "$WORK/elsewhere"
echo untouched >"$WORK/elsewhere/SKILL.md"
rm -r "$B/.claude/skills"
ln -s "$WORK/elsewhere" "$B/.claude/skills"
rm "$B/.gitconfig"
ln -s "$WORK/elsewhere/SKILL.md" "$B/.gitconfig"
expect_exit 0 on b ag-box globals pull
[ ! -L "$B/.claude/skills" ] && [ ! -L "$B/.gitconfig" ] || fail "a link stays in the way"
expect_file "$WORK/elsewhere/SKILL.md" untouched
[ "$(ls "$WORK/elsewhere")" = SKILL.md ] || fail "a link was followed"
mv "$B/.config" "$WORK/elsewhere/config"
ln -s "$WORK/elsewhere/config" "$B/.config"
echo "for the others" >"$A/.claude/settings.json"
echo "new" >"$A/.config/gh/new"
on a ag-box globals push
expect_exit 1 on b ag-box globals pull
expect_error "symbolic link"
expect_missing "$WORK/elsewhere/config/gh/new"
expect_file "$B/.claude/settings.json" "for the others" # one place's failure does not stop the others
rm "$B/.config"
expect_exit 0 on b ag-box globals pull
expect_file "$B/.config/gh/new" new

find "$B" -printf '%p %T@ %i\n' | sort >"$WORK/before-b"
echo "more" >"$A/.claude/settings.json"
on a ag-box globals push
expect_exit 9 on b env BOX_PASSWORD=wrong ag-box globals pull
pack=$(find "$WORK/store/globals/snap" -type f -newer "$WORK/before-b" | head -n 1)
mv "$pack" "$WORK/taken"
tr 'a-m' 'n-z' <"$WORK/taken" >"$pack"
expect_exit 7 on b ag-box globals pull
mv "$WORK/taken" "$pack"
mv "$WORK/store" "$WORK/away"
expect_exit 5 on b ag-box globals pull
expect_exit 5 on b ag-box globals auto
expect_exit 5 on a ag-box globals push
mv "$WORK/away" "$WORK/store"
find "$B" -printf '%p %T@ %i\n' | sort | diff "$WORK/before-b" - || fail "HOME was touched"
expect_exit 0 on b ag-box globals pull
expect_file "$B/.claude/settings.json" more

# A store that is older than what was seen of it is not believed, unless it is said to be.
cp -a "$WORK/store" "$WORK/copy"
echo "newest" >"$A/.claude/settings.json"
on a ag-box globals push
on b ag-box globals pull
rm -r "$WORK/store"
mv "$WORK/copy" "$WORK/store"
for node in a b; do
    expect_exit 7 on $node ag-box globals auto
    expect_error "--accept-rollback"
    expect_exit 7 on $node ag-box globals auto --force
done
expect_file "$B/.claude/settings.json" newest
expect_exit 3 on a ag-box globals push --accept-rollback # an older push is still one that this node's files are not of
expect_error "taken as it is"
expect_exit 0 on a ag-box globals push --force
expect_error "what a has pushed is replaced"
on b ag-box globals pull
expect_file "$B/.claude/settings.json" newest

# A node that was set up anew under its old name does not push its empty HOME over everything.
rm -rf "$WORK/node/a/state" "$A"
mkdir "$A"
expect_exit 3 on a ag-box globals auto
expect_error "a has pushed what this machine's state does not know of"
expect_exit 0 on a ag-box globals pull --force
expect_file "$A/.claude/settings.json" newest
on a ag-box globals auto

# A link that leads nowhere, as to a disk that is not mounted, is nothing that was removed.
mv "$A/.claude" "$WORK/disk"
ln -s "$WORK/disk" "$A/.claude"
on a ag-box globals auto
mv "$WORK/disk" "$WORK/away"
expect_exit 1 on a ag-box globals auto
expect_error "a link there leads nowhere"
on b ag-box globals auto
expect_file "$B/.claude/settings.json" newest
expect_file "$B/.claude/skills/one/SKILL.md" longer
mv "$WORK/away" "$WORK/disk"
expect_exit 0 on a ag-box globals auto
expect_output "nothing has changed"

# What cannot be kept is not replaced; nor is it said to be kept.
full="$WORK/node/b/state/globals/kept"
rm -rf "$full"
mkdir "$full"
on b mount -t tmpfs -o size=64k none "$full"
head -c 1000000 /dev/urandom >"$B/.claude/settings.json"
cp "$B/.claude/settings.json" "$WORK/mine"
expect_exit 1 on b ag-box globals pull
expect_error "No space left on device"
grep -q "is kept in" "$WORK/error" && fail "what was not kept is said to be"
[ -z "$(on b find "$full" -mindepth 1)" ] || fail "something of it is left"
cmp "$B/.claude/settings.json" "$WORK/mine"
on b umount "$full"
expect_exit 0 on b ag-box globals pull
expect_file "$B/.claude/settings.json" newest
