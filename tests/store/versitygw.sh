# SPDX-License-Identifier: MIT
# versitygw.sh - `store versitygw`: a scenario's store is a bucket of a real versitygw (tests/servers.sh).
. "$TESTS/servers.sh"

have_server versitygw || skip "no versitygw"
start_versitygw "$WORK/versitygw"
_at_exit+=(stop_server)
_store_url=s3://boxes/scenario
_store_env=("BOX_S3_ENDPOINT=$BOX_S3_ENDPOINT" "BOX_S3_REGION=$BOX_S3_REGION"
    "AWS_ACCESS_KEY_ID=$AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY=$AWS_SECRET_ACCESS_KEY")
unset BOX_S3_ENDPOINT BOX_S3_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
