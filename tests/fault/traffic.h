/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * traffic - the log of requests and what can be counted in it. Not locked.
 *
 * Round trips are the longest chain of requests each of which began after another had ended: what a client with perfect
 * parallelism would still have to wait for. A request ends when its last byte is handed to the kernel. With a
 * round-trip time of 0 concurrent requests may look like a chain.
 */

#include "tests/fault/s3.h"

struct visit {
    enum s3_operation operation;
    char *key;
    unsigned status; /* 0: dropped, or not yet answered */
    bool committed, ended;
    int64_t began_us, ended_us; /* CLOCK_BOOTTIME */
    uint64_t in, out;           /* bytes of bodies */
    unsigned depth;
};

struct traffic {
    struct visit *all;
    size_t count;
    unsigned deepest_ended;
    uint64_t generation; /* how often it was reset: a visit that began before is not counted any more */
};

struct visit_id {
    uint64_t generation;
    size_t index;
};

struct visit_id traffic_begin(struct traffic *f, const struct s3_target *t, uint64_t bytes_in);
void traffic_handled(struct traffic *f, struct visit_id id, bool committed);
void traffic_end(struct traffic *f, struct visit_id id, unsigned status, uint64_t bytes_out);
void traffic_reset(struct traffic *f);

/* {"requests":…,"round_trips":…,"bytes_in":…,"bytes_out":…,"by":{"GET head":…,…}} */
void traffic_counters(const struct traffic *f, struct buf *to);
void traffic_log(const struct traffic *f, struct buf *to); /* a JSON line a request */
/* Of these operations (bits; 0: all) on keys that fit the pattern ("": all): begun, or those that changed something. */
unsigned traffic_count(const struct traffic *f, unsigned operations, const char *key, bool committed);
