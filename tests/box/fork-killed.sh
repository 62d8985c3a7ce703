# SPDX-License-Identifier: MIT
# A command that dies while it makes a fork leaves one fork in the end, with all of the work; also where the fork's object
# was never put, or was dropped and its snapshot is gone.
# limit: 240
. "$TESTS/lib.sh"

store file
node a
node b
needs_crash_points
mkdir "$WORK/plain" "$WORK/plain-of-b"
on b mount --bind "$WORK/plain-of-b" "$WORK/plain" # a plain directory is in every namespace
project="$WORK/plain/project"; mkdir "$project"; echo first >"$project/file"
on a ag-box track demo "$project"
on a ag-box park demo

forks() {
    on b ag-box ls --snapshots demo --json | jq -r '.forks[].id'
}
take_over() { # a's work is b's no more
    on a ag-box up demo
    echo "$1" | on a tee "$project/file" >/dev/null
    on b ag-box up demo --force
    echo "$1" | on b tee "$project/theirs" >/dev/null
    on b ag-box park demo
}
one_of() { # one_of CODES COMMAND...
    local code=0 codes=$1
    shift
    "$@" || code=$?
    [[ " $codes " = *" $code "* ]] || fail "exit $code, not one of $codes: $*"
}
one_fork() { # one_fork CONTENT
    local fork
    fork=$(forks)
    [ "$(wc -w <<<"$fork")" = 1 ] || fail "one fork was expected: $fork"
    rm -rf "$WORK/restored"
    on b ag-box restore demo --snapshot "$fork" "$WORK/restored"
    expect_file "$WORK/restored/file" "$1"
    on b ag-box drop demo --yes --fork "$fork"
}

for step in put-snap.after put-fork.before put-fork.after list-packs.after remove-fork.before; do
    for more in "" " and more"; do
        take_over "$step"
        expect_exit 3 on a ag-box snapshot demo # fenced, with a fork: what comes now replaces it
        echo "$step later" | on a tee "$project/file" >/dev/null
        one_of "3 137" on a env AGBOX_CRASH_AT=park:$step ag-box park demo
        [ -z "$more" ] || on a ag-box up demo
        one_of "0 3" on a ag-box park demo
        one_fork "$step later"
    done
done

# The same of a live snapshot: its fork is there after the next one, though nothing has changed since.
take_over live
expect_exit 137 on a env AGBOX_CRASH_AT=snapshot:put-fork.before ag-box snapshot demo
[ -z "$(forks)" ] || fail "a fork was put"
expect_exit 3 on a ag-box snapshot demo
[ -n "$(forks)" ] || fail "the work is kept nowhere"
for i in 1 2; do # and of work that went on after two that were not put
    echo "live $i" | on a tee "$project/file" >/dev/null
    expect_exit 137 on a env AGBOX_CRASH_AT=snapshot:put-fork.before ag-box snapshot demo
done
echo newest | on a tee "$project/file" >/dev/null
expect_exit 3 on a ag-box park demo
one_fork newest

# Nor does the cleaning that follows make another one, of what is left of the tree by then.
on a ag-box up demo
on a ag-box set demo 'exclude+=*.log'
on a mkdir "$project/directory"
on a ag-box park demo
for way in "" --full; do
    for step in stash-move.after unmount-tree.before upper-removing.after journal.before; do
        on a ag-box up $way demo
        echo log | on a tee "$project/directory/log.log" >/dev/null
        echo "$step" | on a tee "$project/file" >/dev/null
        want=$(on a ag-box digest --exclude '*.log' "$project")
        on b ag-box up demo --force
        echo "$step" | on b tee "$project/theirs" >/dev/null
        on b ag-box park demo
        one_of "3 137" on a env AGBOX_CRASH_AT=park:$step ag-box park demo
        one_of "0 3" on a ag-box park demo
        one_fork "$step"
        got=$(on a ag-box digest "$WORK/restored")
        [ "$got" = "$want" ] || fail "$way $step: the fork is another tree than the work was"
        [ -z "$(ls -d "$WORK/node/a/state/box/demo"/upper-* 2>/dev/null)" ] || fail "an upper is still there"
        on a ag-box up demo
        expect_file "$project/directory/log.log" log
        on a rm "$project/directory/log.log"
        on a ag-box park demo
    done
done

# A fork that is made the line again, by a command that dies and is run once more.
take_over line
expect_exit 3 on a ag-box park demo
fork=$(forks)
for step in put-head.after put-snap.after put-head.before store-file.written mount-tree.before; do
    one_of "0 137" on b env AGBOX_CRASH_AT=up:$step ag-box up demo --from "$fork"
    [ "$(on b ag-box status --json demo | jq -r .state)" = mounted ] || on b ag-box up demo --from "$fork"
    [ "$(on b cat "$project/file")" = line ] || fail "$step: $(on b cat "$project/file")"
    on b ag-box park demo
done
on b umount "$WORK/plain"
