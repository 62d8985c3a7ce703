/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * http - one request, one answer, over connections that are kept alive (libcurl, which only http, http-line and spare
 * know).
 *
 * A pool hands a curl handle to each request and takes it back, so any number of threads can use one pool and each
 * handle's connection is used again; name look-ups and TLS sessions are shared. Time limits: connecting, and inactivity
 * (less than a byte a second for so long), never the whole: a slow line may take its time. No redirects, no
 * `Expect: 100-continue` (R2 never answers it and libcurl would wait a second a PUT), HTTP/1.1 (a handle has one
 * request at a time). libcurl itself repeats a request when a kept connection turns out closed before a byte of
 * answer came, unless `once` forbids it. Not to be used on both sides of a fork.
 */

#include "index/base/buf.h"
#include "index/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct http_pool;

struct http_header {
    const char *name, *value;
};

struct http_request {
    const char *method; /* GET, HEAD, PUT, DELETE */
    const char *url;
    const struct http_header *headers;
    size_t header_count;
    struct bytes body; /* of PUT */
    size_t max;        /* bytes of a successful answer's body */
    bool once;         /* PUT: libcurl must not repeat it */
};

#define HTTP_TEXT_MAX 128
#define HTTP_ERROR_BODY_MAX (64u << 10) /* of an answer that is no success: cut there */

struct http_answer {
    int status;          /* 0: none came */
    struct buf body;     /* owned: http_answer_release */
    int64_t length;      /* Content-Length, -1 unknown */
    bool too_large;      /* more than max: body is cut */
    int64_t date_ns;     /* Date, 0 unknown; whole seconds */
    int64_t modified_ns; /* Last-Modified, 0 unknown; whole seconds */
    unsigned retry_after_s;
    char etag[HTTP_TEXT_MAX];  /* as sent, quotes and all; "" absent, or not fit to be one */
    char range[HTTP_TEXT_MAX]; /* Content-Range */
    bool sent;                 /* some of the request may have reached the server */
};

void http_answer_release(struct http_answer *a);

/* timeout_s: of inactivity; after 10 s of it a warning says so. stop, when not 0, ends requests: within a second, from
 * a signal handler too. */
int http_pool_new(unsigned timeout_s, const int *stop, struct http_pool **ret, struct error *e);
void http_pool_free(struct http_pool *p); /* NULL is fine; no request may be running */
/* A hint, once: so many requests at a time will soon go to the server of url, so that connections may be opened now. */
void http_pool_expect(struct http_pool *p, const char *url, unsigned requests);

/*
 * 0: an answer came whole, whatever its status (or was cut: too_large). -EHOSTUNREACH ERROR_STORE: none, or not whole;
 * ret then says what is known (status, sent). -ECANCELED ERROR_INTERRUPTED. ret is overwritten, also on failure.
 */
int http_perform(struct http_pool *p, const struct http_request *q, struct http_answer *ret, struct error *e);
