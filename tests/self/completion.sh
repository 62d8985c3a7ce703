# SPDX-License-Identifier: MIT
# Completion offers every command, every option of a command, and the boxes that are known here.
# lane: cpu
. "$TESTS/lib.sh"

for shell in bash zsh fish; do
    ag-box debug completion "$shell" >"$WORK/$shell"
    if command -v "$shell" >/dev/null; then
        "$shell" -n "$WORK/$shell" || fail "$shell cannot read its script"
    fi
done
expect_exit 2 ag-box debug completion csh
expect_error "bash, zsh or fish"

. "$WORK/bash"
export AGBOX_STATE_DIR="$WORK/state"
mkdir -p "$AGBOX_STATE_DIR/box/first" "$AGBOX_STATE_DIR/box/second" "$AGBOX_STATE_DIR/box/gone" "$WORK/directory"
touch "$AGBOX_STATE_DIR/box/gone/dropped" # as `ls` marks what the store has no more (box/drop.sh)
offers() { # offers WORD... : what is offered for the last word, one a line
    COMP_WORDS=(ag-box "$@") COMP_CWORD=$#
    COMPREPLY=()
    _ag_box
    printf '%s\n' "${COMPREPLY[@]}"
}
offered() { # offered EXPECTED WORD...
    local expected=$1
    shift
    grep -qxF -- "$expected" <<<"$(offers "$@")" || fail "'$*' does not offer $expected"
}
ag-box --help >"$WORK/overview"
for command in $(sed -n 's/^  \([a-z-]*\) .*/\1/p' "$WORK/overview"); do
    offered "$command" "${command:0:1}"
    ag-box "$command" --help >"$WORK/help"
    for option in $(sed -n 's/^  \(--[a-z-]*\).*/\1/p' "$WORK/help"); do
        grep -qE -- "^$option=?$" <<<"$(offers "$command" --)" || fail "bash: $command does not offer $option"
        grep -qE -- "-l ${option#--}( |\$)" <(grep "from $command'" "$WORK/fish") || fail "fish: no $option of $command"
        grep -qF -- "$option" <(sed -n "/^    $command)/,/;;/p" "$WORK/zsh") || fail "zsh: no $option of $command"
    done
done
offered first up f
offered second park ""
offered export key e
offered directory track name d
offered globals prune g
offered directory digest d
nothing() { # nothing WORD...
    [ -z "$(offers "$@")" ] || fail "'$*' offers $(offers "$@")"
}
nothing up gon
nothing up --node ""
nothing set first ""
nothing park first ""
nothing exec first -- ""
nothing up globals
nothing track first --no-sessions directory ""
offered first up --node elsewhere f
offered first up --node = elsewhere f
offered first check --read-data = 10% f
if command -v fish >/dev/null; then
    fish_offers() { # fish_offers LINE: what is offered at its end
        HOME="$WORK" fish --no-config -c "source $WORK/fish; complete -C \"$1\"" | cut -f 1
    }
    [ "$(fish_offers "ag-box up --node x ")" = "$(printf 'first\nsecond')" ] || fail "fish: $(fish_offers "ag-box up --node x ")"
    [ -z "$(fish_offers "ag-box set first ")$(fish_offers "ag-box up --node ")$(fish_offers "ag-box exec first -- ")" ] ||
        fail "fish offers names where none belong"
    [ "$(fish_offers "ag-box prune g")" = globals ] || fail "fish: no globals"
fi
if command -v zsh >/dev/null; then
    zsh -c "compdef() { :; }; compadd() { shift; print -l \${(P)1}; }; _ag_box() { :; }
        $(sed -n '/^_ag_box_names/,/^}/p' "$WORK/zsh")
        _ag_box_names" >"$WORK/names"
    [ "$(tr '\n' ' ' <"$WORK/names")" = "first second " ] || fail "zsh: $(cat "$WORK/names")"
fi
[ -z "$(offers up x)" ] || fail "something is offered for a box that is not there"
