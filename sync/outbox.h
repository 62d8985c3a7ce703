/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * outbox - packs on their way: frames are compressed and sealed by threads, gathered into one data and one metadata
 * pack, and a full pack is PUT while the next one fills (rules F3, P4).
 *
 * Bounded: a full upload queue stops the sealing threads, and they stop the sender. At most two packs fill, one waits
 * and two are under way. A pack's PUT is If-None-Match *; an answer that is lost is settled by a stat, because a pack's
 * name is random and an object of that name and size can only be ours. Packs that the store has are journalled, handed
 * to the cache and told by outbox_sent.
 * The first error ends the outbox: what is queued is dropped, and every later call returns that error.
 * One thread sends; placements may be read from any.
 */

#include "index/cache.h"
#include "index/journal.h"
#include "sync/pack.h"

#include <stdatomic.h>

/* Where a frame lies, or will: shared by everyone who refers to it. `at` stands once `placed` is true. */
struct placement {
    atomic_int references;
    atomic_bool placed;
    struct locator at;
};

struct placement *placement_new(const struct locator *at); /* one reference; at NULL: not placed yet */
struct placement *placement_hold(struct placement *w);
void placement_drop(struct placement *w); /* NULL is fine */

/* A data frame that is still plain. */
struct outbox_frame {
    struct buf raw;
    struct pack_extent *extents;
    size_t count, room;
    struct placement *where;
};

struct outbox_frame *outbox_frame_new(void);    /* empty, with a placement of its own */
void outbox_frame_free(struct outbox_frame *f); /* NULL is fine */
void outbox_frame_add(struct outbox_frame *f, const struct hash *h, uint32_t length); /* of the next raw bytes */

struct outbox_config {
    struct store *store;
    struct seal_context seal;
    struct cache *cache;     /* may be NULL */
    struct journal *journal; /* may be NULL */
    struct writer writer;
    unsigned threads; /* that compress and seal; 0: as many as processors, at most 4 */
};

struct outbox_sent { /* a pack that the store has */
    struct pack_name name;
    uint32_t size;
    bool metadata;
};

struct outbox;

int outbox_new(const struct outbox_config *c, struct outbox **ret, struct error *e);
/* Stops without sending what is not under way; waits for the threads. NULL is fine. */
void outbox_free(struct outbox *o);

int outbox_send(struct outbox *o, struct outbox_frame *f, struct error *e); /* takes f, also on error */
/* Sealed at once, in the caller's thread. hash: by which it will be found again. */
int outbox_send_meta(struct outbox *o, enum frame_kind kind, struct bytes raw, const struct hash *hash,
                     struct locator *ret, struct error *e);
int outbox_wait(struct outbox *o, const struct placement *w, struct error *e); /* until it is placed */
int outbox_flush(struct outbox *o, struct error *e);                           /* until the store has everything */
int outbox_check(struct outbox *o, struct error *e);                           /* 0, or the first error */
/* The next pack of those that the store has, each told once; false: none that is not told. */
bool outbox_sent(struct outbox *o, struct outbox_sent *ret);
uint64_t outbox_bytes(struct outbox *o); /* sent so far */
