/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * sigv4 - AWS Signature Version 4 for one request: the value of its Authorization header.
 *
 * Source: "AWS Signature Version 4 for API requests" and its published examples, which the unit test replays. Pure
 * functions; libsodium does SHA-256 and HMAC. Path and query are signed as given, so what is sent is what was signed.
 */

#include "index/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct sigv4_credentials {
    const char *access_key, *secret_key, *region, *service;
};

struct sigv4_header {
    const char *name; /* lower case */
    const char *value;
};

struct sigv4_request {
    const char *method;
    const char *path;                   /* encoded */
    const char *query;                  /* encoded, sorted by name, "name=" where there is no value; "" for none */
    const struct sigv4_header *headers; /* those to sign, sorted by name, host among them */
    size_t header_count;
    const char *payload_sha256; /* hex */
    const char *time;           /* 20130524T000000Z, as in x-amz-date */
};

#define SIGV4_TIME_MAX 20
#define SIGV4_HASH_MAX 65

/* RFC 3986: all but unreserved characters as %XX; '/' too unless it is a path. */
void sigv4_encode(struct buf *to, const char *s, bool path);
void sigv4_time(char to[SIGV4_TIME_MAX], int64_t unix_ns);
void sigv4_payload(char to[SIGV4_HASH_MAX], struct bytes payload);
void sigv4_sign(const struct sigv4_credentials *c, const struct sigv4_request *q, struct buf *ret_authorization);
