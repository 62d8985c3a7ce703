# SPDX-License-Identifier: MIT
# What a park leaves at the project's path goes with the box, and with a new path; what is somebody else's there stays.
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"; mkdir "$project"; echo first >"$project/file"
on a ag-box track demo "$project"
on a ag-box park demo
[ "$(stat -c %a "$project")" = 0 ] || fail "people may work in a parked project"


on a ag-box set demo "path=$WORK/moved"
expect_missing "$project"
on a ag-box up demo
expect_file "$WORK/moved/file" first
on a ag-box park demo
[ -d "$WORK/moved" ] || fail "nothing keeps people out"
on a ag-box drop demo --yes
expect_missing "$WORK/moved"

# An empty directory of the user's own has another mode.
mkdir "$WORK/second"; echo second >"$WORK/second/file"
on a ag-box track second "$WORK/second"
on a ag-box park second
chattr -i "$WORK/second" || true
chmod 755 "$WORK/second"
on a ag-box drop second --yes
[ -d "$WORK/second" ] || fail "a user's directory is gone"
