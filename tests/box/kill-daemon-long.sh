# SPDX-License-Identifier: MIT
# kill-daemon.sh with 300 kills.
# level: full
# limit: 1800
KILLS=300
. "$TESTS/box/kill-daemon.sh"
