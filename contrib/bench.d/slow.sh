# SPDX-License-Identifier: MIT
# As cold, behind 40 ms round-trip time and 200 Mbit/s: a real S3 server behind a relay, for both sides.
bench_slow() {
    local i project=$work/project relay_pid port
    . "$here/../tests/servers.sh"
    have_server versitygw || return 0
    start_versitygw "$work/versitygw"
    cp -a "$tree" "$project"
    node_settings=("BOX_S3_REGION=us-east-1" "AWS_ACCESS_KEY_ID=$AWS_ACCESS_KEY_ID"
        "AWS_SECRET_ACCESS_KEY=$AWS_SECRET_ACCESS_KEY")
    port=${server_url##*:}
    slow_through "$port"
    node a
    quietly restic -r "$repository" init
    quietly restic -r "$repository" backup "$project"
    quietly ag-box init
    quietly ag-box track bench "$project"
    quietly ag-box park bench
    end_node

    coproc relay { exec "$build/tests/relay/relay" --rtt 40 --bandwidth 200M 127.0.0.1 "$port"; }
    relay_pid=$!
    read -r port <&"${relay[0]}"
    slow_through "$port"
    for ((i = 0; i < runs; i++)); do
        cold_run slow
    done
    row "slow link: up to first read, restic restore" slow-first slow-restore "<= 0.033"
    row "slow link: up to first read, restic mount" slow-first slow-mounted "<= 0.333"
    row "slow link: up to all local, restic restore" slow-full slow-restore ""
    kill "$relay_pid"
    stop_server
    clear_away "$project" "$work/versitygw"
    node_settings=()
}

slow_through() {
    unset BOX_S3_ENDPOINT
    node_settings=("BOX_S3_ENDPOINT=http://127.0.0.1:$1" "${node_settings[@]:${#node_settings[@]}>3?1:0}")
    store=s3://boxes/agbox repository=s3:http://127.0.0.1:$1/boxes/restic
}
