/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * lists - the extents of a file, wherever they are kept.
 *
 * A few stand in the entry itself; more are in frames of their own (FRAME_EXTENTS), decoded here once and kept for the
 * files read last, within LISTS_EXTENTS extents in all. Order and bounds of what was fetched are checked. Safe from any
 * thread.
 */

#include "index/entry.h"
#include "index/source.h"

#define LISTS_EXTENTS (256u * 1024) /* some 25 MB; a single longer list is still served */

struct lists;
struct list;

/* Borrowed from the entry or from a kept list: the entry must outlive it. */
struct extents {
    const struct extent *at;
    size_t count;
    struct list *kept;
};

int lists_new(struct source *source, struct lists **ret, struct error *e);
void lists_free(struct lists *l); /* no extents in use; NULL is fine */

/* The extents of n, the file at position. May wait for the store. Errors are source_get's, -EBADMSG ERROR_DAMAGED. */
int lists_get(struct lists *l, uint64_t position, const struct entry *n, struct extents *ret, struct error *e);
void lists_release(struct lists *l, struct extents *x);

/* The first extent that ends behind offset; count if there is none. */
size_t extents_from(const struct extents *x, uint64_t offset);
