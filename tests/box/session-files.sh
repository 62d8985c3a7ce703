# SPDX-License-Identifier: MIT
# What a session touched first is known to the next one, though the daemon died on the way; before it come the big files
# that the session wrote, since the first write to them will copy them whole (rule O8).
. "$TESTS/lib.sh"

store file
node a BOX_HYDRATE=off
project="$WORK/project"; mkdir -p "$project/a" "$project/z"
for f in a/one a/two a/three; do echo "$f" >"$project/$f"; done
head -c 1500000 /dev/urandom >"$project/z/database"
head -c 1500000 /dev/urandom >"$project/z/untouched"
lazy_box a demo "$project"
on a cat "$project/a/two"
on a ag-box status --json demo >"$WORK/status"
kill -KILL "$(json_field "$WORK/status" daemon_pid)"
on a cat "$project/a/one" # the next daemon's
on a sh -c "echo more >>'$project/z/database'; head -c 2M /dev/urandom >'$project/z/log'; echo small >'$project/a/new'"
on a ag-box park demo

for pack in $(find "$WORK/store/box/demo/pack" -type f); do
    on a ag-box debug dump "$pack" | jq -r '.frames[]? | select(.kind == "access") | .paths[].path'
done >"$WORK/list"
cat "$WORK/list"
[ "$(tr '\n' ' ' <"$WORK/list")" = "project/z/database project/z/log project/a/two project/a/one " ] || fail "the list is another one"
