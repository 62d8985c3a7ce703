/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * store-s3 - the store in an S3 bucket (R2 first), path style, for s3:// URLs.
 *
 * Only what R2 accepts: no aws-chunked body, no checksum headers. Every body's SHA-256 is signed, so that a server
 * refuses bytes that changed on the way, also behind TLS; it costs 0.1 s of one processor for a full pack (libsodium),
 * and Content-MD5 would cost about as much and prove less. A missing bucket is an unreachable store, not an empty one.
 * Answers are not trusted: an object is as long as its Content-Length and the range asked for, a list is in order and
 * complete, or it is an error.
 */

#include "sync/store.h"

int store_s3_open(const struct store_config *c, struct store **ret, struct error *e);
