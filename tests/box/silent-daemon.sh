# SPDX-License-Identifier: MIT
# A daemon that does not answer: the commands that wait for it say whom they wait for, and what to do. Ctrl-C ends them
# with nothing changed; when it goes on, they do.
# limit: 180
. "$TESTS/lib.sh"

store fault
node a
project="$WORK/project"; make_project "$project"
mkdir "$WORK/other"
on a ag-box track demo "$project"
on a ag-box track other "$WORK/other"
daemon() { on a ag-box status --json demo | jq .daemon_pid; }

# begin COMMAND ARG...: in the background, with the daemon stopped.
declare -A running=()
begin() {
    : >"$WORK/$2.err"
    { code=0; on a "$@" >"$WORK/$2.out" 2>"$WORK/$2.err" || code=$?; echo "$code" >"$WORK/$2.code"; } &
    running[$2]=$!
}
says() { # says COMMAND TEXT: within 30 s
    for _ in $(seq 3000); do
        ! grep -qF -- "$2" "$WORK/$1.err" || return 0
        sleep 0.01
    done
    fail "$1 does not say '$2' but: $(cat "$WORK/$1.err")"
}
ends() { # ends COMMAND CODE
    wait "${running[$1]}"
    [ "$(cat "$WORK/$1.code")" = "$2" ] || fail "exit $(cat "$WORK/$1.code") of $1: $(cat "$WORK/$1.out" "$WORK/$1.err")"
}
interrupt() { kill -INT "$(pgrep -f "^ag-box $1 ")"; }

# In plain directories it only renews the lease, but a park ends it.
full=$(daemon)
kill -STOP "$full"
begin ag-box park demo
says park "waiting for the daemon of demo, pid $full, which is stopped: kill -CONT $full"
interrupt park
ends park 130
expect_state a demo full-held
kill -CONT "$full"
on a ag-box park demo

on a ag-box up demo
on a sh -c "echo more >>'$project/file'"
lazy=$(daemon)
drop_caches
kill -STOP "$lazy"
for command in diff hydrate park; do
    begin ag-box "$command" demo
done
for command in diff hydrate park; do
    says "$command" "waiting for the daemon of demo, pid $lazy, which is stopped: kill -CONT $lazy"
    interrupt "$command"
    ends "$command" 130
done
begin ag-box snapshot --json demo
says snapshot "pid $lazy, which is stopped"
interrupt snapshot
ends snapshot 130
[ "$(json_field "$WORK/snapshot.out" kind)" = interrupted ]
expect_state a demo mounted

# Whoever has other boxes to look after goes on without it.
echo new >"$WORK/other/file"
expect_exit 8 on a ag-box snapshot --active --json
expect_error "demo: no answer from the daemon of demo, pid $lazy, which is stopped"
[ "$(jq -c .boxes "$WORK/output")" = '[{"name":"demo","ok":false},{"name":"other","ok":true}]' ] || fail "$(cat "$WORK/output")"
on a ag-box park other

# It goes on, and so do they; or another one takes its place.
begin ag-box snapshot demo
begin ag-box diff demo
says snapshot "which is stopped"
says diff "which is stopped"
kill -CONT "$lazy"
ends snapshot 0
ends diff 0
kill -STOP "$lazy"
begin ag-box diff demo
begin ag-box hydrate demo
says diff "which is stopped"
says hydrate "which is stopped"
kill -KILL "$lazy"
ends diff 0
ends hydrate 4
says hydrate "hint: ag-box hydrate demo goes on"
until [ "$(daemon)" -gt 0 ]; do sleep 0.01; done
on a ag-box hydrate demo

# One that falls silent on the way.
on a sh -c "echo and more >>'$project/file'"
lazy=$(daemon)
fault delay 6000 --op PUT --key 'box/demo/pack/*' --times 1
begin ag-box park demo
fault await --op PUT --key 'box/demo/pack/*' --timeout 60
kill -STOP "$lazy"
says park "pid $lazy, which is stopped"
kill -CONT "$lazy"
ends park 0
expect_state a demo moved-aside

# One that is silent from its start on.
fault delay 3000 --op GET --key box/demo/head --times 1
begin ag-box up demo
until lazy=$(pgrep -f "boxfs-serve demo"); do sleep 0.01; done # it starts while the head is on its way
kill -STOP "$lazy"
says up "waiting for the daemon of demo to start"
kill -CONT "$lazy"
ends up 0
on a ag-box park demo
expect_clean a
