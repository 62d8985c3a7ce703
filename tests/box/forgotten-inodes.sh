# SPDX-License-Identifier: MIT
# Once the kernel has forgotten a file that was written since `up`, the overlay shows another inode number for it. That is no
# change: the next snapshot sends nothing, and neither does park.
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"; make_project "$project"
on a ag-box track demo "$project"
on a ag-box park demo
on a ag-box up demo
on a sh -c "echo more >>'$project/file'; chmod 700 '$project/README.md'; echo new >'$project/new'"
on a ag-box snapshot demo
before=$(on a stat -c %i "$project/file")
drop_caches
[ "$before" != "$(on a stat -c %i "$project/file")" ] || echo "this kernel kept the number"
expect_exit 0 on a ag-box snapshot demo
expect_output "nothing has changed"
expect_exit 0 on a ag-box park demo
expect_output "nothing had changed"
