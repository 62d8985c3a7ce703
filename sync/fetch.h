/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * fetch - the source (index/source.h) over store and cache: what is asked for comes from memory, else from the cache,
 * else by one ranged GET of its pack, however many ask.
 *
 * Every frame is opened under its name whenever it is read, from the cache too: a range that rotted on the disk is
 * forgotten and fetched again, without an error. warm without a cache does nothing; it goes on past frames that are
 * damaged or gone and returns the first such error, but stops with -ENOSPC ERROR_FAILED when the cache cannot take
 * more. The time limit is one of waiting, for reads and demand warms; background work waits without limit.
 * A GET in progress is not cut short by a waiter that leaves; store_cancel (Ctrl-C) ends all waits with -ECANCELED.
 */

#include "index/cache.h"
#include "index/source.h"
#include "sync/seal.h"
#include "sync/store.h"

struct fetch;

struct fetch_config {
    struct store *store;         /* must outlive */
    struct seal_context seal;    /* what it points to must outlive */
    struct cache *cache;         /* must outlive; NULL: nothing is kept on disk */
    unsigned timeout_s;          /* 0: wait for ever */
    unsigned background_threads; /* ranges in the background at once; 0: 4 */
    bool keep_metadata;          /* marks metadata frames that are read as never to be evicted: for the mounted base */
};

struct fetch_stats {
    uint64_t waiting_reads;    /* gets that wait for the store now */
    uint64_t background_queue; /* frames */
    uint64_t gets, bytes;      /* requests sent (attempts), bytes fetched */
    int64_t unreachable_since; /* clock_boot ns since when no request succeeded; 0: the store answers */
};

int fetch_new(const struct fetch_config *c, struct fetch **ret, struct error *e);
/* No call may be in it any more. Waits for GETs in progress: store_cancel makes that short. NULL is fine. */
void fetch_free(struct fetch *f);
void fetch_freep(struct fetch **f);
struct source *fetch_source(struct fetch *f);
void fetch_get_stats(struct fetch *f, struct fetch_stats *ret);
/* All waiters, and all later calls that would wait, get -ECANCELED ERROR_INTERRUPTED. */
void fetch_stop(struct fetch *f);
