# SPDX-License-Identifier: MIT
# A push or pull of globals that is killed at any step: a file in HOME is the old or the new one, whole; what others pull is
# one snapshot or the other; what was changed here is kept; and the next command finishes the work and leaves no litter.
# limit: 600
. "$TESTS/lib.sh"

store file
node a BOX_GLOBALS_ROLE=push
node b BOX_GLOBALS_ROLE=pull
needs_crash_points
A="$WORK/node/a/home" B="$WORK/node/b/home"
version() { # of a's HOME
    mkdir -p "$A/.claude/skills/s"
    echo "$1" | tee "$A/.claude/CLAUDE.md" "$A/.claude/settings.json" "$A/.claude/skills/s/SKILL.md" "$A/.claude/skills/s/$1" >"$A/.gitconfig"
    rm -f "$A/.claude/skills/s/$2"
}
is_version() { # is_version HOME V
    [ "$(cat "$1"/.claude/{CLAUDE.md,settings.json} "$1/.claude/skills/s/SKILL.md" "$1/.gitconfig" | sort -u)" = "$2" ] &&
        [ "$(ls "$1/.claude/skills/s")" = "$(printf 'SKILL.md\n%s' "$2")" ]
}
save() { # save CASE
    mkdir "$WORK/saved-$1"
    cp -a "$WORK/store" "$WORK/node/a" "$WORK/node/b" "$WORK/saved-$1"
}
load() {
    rm -rf "$WORK/store" "$WORK"/node/[ab]/{state,home}
    cp -a "$WORK/saved-$1/store" "$WORK"
    cp -a "$WORK/saved-$1/a"/{state,home} "$WORK/node/a"
    cp -a "$WORK/saved-$1/b"/{state,home} "$WORK/node/b"
}
steps_of() { # steps_of CASE NODE VERB: every step that it reaches
    load "$1"
    on "$2" env AGBOX_CRASH_LIST="$WORK/steps" ag-box globals "$3"
    sort -u "$WORK/steps" | grep -vE '#([4-9]|..)' >"$WORK/steps-$1"
    rm "$WORK/steps"
    echo "$1: $(wc -l <"$WORK/steps-$1") steps"
    [ "$(wc -l <"$WORK/steps-$1")" -ge 15 ] || fail "too few steps: $(cat "$WORK/steps-$1")"
}
nothing_left() {
    [ -z "$(find "$WORK/store/globals" -path '*/hold/*' -type f)" ] || fail "$step: a hold is left"
    [ -z "$(find "$WORK"/node/?/home "$WORK"/node/?/state/globals -name '.agbox*')" ] || fail "$step: a temporary file is left"
    expect_missing "$WORK/node/b/state/globals/next"
}

# --- the first push of all, and a later one

version one none
save first
on a ag-box globals push
on b ag-box globals pull
version two one
save push
on a ag-box globals push
echo "changed on b" >"$B/.claude/settings.json"
save pull

for case in first push; do
    steps_of "$case" a push
    new=$([ "$case" = first ] && echo one || echo two)
    while read -r step <&3; do
        load "$case"
        expect_exit 137 on a env AGBOX_CRASH_AT="$step" ag-box globals push
        on b ag-box globals auto
        is_version "$B" one || is_version "$B" "$new" || [ "$case" = first -a ! -e "$B/.claude" ] || fail "$case, $step: what b has is no version"
        on a ag-box globals push
        on b ag-box globals pull
        is_version "$B" "$new" || fail "$case, $step: b has not what a pushed in the end"
        expect_exit 0 on a ag-box globals push
        expect_output "nothing has changed"
        on a ag-box check globals
        on a ag-box debug dump globals/head | grep -q '"state": "free"' || fail "$case, $step: a lease is left"
        nothing_left
    done 3<"$WORK/steps-$case"
done

# --- a pull

steps_of pull b pull
while read -r step <&3; do
    load pull
    expect_exit 137 on b env AGBOX_CRASH_AT="$step" ag-box globals pull
    for file in .claude/CLAUDE.md .claude/settings.json .claude/skills/s/SKILL.md .gitconfig; do
        case $(cat "$B/$file") in one | two | "changed on b") ;; *) fail "$step: $file is neither old nor new" ;; esac
    done
    on b ag-box globals auto
    is_version "$B" two || fail "$step: the pull is not finished"
    [ "$(cat "$WORK"/node/b/state/globals/kept/*/.claude/settings.json | sort -u)" = "changed on b" ] || fail "$step: what b had is lost"
    [ "$(find "$WORK/node/b/state/globals/kept" -type f -not -name settings.json)" = "" ] || fail "$step: kept for nothing"
    expect_exit 0 on b ag-box globals pull
    expect_output "all is as in snapshot"
    nothing_left
done 3<"$WORK/steps-pull"

# A killed pull that no other one follows: what it had kept half of goes with whatever comes next.
litter() { find "$WORK/node/b/state/globals/kept" -name '.agbox*'; }
for command in "globals push --force" "prune globals"; do
    load pull
    expect_exit 137 on b env AGBOX_CRASH_AT=globals:copy.made#2 ag-box globals pull
    [ -n "$(litter)" ] || fail "it was not killed while it kept something"
    on b ag-box $command
    [ -z "$(litter)" ] || fail "$command leaves $(litter)"
done

# --- packs of a push that came to nothing are gone after two prunes; the next push knows

load push
expect_exit 137 on a env AGBOX_CRASH_AT=globals:globals-collected.after ag-box globals push
sleep 0.1 # so that the stat cache believes the times of what was collected
expect_exit 137 on a env AGBOX_CRASH_AT=globals:globals-acquired.after ag-box globals push
expect_exit 137 on a env AGBOX_CRASH_AT=globals:put-head.after ag-box globals push # the lease is free, with the old root
days() { on "$1" env AGBOX_STORE_CLOCK=$(($2 * 86400)) "${@:3}"; }
packs=$(find "$WORK/store/globals/pack" -type f | wc -l)
rm -r "$WORK/store/globals/hold" # which its next push would do
days b 2 ag-box prune globals
days b 4 ag-box prune globals
[ "$(find "$WORK/store/globals/pack" -type f | wc -l)" -lt "$packs" ] || fail "prune has left them"
days a 4 ag-box globals push
days a 4 ag-box check globals
days b 4 ag-box globals pull
is_version "$B" two || fail "what a has pushed is not there"
