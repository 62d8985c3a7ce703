# SPDX-License-Identifier: MIT
# While a commit of an earlier park may still land, a park that finds a writer leaves the box parked half: what would be
# written after that commit could not be told from what it holds.
. "$TESTS/lib.sh"

store file
node a
needs_crash_points
project="$WORK/project"; mkdir "$project"; echo first >"$project/file"
lazy_box a demo "$project"
on a sh -c "echo second >'$project/file'"
expect_exit 137 on a env AGBOX_CRASH_AT=park:put-head.before ag-box park demo
expect_state a demo parking

mkfifo "$WORK/go" "$WORK/ready"
on a env LIBMOUNT_FORCE_MOUNT2=always mount -o remount,rw "$WORK/node/a/run/demo/tree"
on a sh -c "exec 9>>'$project/file'; echo >'$WORK/ready'; read x <'$WORK/go'" &
read -r x <"$WORK/ready" || true
expect_exit 8 on a ag-box park demo
expect_error "$project/file"
expect_state a demo parking
echo >"$WORK/go"; wait

on a ag-box up demo # no commit of that park can land any more
expect_state a demo mounted
on a sh -c "echo third >'$project/file'"
on a ag-box park demo
on a ag-box up demo
expect_file "$project/file" third
on a ag-box park demo
