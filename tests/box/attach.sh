# SPDX-License-Identifier: MIT
# attach at a real terminal: starts the box, size, detach and again, in another tmux, signals, kill -9, the end of tmux, and
# never the host's terminal in the box.
# lane: cpu
# limit: 240
BOXES=yes
. "$TESTS/lib.sh"

store file
node a
mkdir "$WORK/demo"
echo "from the store" >"$WORK/demo/file"
on a ag-box track demo "$WORK/demo"
on a python3 "$TESTS/attach.py" demo test_starts_and_detaches # in its plain directory
on a ag-box park demo
on a ag-box up demo
on a python3 "$TESTS/attach.py" demo
on a ag-box park demo
on a ag-box up demo --no-start
on a python3 "$TESTS/attach.py" demo test_starts_and_detaches
on a ag-box park demo

# tmux is upgraded below its server, whose language the new one does not speak: the server's own does.
tmux=$(command -v tmux)
[ "${tmux#/usr/}" != "$tmux" ] || fail "$tmux is not below /usr"
mkdir "$WORK/own" "$WORK/work"
on a mount -t overlay -o "lowerdir=/usr,upperdir=$WORK/own,workdir=$WORK/work" none /usr
on a ag-box up demo
printf '#!/bin/sh\necho "open terminal failed: not a terminal" >&2\nexit 1\n' >"$WORK/new"
chmod +x "$WORK/new"
on a sh -c "cp '$WORK/new' '$tmux.new' && mv '$tmux.new' '$tmux'"
expect_exit 1 on a ag-box exec demo -- tmux -S /run/box/demo/tmux.sock list-clients
on a python3 "$TESTS/attach.py" demo test_starts_and_detaches
on a ag-box park demo
on a umount -l /usr
expect_exit 4 on a script -qec "ag-box attach demo" /dev/null
expect_output "hint: ag-box up demo"
