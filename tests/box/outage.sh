# SPDX-License-Identifier: MIT
# The store goes away and comes back. What is here works on; a read of what is not here waits, can be killed, is shown,
# and goes on; a park says what state it left, and the tree is still usable; nothing is lost.
. "$TESTS/lib.sh"

store fault
node a
node b BOX_HYDRATE=off
project="$WORK/project"; make_project "$project"
mkdir "$project/x" "$project/y" "$project/z"
head -c 300000 /dev/urandom >"$project/x/cached"
head -c 300000 /dev/urandom >"$project/y/absent"
head -c 300000 /dev/urandom >"$project/z/absent-too"
cp "$project/y/absent" "$project/x/cached" "$WORK"
on a ag-box track demo "$project"
on a ag-box park demo
on b ag-box up demo
on b cmp "$project/x/cached" "$WORK/cached"
on b ls -lR "$project" >"$WORK/list"

waiting() {
    on b ag-box status --json demo >"$WORK/status.json" 2>"$WORK/error"
    json_field "$WORK/status.json" waiting_reads
}
until_waiting() { # N
    local i
    for ((i = 0; i < 100; i++)); do
        [ "$(waiting)" != "$1" ] || return 0
        sleep 0.05 # a count is asked for; nobody can be told of it
    done
    fail "$(waiting) reads wait, expected $1"
}

fault drop-request
on b cmp "$project/x/cached" "$WORK/cached"
on b sh -c "ls -lR '$project' && echo 'during the outage' >'$project/file'" >"$WORK/list"
on b cat "$project/y/absent" >"$WORK/first" &
reader=$!
on b cat "$project/z/absent-too" >"$WORK/second" 2>"$WORK/killed" &
second=$!
until_waiting 2
for pid in $(_processes_of b); do
    ! grep -qz absent-too "/proc/$pid/cmdline" || kill -KILL "$pid"
done
wait $second && fail "a killed read succeeded"
until_waiting 1 # the killed one is no reader any more
expect_exit 0 on b ag-box up demo # nothing to do

expect_exit 5 on b ag-box park demo
expect_exit 0 on b ag-box up demo
expect_file "$project/file" "during the outage"
on b sh -c "echo 'after the park' >'$project/file'"
expect_exit 5 on a ag-box up demo

fault clear
on b cmp "$project/y/absent" "$WORK/absent"
until_waiting 0
wait $reader
cmp "$WORK/first" "$WORK/absent"
on b ag-box park demo

# The same when the head cannot be asked what became of the commit: in doubt, and found later.
on b ag-box up demo
on b sh -c "echo 'in doubt' >'$project/file'"
fault drop-response --op PUT --key box/demo/head --times 1
fault drop-request --op GET --key box/demo/head --skip 1
expect_exit 6 on b ag-box park demo
expect_exit 6 on b ag-box up demo
fault clear
on a ag-box up demo
expect_file "$project/file" "in doubt"
expect_exit 0 on b ag-box park demo
expect_state b demo none
on a ag-box park demo

# Not sent at all, and the store back: the same, or called off by up.
on a ag-box up demo
on a sh -c "echo 'called off' >'$project/file'"
fault drop-request --op PUT --key box/demo/head --times 1
fault drop-request --op GET --key box/demo/head --skip 1
expect_exit 6 on a ag-box park demo
fault clear
expect_exit 0 on a ag-box up demo
expect_file "$project/file" "called off"
on a sh -c "echo 'and on' >'$project/file'"
on a ag-box park demo
on b ag-box up demo
expect_file "$project/file" "and on"
on b ag-box park demo

# A store that takes a request and does not answer is named long before it is given up.
fault stall 600000 --op GET --key box/demo/head --times 100
expect_exit 124 on b timeout --signal=INT 13 ag-box status demo
expect_error "has not answered for 10 s"
fault clear
expect_exit 0 on b ag-box status demo
! grep -q "has not answered" "$WORK/error" || fail "told of a store that answers"

# One that refuses is no outage: what to look at is said.
fault status 403
expect_exit 5 on b ag-box ls
expect_error "BOX_S3_REGION"
fault clear
expect_exit 2 on b env BOX_STORE=s3://ab ag-box ls
expect_error "3 to 63"
