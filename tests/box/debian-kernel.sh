# SPDX-License-Identifier: MIT
# Debian 12's own kernel does what the host's does: every unit test that touches overlay or FUSE, and a main job.
# lane: cpu
# limit: 1000
# tells: last-line
. "$TESTS/lib.sh"

code=0
"$TESTS/kernel/run" --build "$BUILD" --work "$WORK" --limit 900 || code=$?
exit "$code"
