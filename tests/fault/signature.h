/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * signature - AWS Signature Version 4 from the server's side: takes a request's Authorization apart and works out what
 * its signature must be. Written from the published description, on nettle, and shares nothing with the client under
 * test.
 */

#include "tests/fault/request.h"

#define SIGNATURE_ALGORITHM "AWS4-HMAC-SHA256"

struct authorization {
    char access_key[128];
    char date[16], region[64], service[32]; /* of the credential's scope */
    char signed_headers[1024];              /* a;b;c */
    char signature[65];
};

/* False: not of this form. */
bool authorization_parse(const char *header, struct authorization *ret);
/* Is this header's name (lower case) among the signed ones? */
bool authorization_signs(const struct authorization *a, const char *name);

/* The canonical request, and the signature of it. payload: hex SHA-256 of the body, or what stands in for it.
 * False: a signed header is missing, or the URI is not percent-encoding. */
bool signature_canonical(const struct request *q, const struct authorization *a, const char *payload, struct buf *ret);
bool signature_compute(const struct request *q, const struct authorization *a, const char *secret, const char *time,
                       const char *payload, char ret[65]);

void signature_sha256_hex(const void *p, size_t n, char ret[65]);
