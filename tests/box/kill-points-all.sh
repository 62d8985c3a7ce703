# SPDX-License-Identifier: MIT
# kill-points.sh with all the steps of each command, and of those that meet what another command or node left. Together
# they try each step that the build has, but those of other commands, of `up --full` and of the box itself (crash-full.sh,
# drop.sh, mount.sh, globals-killed.sh, box.sh).
# level: full
# limit: 10800
COUNT=
. "$TESTS/box/kill-points.sh"
try_case lost park demo
load_case fork
fork=$(forks)
try_case fork up demo --from "fork:${fork%-*}"
ONLY_NEW=yes
try_case lost up demo
try_case cold up demo
try_case condemn prune demo --keep-hourly 1 --keep-daily 1
try_case frozen up demo
try_case moved up demo
expect_all_tried aside- fill- visit- drop- globals- mirror- box- list-names get-hold 'remove-(head|fork|config)' put-config stat- '[a-z]*-other'
