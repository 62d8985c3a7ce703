# SPDX-License-Identifier: MIT
# All processes and mounts gone (a reboot): the dirty upper comes back over its own base, whole, and nothing is lost.
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; make_project "$project"
lazy_box a demo "$project"
on a sh -c "echo before >'$project/before'; mv '$project/deep' '$project/renamed'" # empty over any other base
on a ag-box snapshot demo
on a sh -c "echo after >'$project/after'; mv '$project/renamed' '$project/moved'; chmod 700 '$project/file'"
copy_tree "$project" "$WORK/model"

reboot a
expect_missing "$project/after"
on a ag-box up demo
expect_same_tree "$project" "$WORK/model"
on a ag-box park demo
on b ag-box up demo
expect_same_tree "$project" "$WORK/model"
on b ag-box park demo
