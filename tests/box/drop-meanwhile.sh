# SPDX-License-Identifier: MIT
# What comes to be while drop waits for its answer is not deleted with what was asked about: a fork, and what was parked.
# limit: 120
. "$TESTS/lib.sh"

asked() { # asked COMMAND...: drop on a, which is answered only when COMMAND has ended
    rm -f "$WORK/asked" "$WORK/go"
    on a python3 -c 'import os, sys, time
work, tests = sys.argv[1:]
sys.path.insert(0, tests)
import pty
t = pty.Terminal(["ag-box", "drop", "demo"])
t.sees("type demo")
os.mknod(work + "/asked")
while not os.path.exists(work + "/go"):
    time.sleep(0.02)
t.type("demo\r")
code = t.wait()
print(t.text())
sys.exit(code)' "$WORK" "$TESTS" >"$WORK/dropped" &
    local drop=$!
    until [ -e "$WORK/asked" ]; do kill -0 "$drop" || fail "drop did not ask"; sleep 0.02; done
    "$@"
    touch "$WORK/go"
    code=0
    wait "$drop" || code=$?
    cat "$WORK/dropped"
}

store file
node a
node b
project="$WORK/project"; make_project "$project"
on a ag-box track demo "$project"
on a ag-box park demo

# A node that lost its lease, and its hold, keeps its work as a fork.
on b ag-box up demo
on b sh -c "echo 'written on b' >'$project/file'"
on a ag-box up demo --force
on a sh -c "echo 'written on a' >'$project/file'"
on a ag-box park demo
on a ag-box drop demo --yes --hold "$(on a ag-box ls --snapshots demo --json | jq -r '.holds[0].id')"
asked expect_exit 3 on b ag-box park demo
[ "$code" = 8 ] || fail "exit $code"
grep -q "fork:b-" "$WORK/dropped"
fork=$(on a ag-box ls --snapshots demo --json | jq -r '.forks[0].id')
on a ag-box restore demo --snapshot "$fork" "$WORK/restored"
expect_file "$WORK/restored/file" "written on b"
on a ag-box drop demo --yes --fork "$fork"

# And one that took the box up has it parked.
use() {
    on b ag-box up demo
    on b sh -c "echo 'parked by b' >'$project/file'"
    on b ag-box park demo
}
asked use
[ "$code" = 3 ] || fail "exit $code"
grep -q "used by b" "$WORK/dropped"
on a ag-box restore demo "$WORK/again"
expect_file "$WORK/again/file" "parked by b"

# Nothing has come: it goes.
asked true
[ "$code" = 0 ] || fail "exit $code"
expect_exit 4 on a ag-box up demo
