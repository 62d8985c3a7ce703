# SPDX-License-Identifier: MIT
# An `up` that cannot show the tree at the last moment keeps it: excluded files, which lie nowhere else, are not lost.
. "$TESTS/lib.sh"

store fault
node a
project="$WORK/project"; make_project "$project" --secret
on a ag-box track demo "$project"
on a ag-box park demo
chattr -i "$project"
rmdir "$project"

# The directory above can be written when the lease is taken, and cannot any more when the tree is to be shown.
mkdir "$WORK/moved"
on a ag-box set demo path="$WORK/moved/project"
fault reset
fault rtt 1000
on a ag-box up demo & up=$!
fault await --op PUT --key box/demo/head --timeout 60
chattr +i "$WORK/moved"
code=0; wait "$up" || code=$?
[ "$code" = 1 ] || fail "exit $code, not 1"
fault rtt 0
chattr -i "$WORK/moved"
on a ag-box up demo
expect_file "$WORK/moved/project/.auth-secret" token
on a ag-box park demo
