# SPDX-License-Identifier: MIT
# However many live snapshots a session makes, each can be read, and so can the park's. A snapshot object names at most
# 64 packs of metadata: without that bound in sync/save nobody could read the last of these.
# level: full
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/project"; mkdir "$project"; echo first >"$project/file"

lazy_box a demo "$project"
for i in {1..68}; do
    on a sh -c "mkdir '$project/directory $i'; cd '$project/directory $i'; seq 200 | xargs touch"
    on a ag-box snapshot demo >/dev/null
done
expect_exit 0 on a ag-box restore demo "$WORK/live"
expect_same_tree "$WORK/live" "$project"
on a ag-box park demo
on b ag-box up demo
expect_file "$project/file" first
on b ag-box park demo
