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
expect_exit 4 on a script -qec "ag-box attach demo" /dev/null
expect_output "hint: ag-box up demo"
