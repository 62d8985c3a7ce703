#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Real S3 servers for tests. To be sourced by bash: have_server NAME, start_versitygw DIR, start_minio DIR, stop_server.
# As a command: `servers.sh build [NAME]...` builds them, once, by `go install` at the versions below (some minutes each)
# into $AGBOX_TEST_CACHE, outside the source tree. Tests build nothing: where a server is missing they are skipped.
#
# A start sets server_url, server_pid and what ag-box reads (BOX_S3_ENDPOINT, BOX_S3_REGION, AWS_*); the bucket "boxes" is
# there.

versitygw=github.com/versity/versitygw/cmd/versitygw@v1.8.0
minio=github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c
servers_cache=${AGBOX_TEST_CACHE:-/var/cache/ag-box-test}

# server_program NAME: the path where the program is, or would be.
server_program()
{
    echo "$servers_cache/$1-${!1##*@}/$1"
}

# have_server NAME: fails, and says why, where it cannot or must not be had.
have_server()
{
    if [ "${CI:-}" = true ]; then
        echo "SKIPPED: no real S3 servers in CI" >&2
        return 1
    fi
    if [ ! -x "$(server_program "$1")" ]; then
        echo "SKIPPED: NOTHING was checked against $1; build it once with tests/servers.sh build (needs Go)" >&2
        return 1
    fi
}

build_server()
{
    local program dir build=$servers_cache/build
    program=$(server_program "$1")
    dir=${program%/*}
    [ ! -x "$program" ] || return 0
    command -v go >/dev/null || {
        echo "servers.sh: $1 needs Go to be built" >&2
        return 1
    }
    mkdir -p "$build" "$dir"
    echo "building ${!1} (log: $dir.log)"
    GOBIN=$dir GOPATH=$build/path GOCACHE=$build/cache GOFLAGS=-modcacherw nice go install "${!1}" >"$dir.log" 2>&1 || {
        tail -n 5 "$dir.log" >&2
        return 1
    }
    rm -rf "$build"
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
    program=$(server_program versitygw)
    server_keys
    mkdir -p "$1/boxes"
    launch "$1.log" env ROOT_ACCESS_KEY="$AWS_ACCESS_KEY_ID" ROOT_SECRET_KEY="$AWS_SECRET_ACCESS_KEY" \
        "$program" --quiet --keep-alive --port 127.0.0.1:@PORT@ posix "$1"
}

start_minio()
{
    local program
    program=$(server_program minio)
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

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    set -euo pipefail
    [ "${1:-}" = build ] || {
        echo "usage: servers.sh build [versitygw|minio]..." >&2
        exit 2
    }
    shift
    [ $# -gt 0 ] || set -- versitygw minio
    for name in "$@"; do
        build_server "$name"
    done
fi
