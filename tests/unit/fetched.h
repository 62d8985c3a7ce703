/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * fetched - one box with one pack of FETCHED_FRAMES frames in a twin store, a cache, and a fetch over both, for tests
 * of sync/fetch.
 */

#include "sync/fetch.h"
#include "tests/unit/twin-store.h"

#include <pthread.h>

#define FETCHED_FRAMES 60u
#define FETCHED_RAW (40u * 1024) /* incompressible: two frames are further apart than FLIGHT_GAP alone */

struct fetched {
    char directory[64], cache_path[96], key[STORE_KEY_MAX];
    struct twin_store *twin;
    struct cache *cache;
    struct fetch *fetch;
    struct locator frames[FETCHED_FRAMES];
};
extern struct fetched fetched;

int fetched_set_up(void **state); /* cmocka's, as the next */
int fetched_tear_down(void **state);
void fetched_pack(void); /* once more, under another name: the frames are that one's */
void fetched_open(unsigned timeout_s);
void fetched_open_again(void); /* a new process's view: nothing in memory, the cache as it is */

void fetched_remove(const char *path); /* a tree */

int fetched_get(uint32_t frame, struct error *e); /* -EILSEQ: other bytes */
int fetched_warm(const uint32_t *which, size_t count, enum source_urgency urgency, struct error *e);
unsigned fetched_gets(void);
void fetched_fail(int code, int times); /* GETs */

struct fetched_reader {
    pthread_t thread;
    uint32_t frame;
    int result;
    struct error error;
};
void fetched_start(struct fetched_reader *r, uint32_t frame);
int fetched_finish(struct fetched_reader *r); /* its result */
void fetched_wait_readers(unsigned n);        /* at most 10 s, as the next */
void fetched_wait_outage(void);
