#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# promises-fault.sh PROGRAM SERVER: the promises of sync/store.h, held by the fault server while nothing is wrong.
set -euo pipefail

coproc server { exec "$2" serve; }
pid=$server_PID
trap 'kill "$pid"; wait "$pid"' EXIT
read -r port <&"${server[0]}"
export BOX_S3_ENDPOINT=http://127.0.0.1:$port AWS_ACCESS_KEY_ID=fault AWS_SECRET_ACCESS_KEY=fault-secret
"$1" s3://boxes/a/prefix
