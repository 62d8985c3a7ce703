# SPDX-License-Identifier: MIT
# minio.sh - `store minio`: a scenario's store is a bucket of a real minio (tests/servers.sh).
. "$TESTS/servers.sh"

have_server minio || skip "no minio"
start_minio "$WORK/minio"
_at_exit+=(stop_server)
_store_url=s3://boxes/scenario
_store_env=("BOX_S3_ENDPOINT=$BOX_S3_ENDPOINT" "BOX_S3_REGION=$BOX_S3_REGION"
    "AWS_ACCESS_KEY_ID=$AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY=$AWS_SECRET_ACCESS_KEY")
unset BOX_S3_ENDPOINT BOX_S3_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
