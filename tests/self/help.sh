# SPDX-License-Identifier: MIT
# --help of every command says its usage and each of its options, on stdout, with exit 0, in lines that fit a terminal.
# lane: cpu
. "$TESTS/lib.sh"

fits() { # of $WORK/output
    ! grep -nE '^.{111,}' "$WORK/output" || fail "$1: lines of over 110 columns"
}
expect_exit 0 ag-box --help
[ ! -s "$WORK/error" ] || fail "the overview says something on stderr"
fits overview
commands=$(sed -n 's/^  \([a-z-]*\) .*/\1/p' "$WORK/output")
[ "$(wc -w <<<"$commands")" -ge 10 ] || fail "too few commands in the overview: $commands"

for command in $commands debug boxfs boxfs-serve; do
    expect_exit 0 ag-box "$command" --help
    [ ! -s "$WORK/error" ] || fail "$command --help says something on stderr"
    fits "$command"
    expect_output "usage: ag-box $command"
    expect_output "--json"
    # What help shows as options is what the parser takes: each is known to it, so the complaint is about something else.
    for option in $(sed -n 's/^  --\([a-z-]*\).*/\1/p' "$WORK/output"); do
        said=$(ag-box "$command" "--$option=1" --no-such-option 2>&1 || true)
        case $said in
        *"unknown option --$option"*) [ "$said" = "${said#*unknown option --"$option"=}" ] && fail "$command: $said" ;;
        esac
        [ "$said" = "${said#*is not a number}" ] || fail "$command --$option=1: $said"
    done
    expected=2
    [ "$command" != exec ] || expected=125 # what is not the program's own
    expect_exit "$expected" ag-box "$command" --no-such-option
    expect_error "unknown option --no-such-option"
    expect_error "hint: ag-box $command --help"
done

expect_exit 0 ag-box help up
expect_output "usage: ag-box up"
expect_exit 2 ag-box
expect_exit 2 ag-box no-such-command
expect_error "unknown command"
expect_exit 0 ag-box --version
