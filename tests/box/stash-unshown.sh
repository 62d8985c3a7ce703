# SPDX-License-Identifier: MIT
# An `up` that cannot show the tree at the last moment keeps it: excluded files, which lie nowhere else, are not lost.
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"; make_project "$project" --secret
on a ag-box track demo "$project"
on a ag-box park demo
chattr -i "$project"
rmdir "$project"

# The directory above cannot be written when the tree is to be shown; it can when the lease is taken.
mkdir "$WORK/moved"
on a ag-box set demo path="$WORK/moved/project"
chattr +i "$WORK/moved"
expect_exit 1 on a ag-box up demo
chattr -i "$WORK/moved"
on a ag-box up demo
expect_file "$WORK/moved/project/.auth-secret" token
on a ag-box park demo
