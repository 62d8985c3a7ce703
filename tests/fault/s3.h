/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * s3 - what a bucket answers, as R2 does: path style, strong consistency, conditions atomic for each key.
 *
 * GET (Range, If-Match, If-None-Match), HEAD, PUT (If-Match, If-None-Match: *), DELETE, ListObjectsV2; PUT, HEAD and
 * ?location of a bucket. Everything else is 501 NotImplemented, among it what R2 refuses: aws-chunked bodies and
 * checksum headers. Every request must be signed, with x-amz-content-sha256 among the signed headers, at most 15
 * minutes off. Not locked.
 */

#include "tests/fault/objects.h"
#include "tests/fault/request.h"

struct s3 {
    struct objects objects;
    const char *access_key, *secret_key;
    int64_t clock_moved_ms;
    bool one_write_a_second; /* of one key; the next is 429 */
    unsigned page;           /* most keys in one listing; 0: 1000 */
};

enum s3_operation { S3_GET, S3_HEAD, S3_PUT, S3_DELETE, S3_LIST, S3_OTHER };

struct s3_target {
    enum s3_operation operation;
    char bucket[64];
    char key[OBJECT_KEY_MAX + 1]; /* of a LIST: the prefix */
};

const char *s3_operation_name(enum s3_operation o);
/* False: no request for a bucket. */
bool s3_target(const struct request *q, struct s3_target *ret);
int64_t s3_now_ms(const struct s3 *s);
/* The answer has a Date in any case. t: of s3_target, NULL if it was none. */
void s3_handle(struct s3 *s, const struct request *q, const struct s3_target *t, struct answer *a);
/* An error as S3 tells it; replaces what is in a. */
void s3_error(struct answer *a, unsigned status, const char *code, const char *message);
