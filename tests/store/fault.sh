# SPDX-License-Identifier: MIT
# fault.sh - `store fault [ARG...]`: a scenario's store is an S3 server in memory that makes mistakes when told to
# (tests/fault). ARGs go to it: --rate for R2's one write a second of a key. Keys are as in the store: box/demo/head.
#
#   fault COMMAND...             tells it, or asks it; the commands are in tests/fault/control.h
#   expect_commits GLOB N        so many requests have changed such keys since the last `fault reset`; retries of what
#                                had happened do not count
#   fault_counter NAME           requests, round_trips, bytes_in or bytes_out since the last `fault reset`
#
# Where _fault_in and _fault_host are set (machine.sh), it runs by that command, and is reached at that address.
mkfifo "$WORK/fault.port"
"${_fault_in[@]}" "$BUILD/tests/fault/fault-s3" serve "$@" >"$WORK/fault.port" &
_fault_pid=$!
read -r _fault_port <"$WORK/fault.port" || fail "the fault server did not start"
_at_exit+=('kill $_fault_pid && wait $_fault_pid')
_store_url=s3://boxes
_store_env=("BOX_S3_ENDPOINT=http://${_fault_host:-127.0.0.1}:$_fault_port" "AWS_ACCESS_KEY_ID=fault"
    "AWS_SECRET_ACCESS_KEY=fault-secret" ${_fault_host:+BOX_S3_INSECURE=on})

fault() {
    "${_fault_in[@]}" "$BUILD/tests/fault/fault-s3" ask "$_fault_port" "$@"
}

expect_commits() {
    local got
    got=$(fault commits "$1")
    [ "$got" = "$2" ] || fail "$got commits of $1, expected $2: $(fault log | tail -n 20)"
}

fault_counter() {
    fault counters >"$WORK/fault.counters"
    json_field "$WORK/fault.counters" "$1"
}
