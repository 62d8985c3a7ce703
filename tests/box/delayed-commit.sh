# SPDX-License-Identifier: MIT
# A park dies while its commit is still on its way. What is written after the next up is not lost when it arrives late.
. "$TESTS/lib.sh"

store fault
node a
node b
project="$WORK/project"; make_project "$project"
lazy_box a demo "$project"
on a sh -c "echo 'in the park' >'$project/file'"

fault reset
fault delay 6000 --op PUT --key box/demo/head --times 1
on a ag-box park demo &
park=$!
fault await --op PUT --key box/demo/head --timeout 60
for pid in $(_processes_of a); do
    ! grep -qz '^park$' "/proc/$pid/cmdline" || kill -KILL "$pid"
done
wait $park && fail "the park is done already"
expect_exit 0 on a ag-box up demo
on a sh -c "echo 'after the up' >'$project/file'"

late() { # how often PUTs of the head were refused, or done
    fault log | grep '"op":"PUT","key":"box/demo/head"' | grep -c "\"status\":$1" || true
}
for ((i = 0; i < 200 && $(late 412) == 0; i++)); do
    sleep 0.1 # the server tells when a request begins, not when it is refused
done
[ "$(late 412)" = 1 ] || fail "the late commit was not refused: $(fault log | tail -n 5)"
on a ag-box snapshot demo
expect_state a demo mounted
expect_file "$project/file" "after the up"
on a ag-box park demo
on b ag-box up demo
expect_file "$project/file" "after the up"
on b ag-box park demo
