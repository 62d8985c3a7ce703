/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * source - "give me these bytes": the one place where fusefs and index meet whoever can fetch.
 *
 * sync/fetch implements it over cache and store; tests have a twin in memory that delays, fails and truncates.
 *
 * get returns the decoded bytes of one frame as a counted reference. It blocks until they are here, as long as it takes
 * (design "Outages": a store that cannot be reached is waited for unless a time limit is configured), and is safe from
 * many threads: concurrent calls for one frame join one fetch (single-flight). A demand overtakes everything queued as
 * background. Errors: -EIO ERROR_DAMAGED (the store's bytes cannot be true), -ENOENT ERROR_DAMAGED (the object is
 * gone), -ETIMEDOUT ERROR_STORE (time limit configured and passed), -ECANCELED (stopped). Errors are never remembered.
 *
 * warm asks for many frames at once, near ones merged to one ranged GET, and returns when all are in the local cache;
 * frames already there cost nothing. It decodes nothing.
 *
 * opens tells whether a frame is in the local cache and is what it should be; one that is not is forgotten there.
 */

#include "index/base/error.h"
#include "index/locator.h"

#include <stdatomic.h>

struct frame {
    atomic_int references;
    size_t len;
    uint8_t data[];
};

struct frame *frame_new(size_t len); /* one reference, data not initialised */
struct frame *frame_hold(struct frame *f);
void frame_drop(struct frame *f); /* NULL is fine */
void frame_dropp(struct frame **f);

enum source_urgency { SOURCE_DEMAND, SOURCE_BACKGROUND };

struct source {
    int (*get)(struct source *s, const struct locator *l, enum frame_kind kind, struct frame **ret, struct error *e);
    int (*warm)(struct source *s, const struct locator *l, size_t count, enum source_urgency urgency, struct error *e);
    bool (*opens)(struct source *s, const struct locator *l, enum frame_kind kind); /* NULL: all do */
};

static inline int source_get(struct source *s, const struct locator *l, enum frame_kind kind, struct frame **ret,
                             struct error *e)
{
    return s->get(s, l, kind, ret, e);
}

static inline int source_warm(struct source *s, const struct locator *l, size_t count, enum source_urgency urgency,
                              struct error *e)
{
    return s->warm(s, l, count, urgency, e);
}

static inline bool source_opens(struct source *s, const struct locator *l, enum frame_kind kind)
{
    return !s->opens || s->opens(s, l, kind);
}

/*
 * warm for whoever reads the frames next, cached or not. 1, and no error: the cache cannot take them (its disk is
 * full), and they come when they are read.
 */
int source_prepare(struct source *s, const struct locator *l, size_t count, enum source_urgency urgency,
                   struct error *e);

/*
 * Replaces ret by the frames' bytes one after the other: how byte strings that may pass FRAME_RAW_MAX are stored
 * (links, access). More than max bytes in all is damage, found before anything is fetched where the locators say so.
 */
int source_join(struct source *s, const struct locator *l, size_t count, enum frame_kind kind, size_t max,
                struct buf *ret, struct error *e);
