# SPDX-License-Identifier: MIT
# kill-daemon.sh with 300 kills.
# level: full
# limit: 3600
KILLS=300
. "$TESTS/box/kill-daemon.sh"
