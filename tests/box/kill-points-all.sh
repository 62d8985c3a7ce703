# SPDX-License-Identifier: MIT
# kill-points.sh with all the steps of each command.
# level: full
# limit: 7200
COUNT=
. "$TESTS/box/kill-points.sh"
