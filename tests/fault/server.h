/* SPDX-License-Identifier: MIT */
#pragma once

/* server - a request's way through line, rules and bucket, without HTTP. Safe from many threads: one lock over all
 * state. */

#include "tests/fault/rules.h"
#include "tests/fault/s3.h"
#include "tests/fault/shape.h"
#include "tests/fault/traffic.h"

#include <pthread.h>

struct server {
    pthread_mutex_t lock;   /* of all but shape, which has its own */
    pthread_cond_t changed; /* a request began, committed or ended */
    struct s3 s3;
    struct rules rules;
    struct traffic traffic;
    struct shape shape;
    const char *bucket; /* the one that control commands mean */
};

void server_init(struct server *s);
/* a is what is to be sent; then server_sent. */
struct visit_id server_process(struct server *s, const struct request *q, struct answer *a);
void server_sent(struct server *s, struct visit_id id, const struct answer *a, uint64_t bytes);
