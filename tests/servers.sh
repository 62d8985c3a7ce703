# SPDX-License-Identifier: MIT
# Real S3 servers for tests, to be sourced by bash: start_versitygw DIR, start_minio DIR, stop_server.
#
# A start sets server_url, server_pid and what ag-box reads (BOX_S3_ENDPOINT, BOX_S3_REGION, AWS_*); the bucket "boxes" is
# there. The programs are built once by `go install` at the versions below into $AGBOX_TEST_CACHE, outside the source tree.
# have_servers fails, and says why, where they cannot or must not be had.

versitygw_version=v1.8.0
minio_version=v0.0.0-20260212201848-7aac2a2c5b7c
servers_cache=${AGBOX_TEST_CACHE:-/var/cache/ag-box-test}

have_servers()
{
    if [ "${CI:-}" = true ]; then
        echo "SKIPPED: no real S3 servers in CI" >&2
        return 1
    fi
    if ! command -v go >/dev/null; then
        echo "SKIPPED: real S3 servers need Go to be built; NOTHING was checked against them" >&2
        return 1
    fi
}

# server_program MODULE VERSION NAME: prints the path of the program, building it first where it is missing.
server_program()
{
    local bin="$servers_cache/$3-$2" log="$servers_cache/$3-$2.log"
    if [ ! -x "$bin/$3" ]; then
        mkdir -p "$bin"
        echo "building $1@$2 (once; log: $log)" >&2
        GOBIN="$bin" GOFLAGS=-mod=mod nice go install "$1@$2" >"$log" 2>&1 || {
            echo "SKIPPED: $1@$2 does not build here, see $log" >&2
            return 1
        }
    fi
    echo "$bin/$3"
}

# wait_for_port PORT PID: until someone listens; fails when the process ends or after 30 s.
wait_for_port()
{
    local i
    for ((i = 0; i < 600; i++)); do
        if (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then
            return 0
        fi
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}

# launch LOG COMMAND…: runs it with @PORT@ replaced; another port where that one is taken.
launch()
{
    local log=$1 try port
    shift
    for ((try = 0; try < 5; try++)); do
        port=$((20000 + RANDOM % 20000))
        if (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            continue
        fi
        "${@//@PORT@/$port}" >"$log" 2>&1 &
        server_pid=$!
        if wait_for_port "$port" "$server_pid"; then
            server_url=http://127.0.0.1:$port
            export BOX_S3_ENDPOINT=$server_url BOX_S3_REGION=us-east-1
            return 0
        fi
        stop_server
    done
    echo "the server did not start:" >&2
    tail -n 20 "$log" >&2
    return 1
}

server_keys()
{
    export AWS_ACCESS_KEY_ID=agbox-test AWS_SECRET_ACCESS_KEY=agbox-test-secret
}

# Both keep a bucket as a directory, so it need not be asked for.
start_versitygw()
{
    local program
    program=$(server_program github.com/versity/versitygw/cmd/versitygw "$versitygw_version" versitygw) || return 77
    server_keys
    mkdir -p "$1/boxes"
    launch "$1.log" env ROOT_ACCESS_KEY="$AWS_ACCESS_KEY_ID" ROOT_SECRET_KEY="$AWS_SECRET_ACCESS_KEY" \
        "$program" --quiet --port 127.0.0.1:@PORT@ posix "$1"
}

start_minio()
{
    local program
    program=$(server_program github.com/minio/minio "$minio_version" minio) || return 77
    server_keys
    mkdir -p "$1/boxes"
    launch "$1.log" env MINIO_ROOT_USER="$AWS_ACCESS_KEY_ID" MINIO_ROOT_PASSWORD="$AWS_SECRET_ACCESS_KEY" \
        MINIO_BROWSER=off MINIO_UPDATE=off "$program" server --quiet --address 127.0.0.1:@PORT@ "$1"
}

stop_server()
{
    [ -n "${server_pid:-}" ] || return 0
    kill "$server_pid" 2>/dev/null || true
    wait "$server_pid" 2>/dev/null || true
    server_pid=
}
