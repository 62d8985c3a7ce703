# SPDX-License-Identifier: MIT
# Long commands show bytes, files, rate and what remains on a terminal, and nothing of it elsewhere or with --json.
. "$TESTS/lib.sh"

store fault
node a
node b
project="$WORK/project"; mkdir "$project"
for n in 1 2 3 4 5 6; do head -c 8000000 /dev/urandom >"$project/$n"; done

# on_terminal NODE COMMAND...: with a terminal as its output, which goes to $WORK/terminal, one line a redraw.
on_terminal() {
    local node=$1
    shift
    on "$node" script --quiet --return --command "$*" "$WORK/typescript" </dev/null >/dev/null
    tr '\r' '\n' <"$WORK/typescript" >"$WORK/terminal"
}
shows() {
    grep -qE -- "$1" "$WORK/terminal" || fail "no progress like '$1': $(head -c 3000 "$WORK/terminal" | cat -v)"
}
quiet() { # quiet NODE COMMAND...
    local node=$1
    shift
    expect_exit 0 on "$node" "$@"
    ! grep -qE '/s|left' "$WORK/output" "$WORK/error" || fail "progress without a terminal: $*"
    ! grep -q $'\r' "$WORK/output" "$WORK/error" || fail "control characters without a terminal: $*"
}

fault bandwidth 100M # slow enough to be seen
on_terminal a ag-box track demo "$project"
shows 'reading  [0-9.]+[KM] / [0-9.]+M  [0-9]+ files  [0-9.]+[KM]?/s'
shows '[0-9]+:[0-9][0-9] left'
on a sh -c "head -c 30000000 /dev/urandom >'$project/7'"
on_terminal a ag-box park demo
shows 'reading  [0-9.]+[KM] / [0-9.]+M'
on b ag-box up demo
on_terminal b ag-box hydrate demo
shows 'fetching  [0-9.]+[KM]? / [0-9.]+M  [0-9.]+[KM]?/s'
on_terminal b ag-box restore demo "$WORK/out"
shows 'writing  [0-9.]+[KM]? / [0-9.]+M  [0-9]+ files  [0-9.]+[KM]?/s'
on b ag-box park demo

quiet a ag-box up demo
quiet a ag-box hydrate demo
on a sh -c "head -c 10000000 /dev/urandom >'$project/8'"
quiet a ag-box snapshot demo
quiet a ag-box restore demo "$WORK/out2"
quiet a ag-box park demo
on_terminal a ag-box restore --json demo "$WORK/out3"
! grep -qE '/s|left' "$WORK/terminal" || fail "progress with --json"
