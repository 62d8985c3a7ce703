# SPDX-License-Identifier: MIT
# `status` says at once that the store does not answer as it should: it asks once, and waits for nothing.
. "$TESTS/lib.sh"

store fault
node a BOX_HYDRATE=off
project="$WORK/project"; mkdir "$project"; echo first >"$project/file"
on a ag-box track demo "$project"
fault status 503 --times 1000
for name in demo ""; do
    fault reset
    expect_exit 0 on a ag-box status $name
    [ "$(fault_counter requests)" = 1 ] || fail "status $name: $(fault_counter requests) requests: $(fault log)"
done
fault clear
on a ag-box park demo
