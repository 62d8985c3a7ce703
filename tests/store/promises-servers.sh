#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# promises-servers.sh PROGRAM SERVER: the promises of sync/store.h, held by a real S3 server (versitygw or minio).
set -euo pipefail
. "$(dirname "$0")/../servers.sh"

have_server "$2" || exit 77
work=$(mktemp -d /tmp/promises-servers.XXXXXX)
trap 'stop_server; rm -rf "$work"' EXIT

"start_$2" "$work/data"
"$1" s3://boxes/a/prefix
