/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * s3-answer - what an S3 answer means to us. Pure functions over untrusted bytes.
 *
 * Transient, so repeated: 408, 429, every 5xx (501 too: R2 says it now and then), 400 with one of the codes by which a
 * server blames a broken connection, and 409 of an unconditional request. A 200 may carry an <Error> (it was begun
 * before it failed).
 */

#include "index/base/buf.h"

#include <stdbool.h>

enum s3_meaning {
    S3_DONE,
    S3_ABSENT, /* no such key */
    S3_NO_BUCKET,
    S3_STALE,     /* the condition was not met; also 404 of an If-Match and 409 */
    S3_TRANSIENT, /* try again; whether it was applied is unknown */
    S3_TOO_OFTEN, /* 429, SlowDown: the same, and slower */
    S3_SHORT,     /* 416: the object ends before the range */
    S3_REFUSED,
};

#define S3_CODE_MAX 64

/* The text of <Code> when the body is an error document, else "". Only letters, digits and '.' are taken. */
void s3_answer_code(struct bytes body, char ret[S3_CODE_MAX]);
enum s3_meaning s3_answer_meaning(int status, const char *code, bool conditional);
