# SPDX-License-Identifier: MIT
# A box at its limits of memory and of processes: complaints 41, 43 and 44 about other sandboxes (contrib/SPEC.md). systemd's
# own properties are unit/test-unit's.
# lane: cpu
# limit: 180
BOXES=yes
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"
mkdir "$project"
on a ag-box track demo "$project"
on a ag-box park demo
on a ag-box up --no-start demo

# Control groups of this scenario, in either version's hierarchy.
groups=()
limit() { # CONTROLLER V1-FILE V2-FILE VALUE
    local name="agbox-limits-$(stat -Lc %i /proc/self/ns/pid)" dir file
    for dir in "/sys/fs/cgroup/$1/$name" "/sys/fs/cgroup/$name"; do
        [ -d "$dir" ] || mkdir "$dir" 2>/dev/null || continue
        [[ " ${groups[*]} " == *" $dir "* ]] || { groups+=("$dir"); _at_exit+=("rmdir '$dir'"); }
        for file in "$2" "$3"; do
            [ ! -e "$dir/$file" ] || { echo "$4" >"$dir/$file"; return 0; }
        done
    done
    skip "no control group of $1 can be made here"
}
limit memory memory.limit_in_bytes memory.max 256M
for file in "${groups[0]}/memory.memsw.limit_in_bytes:256M" "${groups[0]}/memory.swap.max:0"; do
    [ ! -e "${file%:*}" ] || echo "${file##*:}" >"${file%:*}"
done
limit pids pids.max pids.max 150

on a sh -c 'for group in "$@"; do echo 0 >"$group/cgroup.procs" || exit; done; exec ag-box up demo' sh "${groups[@]}"
inside() { on a ag-box exec demo -- "$@"; }
keeper() { on a ag-box status --json demo >"$WORK/status"; json_field "$WORK/status" box_pid; }
server() { inside tmux -S /run/box/demo/tmux.sock display-message -p '#{pid} #{pane_pid}'; }
first="$(keeper) $(server)"
mkfifo "$WORK/words"
inside cat <"$WORK/words" >"$WORK/heard" &
neighbour=$!
exec 8>"$WORK/words"
on a ag-box exec demo -d -- sleep 600 >/dev/null

# 41: one process that takes too much is ended, and nothing else: neither tmux with its shells, nor who is attached.
for i in 1 2 3; do
    expect_exit 137 inside python3 -c 'x = bytearray(700 << 20); print(len(x))'
    [ ! -s "$WORK/output" ] || fail "it had its memory: there is no limit"
done
[ "$(keeper) $(server)" = "$first" ] || fail "not the same box: $(keeper) $(server), before $first"
echo "goes on" >&8
exec 8>&-
wait "$neighbour"
expect_file "$WORK/heard" "goes on"
[ "$(inside pgrep -c -x sleep)" = 1 ] || fail "a neighbour was ended"

# 43, 44: orphans are reaped, far more than there may be processes, and how a command ended is not lost among them. Each
# twenty are waited for: they may come faster than they are reaped.
orphans() { # NUMBER
    inside sh -ec 'i=0; while [ $i -lt "$1" ] && [ ! -e /tmp/enough ]; do
        (true &)
        i=$((i + 1)) looked=0
        while [ $((i % 20)) = 0 ] && [ "$(ls /proc | grep -c "^[0-9]")" -gt 60 ]; do
            looked=$((looked + 1))
            [ $looked -lt 1000 ] || { ps -e; exit 1; }
        done
    done' sh "$1"
}
orphans 2000
orphans 1000000 &
orphans=$!
for code in 0 1 7 255; do
    expect_exit "$code" inside sh -c "exit $code"
done
inside touch /tmp/enough
wait "$orphans"
for i in 1 2 3 4 5; do
    zombies=$(inside sh -c 'grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null || true')
    [ -n "$zombies" ] || break # each is one for a moment
done
[ -z "$zombies" ] || fail "zombies: $zombies"

# A box that is full of processes says so, and can be parked.
on a ag-box exec demo -d -- python3 -c 'import os, time
try:
    while os.fork():
        pass
except BlockingIOError:
    pass
time.sleep(600)' >/dev/null
until ! inside true; do :; done 2>/dev/null
expect_exit 125 inside true
expect_error "Resource temporarily unavailable"
[ "$(keeper)" = "${first%% *}" ] || fail "the box has not survived that"
on a ag-box park demo
