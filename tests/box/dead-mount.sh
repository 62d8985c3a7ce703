# SPDX-License-Identifier: MIT
# Supervisor and daemon are both gone: what is still mounted answers nothing, and `up` puts a living one in its place.
# Fails if the look at mountinfo alone decides: then the box counts as up.
. "$TESTS/lib.sh"

store file
node a
project="$WORK/project"; mkdir "$project"; echo first >"$project/file"
lazy_box a demo "$project"
on a sh -c "echo written >'$project/written'"

on a ag-box status --json demo >"$WORK/status"
supervisor=$(json_field "$WORK/status" supervisor_pid) daemon=$(json_field "$WORK/status" daemon_pid)
kill -KILL "$supervisor" "$daemon"
while on a cat "$project/file" >/dev/null 2>&1; do sleep 0.01; done # until the kernel has noticed
expect_exit 0 on a ag-box up demo
expect_output "up again"
expect_file "$project/file" first
expect_file "$project/written" written
on a ag-box park demo

# A daemon that does not go on hinders no look at how things stand.
on a ag-box up demo
daemon=$(on a ag-box status --json demo | jq .daemon_pid)
kill -STOP "$daemon"
code=0; on a timeout --signal=KILL 30 ag-box status --json demo >"$WORK/status" 2>"$WORK/said" || code=$?
kill -CONT "$daemon"
[ "$code" = 0 ] || fail "status waits for a daemon that is stopped"
[ "$(json_field "$WORK/status" state)" = mounted ]
[ "$(jq -c '[.daemon_silent, .daemon_pid, .lease]' "$WORK/status")" = "[true,$daemon,\"unverified\"]" ] || fail "$(cat "$WORK/status")"
grep -q "no answer from the daemon of demo, pid $daemon, which is stopped: kill -CONT $daemon" "$WORK/said" || fail "it is not said who is silent"
on a ag-box park demo
