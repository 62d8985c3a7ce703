/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * request - one HTTP request as it came, and the answer to it, without any HTTP library in between: what the server and
 * its unit tests share. Names of headers are lower case. Whoever made it releases it.
 */

#include "index/base/buf.h"

#include <stdbool.h>

#define REQUEST_HEADERS 64
#define ANSWER_HEADERS 12

struct header {
    char *name, *value;
};

struct request {
    char *method;
    char *path;  /* as it came: percent-encoded, without the query */
    char *query; /* as it came; "" none */
    struct header headers[REQUEST_HEADERS];
    size_t header_count;
    struct buf body;
};

void request_set(struct request *q, const char *method, const char *uri); /* uri: path?query */
void request_add_header(struct request *q, const char *name, const char *value);
/* NULL if there is none. */
const char *request_header(const struct request *q, const char *name);
void request_release(struct request *q);

/* Appends the decoded bytes of n bytes of percent-encoded text; plus: '+' is a space. False: not percent-encoding. */
bool request_decode(const char *text, size_t n, bool plus, struct buf *ret);
/* Appends text with all but [A-Za-z0-9-._~] (and '/', if slash) as %XX. */
void request_encode(const void *text, size_t n, bool slash, struct buf *ret);
/* The decoded value of a query parameter in ret (replaced); false if there is none. */
bool request_parameter(const struct request *q, const char *name, struct buf *ret);

struct answer {
    unsigned status; /* 0: the connection ends without one */
    struct header headers[ANSWER_HEADERS];
    size_t header_count;
    struct buf body;
    bool committed;  /* the request changed what is stored */
    size_t cut;      /* SIZE_MAX, or: after so many bytes of the body the connection ends */
    size_t stall_at; /* SIZE_MAX, or: after so many bytes of the body nothing comes for stall_ms */
    unsigned stall_ms;
};

#define ANSWER_NONE ((struct answer){ .cut = SIZE_MAX, .stall_at = SIZE_MAX })

void answer_add_header(struct answer *a, const char *name, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void answer_release(struct answer *a);
