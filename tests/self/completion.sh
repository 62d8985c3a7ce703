# SPDX-License-Identifier: MIT
# Completion offers every command, every option of a command, the boxes and nodes that are known here, and of a box what
# `ls --snapshots` has shown. Nobody is asked for it, and where there is nothing it says nothing.
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
compopt() { :; } # it has nothing to set here
export AGBOX_STATE_DIR="$WORK/state" AGBOX_CONFIG_DIR="$WORK/config"
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
nothing up --node "" # no nodes file
nothing restore first --snapshot "" # no listing
nothing set first ""
nothing park first ""
nothing exec first -- ""
nothing up globals
nothing track first --no-sessions directory ""
offered first up --node elsewhere f
offered first up --node = elsewhere f
offered first check --read-data = 10% f

# Values of options, of which some shells cut words at = and :.
mkdir "$AGBOX_CONFIG_DIR"
printf '%s\n' '# nodes' 'laptop local' ' server  ssh-alias # far' '$(touch pwned) x' >"$AGBOX_CONFIG_DIR/nodes"
newer=0123456789abcdef0123456789abcdef older=fedcba9876543210fedcba9876543210
printf '%s\t2026-01-02T03:04:05Z laptop\n' $newer $older fork:server-3 fork:server-4-aa '`touch pwned`' \
    >"$AGBOX_STATE_DIR/box/first/listed"
expect_offers() { # expect_offers EXPECTED WORD...: just these, in this order
    local expected=$1 got
    shift
    got=$(trap - ERR; offers "$@" 2>&1 | tr '\n' ' ')
    [ "$got" = "$expected " ] || fail "'$*' offers $got, not $expected"
}
expect_offers "laptop server" up --node ""
expect_offers server up first --node s
expect_offers server up --node = s
for option in restore:--snapshot mount:--snapshot up:--from; do
    expect_offers "$newer $older fork:server-3 fork:server-4-aa" "${option%:*}" first "${option#*:}" ""
done
expect_offers "$older" restore first --snapshot fed
expect_offers "$older" restore first --snapshot = fed
expect_offers "fork:server-3 fork:server-4-aa" drop first --fork ""
expect_offers "server-3 server-4-aa" drop first --fork fork :
expect_offers server-4-aa drop first --fork = fork : server-4
nothing drop second --fork ""
nothing drop first --hold ""
offered first up --from fork : server-3 f
cd "$WORK" # where nothing in the files may have been run

if command -v fish >/dev/null; then
    fish_offers() { # fish_offers LINE: what is offered at its end
        HOME="$WORK" fish --no-config -c "source $WORK/fish; complete -C \"$1\"" | cut -f 1
    }
    [ "$(fish_offers "ag-box up --node x ")" = "$(printf 'first\nsecond')" ] || fail "fish: $(fish_offers "ag-box up --node x ")"
    [ -z "$(fish_offers "ag-box set first ")$(fish_offers "ag-box exec first -- ")$(fish_offers "ag-box drop first --hold ")" ] ||
        fail "fish offers names where none belong"
    fish_values() { fish_offers "$1" | tr '\n' ' '; }
    [ "$(fish_values "ag-box up --node ")" = "laptop server " ] || fail "fish: no nodes: $(fish_values "ag-box up --node ")"
    [ "$(fish_values "ag-box restore first --snapshot ")" = "$newer $older fork:server-3 fork:server-4-aa " ] ||
        fail "fish: $(fish_values "ag-box restore first --snapshot ")"
    [ "$(fish_values "ag-box drop first --fork ")" = "fork:server-3 fork:server-4-aa " ] || fail "fish: no forks"
    [ -z "$(fish_values "ag-box drop second --fork " 2>&1)" ] || fail "fish: forks of another box"
    [ "$(fish_offers "ag-box prune g")" = globals ] || fail "fish: no globals"
fi
if command -v zsh >/dev/null; then
    zsh_lists() { # zsh_lists CALL WORD...: what the script's own function lists
        local call=$1
        shift
        zsh -c "compadd() { print -l \${(P)@[-1]}; }; words=($*)
            $(sed -n '/^_ag_box_names/,/^_ag_box()/p' "$WORK/zsh" | sed '$d')
            $call" 2>&1 | tr '\n' ' '
    }
    [ "$(zsh_lists _ag_box_names)" = "first second " ] || fail "zsh: $(zsh_lists _ag_box_names)"
    [ "$(zsh_lists _ag_box_nodes)" = "laptop server " ] || fail "zsh: $(zsh_lists _ag_box_nodes)"
    [ "$(zsh_lists _ag_box_listed restore first)" = "$newer $older fork:server-3 fork:server-4-aa " ] ||
        fail "zsh: $(zsh_lists _ag_box_listed restore first)"
    [ "$(zsh_lists "_ag_box_listed fork" drop first)" = "fork:server-3 fork:server-4-aa " ] || fail "zsh: no forks"
    [ -z "$(zsh_lists _ag_box_listed restore second | tr -d ' ')" ] || fail "zsh: of another box"
    for value in "NODE: _ag_box_nodes'" "ID: _ag_box_listed'" "ID: _ag_box_listed fork'"; do
        grep -qF -- ":$value" "$WORK/zsh" || fail "zsh: no option has $value"
    done
fi
[ -z "$(find "$WORK" -name pwned)" ] || fail "completion has run what stands in a file"
[ -z "$(offers up x)" ] || fail "something is offered for a box that is not there"
