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
mkdir -p "$AGBOX_STATE_DIR/box/first" "$AGBOX_STATE_DIR/box/second" "$WORK/directory"
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
offered directory track d
[ -z "$(offers up x)" ] || fail "something is offered for a box that is not there"
