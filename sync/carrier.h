/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * carrier - the threads that bring queued flights from the store: GET, open, put into the cache, land.
 *
 * A store that cannot be reached is tried again for ever, with growing pauses that end early when any other request
 * succeeds; as long as somebody waits. Background ranges start, and try again, only while no demand flight is queued or
 * flying. What cannot be true is asked for twice: a merged range first in pieces, then the frame alone; then it is -EIO
 * ERROR_DAMAGED. -ENOENT ERROR_DAMAGED: the pack is gone. Nothing of this is remembered once the flight has landed.
 */

#include "index/cache.h"
#include "sync/flight.h"
#include "sync/recent.h"
#include "sync/seal.h"
#include "sync/store.h"

#include <pthread.h>

#define CARRIER_DEMAND_THREADS 8

struct carrier {
    struct store *store;
    struct seal_context seal;
    struct cache *cache; /* may be NULL */
    bool keep_metadata;
    unsigned background_threads;

    pthread_mutex_t lock;  /* everything below */
    pthread_cond_t work;   /* for carrier threads: queues, successes, stopping */
    pthread_cond_t landed; /* for waiters: a flight was decoded or landed, stopping */
    struct flights flights;
    struct recent recent;
    unsigned background_active;
    bool stopping;
    uint64_t successes, gets, bytes;
    int64_t unreachable_since; /* clock_boot; 0: the store answers */
    pthread_t *threads;
    unsigned thread_count;
};

/* The fields above lock are set by the caller. */
int carrier_start(struct carrier *c, struct error *e);
void carrier_stop(struct carrier *c);
/* Stops, waits for the threads (a GET in progress ends first; store_cancel shortens that), frees what c owns. */
void carrier_release(struct carrier *c);

/* With lock held: for cond waits that look at the clock and at flags in between. */
void carrier_wait_slice(struct carrier *c, pthread_cond_t *cond, int64_t ns);
/* Without lock: the frame from its sealed bytes. */
int carrier_open(const struct carrier *c, const struct locator *l, enum frame_kind kind, struct bytes sealed,
                 struct frame **ret, struct error *e);
