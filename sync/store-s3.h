/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * store-s3 - the store in an S3 bucket (R2 first), path style, for s3:// URLs.
 *
 * Only what R2 accepts: no aws-chunked body, no checksum headers. Every body's SHA-256 is signed (so a server refuses
 * bytes that changed on the way, also behind TLS; it costs 0.1 s for a full pack, and Content-MD5 would cost as much
 * and tell less). Each attempt is signed anew, with the server's clock once a refusal has shown that ours is wrong
 * (RequestTimeTooSkewed). A conditional PUT is repeated only if nothing of it was sent, or it was refused for the
 * clock. A missing bucket is an unreachable store, not an empty one.
 */

#include "sync/store.h"

int store_s3_open(const struct store_config *c, struct store **ret, struct error *e);
