# SPDX-License-Identifier: MIT
# boxinit as PID 1, without a keeper: programs, terminals, detached ones, hostile clients, tmux, the end.
# lane: cpu
# limit: 300
. "$TESTS/lib.sh"

python3 "$TESTS/boxinit.py" "$BUILD/sandbox/boxinit" "$WORK"
