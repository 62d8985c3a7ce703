/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * s3-request - one S3 operation: signed, sent, judged, and repeated where that may help.
 *
 * Each attempt is signed anew, with the server's clock once a refusal has shown that ours is wrong. Only what may pass
 * (sync/s3-answer.h) is repeated; a request with a condition only if nothing of it was sent, or if it was refused for
 * the clock.
 */

#include "sync/http.h"
#include "sync/s3-answer.h"
#include "sync/sigv4.h"
#include "sync/store.h"

struct s3 {
    struct store *store; /* for accounts, messages and store_cancel */
    struct http_pool *pool;
    char *base; /* https://host, without a slash at the end */
    char *host; /* of the Host header */
    char *access_key, *secret_key, *region;
    unsigned attempts;
    int64_t clock_offset_ns; /* the server's minus ours; atomic */
};

struct s3_call { /* what each attempt is made from, and what came of the last */
    enum store_verb verb;
    const char *method;
    const char *key;  /* for accounts and messages */
    struct buf path;  /* encoded, "/bucket/prefix/key" */
    struct buf query; /* encoded, sorted */
    struct bytes body;
    const char *range; /* NULL: none */
    enum store_condition condition;
    const char *etag;
    size_t max; /* bytes of the answer's body */
    struct http_answer answer;
    char payload[SIGV4_HASH_MAX];
    char code[S3_CODE_MAX]; /* of an error */
    int64_t signed_ns;      /* the time in the signature */
};

void s3_call_release(struct s3_call *c);
/* 0: c->answer is a success. Else as sync/store.h has it. */
int s3_perform(struct s3 *s, struct s3_call *c, struct error *e);
