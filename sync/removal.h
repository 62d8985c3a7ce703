/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * removal - deletes many objects, several at once, and everything of a box that is older than its tombstone.
 */

#include "sync/store.h"

#define REMOVAL_BATCH 64

/* At most REMOVAL_BATCH keys. What is gone already is fine; the first error ends it, and some are gone then. */
int removal_run(struct store *s, char (*keys)[STORE_KEY_MAX], size_t count, struct error *e);

/* Every object whose key starts with prefix. */
int removal_below(struct store *s, const char *prefix, struct error *e);

/*
 * Every object of the box but its head that was written before before_ns, by the store's clock: snapshots first, so
 * that none is ever there without its packs, then packs, condemned lists, holds, forks, and what else lies there. May
 * be cut off anywhere, and done again.
 */
int removal_of_box(struct store *s, const char *box, int64_t before_ns, size_t *ret_count, struct error *e);
