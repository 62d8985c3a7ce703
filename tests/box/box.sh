# SPDX-License-Identifier: MIT
# up starts the box and park stops it; whatever takes the tree away stops it first, and what refuses leaves it running.
# lane: wait
# limit: 240
BOXES=yes
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"
make_project "$project"

box_is() {
    on "$1" ag-box status --json "$2" >"$WORK/status"
    [ "$(json_field "$WORK/status" box)" = "$3" ] || fail "$2 is $(json_field "$WORK/status" box) on $1, expected $3"
}

keeper() {
    on a ag-box status --json demo >"$WORK/status"
    json_field "$WORK/status" box_pid
}

on a ag-box track demo "$project"
box_is a demo stopped # a tracked directory is in use as it is
on a ag-box park demo

on a ag-box up --no-start demo
box_is a demo stopped
on a ag-box up demo # up already: the box alone is started
box_is a demo running
expect_exit 0 on a ag-box up demo
expect_output "up here already"
first=$(keeper)

# outside COMMAND...: a process that has done this and stays.
outside() {
    on a sh -c "$1; echo \$\$ >'$WORK/outside.new'; mv '$WORK/outside.new' '$WORK/outside'; exec sleep 600" &
    while [ ! -e "$WORK/outside" ]; do sleep 0.01; done
}

end_outside() {
    kill "$(cat "$WORK/outside")"
    rm "$WORK/outside"
    wait
}

# A writer outside: the box is not even stopped.
outside "exec 3>>'$project/file'"
expect_exit 8 on a ag-box park demo
expect_error "sleep writes"
box_is a demo running
[ "$(keeper)" = "$first" ] || fail "the box was started anew for a refused park"
end_outside

# Open and deleted is seen only by the kernel, once the box is stopped: then it is started again.
on a sh -c "echo >'$project/gone'"
outside "exec 3<'$project/gone'; rm '$project/gone'"
expect_exit 8 on a ag-box park demo
box_is a demo running
expect_state a demo mounted
[ "$(keeper)" != "$first" ] || fail "the box was not stopped"
end_outside

# What is to be hidden from the box goes before it is: the keeper looks once more.
home="$WORK/node/a/home"
mkdir -p "$home/.local/share" "$WORK/vanish"
mkfifo "$home/.local/share/pipe"
printf '#!/bin/sh\nrm -f "%s"\nexec %s "$@"\n' "$home/.local/share/pipe" "$(command -v bwrap)" >"$WORK/vanish/bwrap"
chmod 755 "$WORK/vanish/bwrap"
on a ag-box park demo
on a env PATH="$WORK/vanish:$PATH" ag-box up demo
expect_missing "$home/.local/share/pipe"
box_is a demo running

# The keeper's death is the box's; the next up starts it.
pid=$(keeper)
kill -KILL "$pid"
while [ -e "/proc/$pid" ]; do sleep 0.01; done
box_is a demo stopped
on a ag-box up demo
box_is a demo running

# Who comes while it ends waits for that, and starts it again.
on a ag-box exec demo -d -- sh -c 'trap "sleep 2; exit" TERM; while :; do sleep 0.1; done' >/dev/null
first=$(keeper)
kill "$first"
expect_exit 0 on a ag-box exec demo -- true
second=$(keeper)
[ "$second" != "$first" ] || fail "it ran in a box that ends"
on a ag-box exec demo -d -- sh -c 'trap "sleep 2; exit" TERM; while :; do sleep 0.1; done' >/dev/null
kill "$second"
expect_exit 0 on a ag-box up demo
[ "$(keeper)" != "$second" ] || fail "a box that ends is taken for one that runs"

# A park that waits for that says so.
on a ag-box exec demo -d -- sh -c 'trap "sleep 4; exit" TERM; while :; do sleep 0.1; done' >/dev/null
expect_exit 0 on a ag-box park demo
expect_error "waiting for what runs in demo to end"
box_is a demo stopped
expect_clean a

# After a reboot the box is started with the tree; bwrap missing is said before anything is done.
on a ag-box up demo
reboot a
expect_state a demo dirty-unmounted
mkdir "$WORK/bin"
for tool in env sh ag-box; do ln -s "$(command -v $tool)" "$WORK/bin/$tool"; done
expect_exit 2 on a env PATH="$WORK/bin" ag-box up demo
expect_error "bubblewrap"
expect_state a demo dirty-unmounted
on a ag-box up demo
box_is a demo running
on a ag-box park demo

# Killed around the start and the stop: the next command goes on.
needs_crash_points
for step in box-start.before box-start.after; do
    expect_exit 137 on a env AGBOX_CRASH_AT=up:$step ag-box up demo
    expect_exit 0 on a ag-box up demo
    box_is a demo running
    expect_exit 0 on a ag-box park demo
    expect_clean a
done
for step in box-stop.before box-stop.after; do
    on a ag-box up demo
    expect_exit 137 on a env AGBOX_CRASH_AT=park:$step ag-box park demo
    expect_state a demo parking
    expect_exit 0 on a ag-box up demo
    box_is a demo running
    expect_exit 137 on a env AGBOX_CRASH_AT=park:$step ag-box park demo
    expect_exit 0 on a ag-box park demo
    expect_clean a
done

# The same of a plain directory: a writer outside, and one that cannot be moved aside.
on a ag-box up --full demo
first=$(keeper)
outside "exec 3>>'$project/file'"
expect_exit 8 on a ag-box park demo
expect_error "sleep writes"
[ "$(keeper)" = "$first" ] || fail "the box was started anew for a refused park"
end_outside
on a mount --bind "$project" "$project"
expect_exit 1 on a ag-box park demo
expect_error "move $project aside"
on a umount "$project"
expect_state a demo full-held
box_is a demo running
on a ag-box park demo
box_is a demo stopped

# Rule P1: what fills packs is sent before the box is stopped; a little goes with the rest, once it is.
needs_crash_points
for way in "" --full; do
    on a ag-box up $way demo
    on a sh -c "echo little >'$project/little'"
    expect_exit 137 on a env AGBOX_CRASH_AT=park:put-pack.before ag-box park demo
    box_is a demo stopped
    on a ag-box up demo
    on a sh -c "head -c 20000000 /dev/urandom >'$project/large'"
    first=$(keeper)
    expect_exit 137 on a env AGBOX_CRASH_AT=park:put-pack.before ag-box park demo
    box_is a demo running
    expect_exit 137 on a env AGBOX_CRASH_AT=park:put-pack.after ag-box park demo
    [ "$(keeper)" = "$first" ] || fail "the box was stopped before what it wrote was sent"
    want=$(on a sha256sum "$project/large")
    on a ag-box park demo
    on a ag-box up $way demo
    [ "$(on a sha256sum "$project/large")" = "$want" ] || fail "the file is another one"
    on a rm "$project/large"
    on a ag-box park demo
done
