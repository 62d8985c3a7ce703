# SPDX-License-Identifier: MIT
# exec: a stopped box is started, exit codes, streams, directory, variables, signals, time limits, --detach, --json, and
# what it says when it cannot.
# lane: cpu
# limit: 240
BOXES=yes
. "$TESTS/lib.sh"

store file
node a
node b
project="$WORK/demo"
mkdir "$project"
echo here >"$project/file"
on a ag-box track demo "$project"
box() { on a ag-box exec demo "$@"; }

# A stopped box is started, once, whoever asks; then it is there.
for i in 1 2 3; do
    box -- cat file >"$WORK/at-once-$i" 2>>"$WORK/starting" &
done
wait
[ "$(cat "$WORK"/at-once-?)" = "here
here
here" ] || fail "three at once: $(cat "$WORK/starting")"
grep -q "demo is stopped; it is started" "$WORK/starting" || fail "it is not said that the box is started"
[ "$(on a pgrep -cf '^ag-box boxrun demo$')" = 1 ] || fail "more than one keeper"
expect_exit 0 box -- pwd
[ "$(cat "$WORK/output")" = "$project" ] || fail "not in the project"
[ ! -s "$WORK/error" ] || fail "something is said of a box that runs"

# Its own exit code, whatever it is.
for code in 0 1 2 3 5 8 124 125 126 127 130 137 255; do
    expect_exit "$code" box -- sh -c "exit $code"
done
expect_exit 143 box -- sh -c 'kill -TERM $$'
expect_exit 137 box -- sh -c 'kill -KILL $$'
expect_exit 127 box -- no-such-command
expect_error "run no-such-command in the box: No such file or directory"
expect_exit 125 box -- ""
expect_error "the command's name is empty"
expect_exit 126 box -- /etc/passwd
expect_error "Permission denied"

# Streams: both, input to its end, a reader that goes away, much at once.
expect_exit 0 box -- sh -c 'echo to-out; echo to-err >&2'
expect_output to-out
expect_error to-err
head -c 20000000 /dev/urandom >"$WORK/bytes"
box -- cat <"$WORK/bytes" >"$WORK/copy"
cmp "$WORK/bytes" "$WORK/copy" || fail "bytes changed on their way"
[ "$(box -- sh -c 'wc -c' <"$WORK/bytes")" = 20000000 ] || fail "input is not whole"
[ "$(box -- head -c 100000000 /dev/zero | wc -c)" = 100000000 ] || fail "output is not whole"
codes=$(set +eo pipefail; box -- yes 2>/dev/null | head -n 1 >/dev/null; echo "${PIPESTATUS[0]}")
[ "$codes" = 141 ] || fail "without a reader it ended with $codes"
echo "to nobody" | expect_exit 0 box -- true
expect_exit 0 box -- cat <&-

# Directory and variables, the box's own environment, and nothing of the host's.
expect_exit 0 box --cwd /usr -- pwd
expect_output /usr
mkdir "$project/sub"
expect_exit 0 box --cwd sub -- pwd
expect_output "$project/sub"
[ "$(box -- printenv PWD)" = "$project" ] || fail "PWD is $(box -- printenv PWD)" # no shell, which would mend it
[ "$(box --cwd sub -- printenv PWD)" = "$project/sub" ]
[ "$(box --cwd sub --env PWD=/usr -- printenv PWD)" = /usr ]
expect_exit 125 box --cwd /no/such -- pwd
expect_error "go to /no/such in the box: No such file or directory"
SECRET=leaked expect_exit 0 box --env A=1 --env B='2 3' -- sh -c 'echo "[$A][$B][$HOME][$AGBOX_BOX]"; env'
expect_output "[1][2 3][/root][demo]"
! grep -qE 'leaked|TMUX|AGBOX_STATE_DIR|BOX_PASSWORD|^AWS' "$WORK/output" || fail "the host's environment is in the box"
# A login shell begins PATH anew: what the box has in front stays there.
for shell in "bash -lc" "sh -lc" "bash -c" "env PATH=/usr/bin:/bin bash -lc"; do
    [[ $(box -- $shell 'echo "$PATH"') == /root/.local/bin:/usr/local/sbin:*:/bin* ]] ||
        fail "the PATH of $shell: $(box -- $shell 'echo "$PATH"')"
done
expect_exit 125 box --env =x -- true
expect_error "is not NAME=VALUE"

# A terminal.
expect_exit 0 box --tty -- tty
expect_output /dev/pts/
expect_exit 0 box -- sh -c 'tty || true'
expect_output "not a tty"

# The box's name comes first: what stands after -- is the command.
expect_exit 125 on a ag-box exec -- ls -l
expect_error "exec wants a box's name"
expect_error "ag-box exec NAME -- ls -l"

# Signals go to the command, and time is limited.
cat >"$WORK/signalled" <<'END'
mkfifo "$WORK/said"
ag-box exec demo -- sh -c 'trap "echo caught; exit 9" TERM; echo up; while :; do sleep 0.05; done' >"$WORK/said" &
exec 8<"$WORK/said"
read -r up <&8
kill -TERM $!
read -r caught <&8
code=0
wait $! || code=$?
echo "$up $caught $code"
END
[ "$(on a bash "$WORK/signalled")" = "up caught 9" ] || fail "TERM does not reach the command"
begin=$SECONDS
expect_exit 125 box --timeout 1 --json="$WORK/json" -- sleep 100
expect_error "it was ended after 1 s"
((SECONDS - begin < 20)) || fail "the time limit took $((SECONDS - begin)) s"
[ "$(json_field "$WORK/json" timed_out) $(json_field "$WORK/json" ok) $(json_field "$WORK/json" signal)" = "true false 15" ] ||
    fail "what timed out: $(cat "$WORK/json")"
expect_exit 0 box --timeout 0 -- true

# Left running.
expect_exit 0 box -d --json="$WORK/json" -- sh -c 'echo first; exec sleep 1000'
expect_output first
pid=$(json_field "$WORK/json" pid)
[ "$(json_field "$WORK/json" detached)" = true ] || fail "not detached: $(cat "$WORK/json")"
expect_exit 0 box -- kill "$pid"
expect_exit 7 box --detach -- sh -c 'echo why >&2; exit 7'
expect_error why

# JSON.
expect_exit 3 box --json="$WORK/json" -- sh -c 'exit 3'
[ "$(json_field "$WORK/json" ok) $(json_field "$WORK/json" exit_code) $(json_field "$WORK/json" box)" = "true 3 demo" ] ||
    fail "$(cat "$WORK/json")"
expect_exit 137 box --json "$WORK/json" -- sh -c 'kill -9 $$'
[ "$(json_field "$WORK/json" exit_code) $(json_field "$WORK/json" signal)" = "137 9" ] || fail "$(cat "$WORK/json")"
expect_exit 127 box --json="$WORK/json" -- no-such-command
[ "$(json_field "$WORK/json" ok) $(json_field "$WORK/json" code)" = "false 127" ] || fail "$(cat "$WORK/json")"
expect_exit 125 box --json=/no/such/file -- true
expect_error "--json=/no/such/file"
for option in --json --env --cwd; do
    expect_exit 125 box $option -- true
    expect_error "$option wants a value"
done

# What cannot be.
expect_exit 125 box ls
expect_error "exec wants a box's name, then -- and a command"
expect_error "hint: ag-box exec demo -- ls -l"
expect_exit 125 box --
expect_exit 125 on a ag-box exec
expect_exit 125 box --tty -d -- true
expect_exit 125 box --timeout soon -- true
expect_exit 125 on a ag-box exec nobody -- true
expect_error "box nobody is not up here"
word=$(printf '%100000s' x)
expect_exit 0 box -- sh -c 'echo ${#8}' "$word" "$word" "$word" "$word" "$word" "$word" "$word" "$word" "$word"
expect_output 100000
expect_exit 125 box -- true "$word" "$word" "$word" "$word" "$word" "$word" "$word" "$word" "$word" "$word" "$word"
expect_error "the command is too long"

# Two at once do not hinder each other, also while one's reader does not read.
mkfifo "$WORK/stuck"
box -- cat /dev/zero >"$WORK/stuck" 2>/dev/null &
stuck=$!
exec 9<"$WORK/stuck"
expect_exit 0 box -- echo others
exec 9<&-
wait "$stuck" || [ $? = 141 ] || fail "the stuck one ended with $?"

# The end of the box is the end of what runs in it.
on a ag-box exec demo -- sleep 1000 2>"$WORK/error" &
waiting=$!
until on a ag-box exec demo -- pgrep -x sleep >/dev/null; do :; done
on a ag-box park demo
code=0
wait "$waiting" || code=$?
grep -qE '^(125|143)$' <<<"$code" || fail "a command in a box that was parked ended with $code"
expect_exit 125 box -- true
expect_error "hint: ag-box up demo"

# On another node, in a lazy tree: the box that `up` started, and what a command changes there travels.
on b ag-box up demo
expect_exit 0 on b ag-box exec demo -- cat file
expect_output here
[ ! -s "$WORK/error" ] || fail "up had not started the box"
expect_exit 0 on b ag-box exec demo -- sh -c 'echo changed >file; mkdir -p ~/.agent; echo memory >~/.agent/session'
on b ag-box park demo
on a ag-box up demo --no-start
expect_exit 0 box -- cat file .//../"$(basename "$project")"/file /root/.agent/session
expect_output memory
expect_error "demo is stopped; it is started"
[ "$(grep -c changed "$WORK/output")" = 2 ] || fail "the change did not travel"

# With a daemon that is silent it says so, and goes on when that does.
daemon=$(on a ag-box status --json demo | jq .daemon_pid)
kill -STOP "$daemon"
on a ag-box exec demo -- echo runs >"$WORK/output" 2>"$WORK/error" &
waiting=$!
until grep -qF "no answer from the daemon of demo, pid $daemon, which is stopped: kill -CONT $daemon" "$WORK/error" ||
    ! kill -0 "$waiting" 2>/dev/null; do sleep 0.01; done
kill -CONT "$daemon"
wait "$waiting"
expect_output runs
expect_error "no answer from the daemon of demo, pid $daemon, which is stopped: kill -CONT $daemon lets it go on"
on a ag-box park demo
