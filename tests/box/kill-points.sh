# SPDX-License-Identifier: MIT
# A command that dies at any of its steps loses nothing: gone on with here, or taken over from there. A few steps of
# each command; kill-points-all.sh has all of them.
# limit: 600
. "$TESTS/lib.sh"

COUNT=${COUNT-2}
. "$TESTS/kill-points.sh"
prepare_cases
try_case track track demo "$project"
try_case full snapshot demo
try_case full park demo
try_case up up demo
try_case lazy snapshot demo
try_case lazy park demo
try_case prune prune demo
