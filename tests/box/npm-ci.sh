# SPDX-License-Identifier: MIT
# level: full
# lane: cpu
# limit: 900
# `npm ci` of more than 300 packages runs inside the mount, and what it made survives park and up.
. "$TESTS/lib.sh"

command -v npm >/dev/null || skip "no npm here"
store file
node a
node b
project="$WORK/project"
mkdir "$project"
cp "$TESTS/../contrib/bench.d/package.json" "$TESTS/../contrib/bench.d/package-lock.json" "$project"
on a ag-box track demo "$project"
on a ag-box park demo

on b ag-box up demo
on b sh -c "cd '$project' && npm ci --ignore-scripts --no-audit --no-fund" || skip "the registry cannot be reached"
packages=$(on b find "$project/node_modules" -name package.json -path '*node_modules*' | wc -l)
[ "$packages" -ge 300 ] || fail "only $packages packages"
copy_tree "$project" "$WORK/model"
on b ag-box park demo

on a ag-box up demo
expect_same_tree "$project" "$WORK/model"
on a sh -c "cd '$project' && npm ls --all >/dev/null"
on a ag-box park demo
