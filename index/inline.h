/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * inline - the pages that a snapshot object carries itself: on the way from the root to the first own entries of the
 * tree's top, project/ and home/, so that a mount's first questions need no other object (rule F2); the inner pages on
 * the way to names of hard links, if these are few, so that an `up` that joins them needs but their leaves; and the
 * inner levels that are small (up to some 30,000 files: all), so that any other look-up needs but one: its leaf.
 */

#include "index/links.h"
#include "index/snapshot.h"

/*
 * The pages to carry, root first, each once, at most SNAPSHOT_INLINE_MAX bytes in all: what does not fit costs its
 * reader a GET, and so does what cannot be read of the ways to hard links and of whole levels, unless the store cannot
 * be reached. source must know the tree's pages. *ret is malloc'd, for snapshot.pages.
 */
int inline_pages(struct source *source, const struct tree_root *root, const struct link_group *groups,
                 size_t group_count, struct snapshot_page **ret, size_t *ret_count, struct error *e);

/* A source that answers the snapshot's own pages and passes everything else on. Snapshot and below must outlive it. */
struct snapshot_source;
int snapshot_source_new(const struct snapshot *s, struct source *below, struct snapshot_source **ret, struct error *e);
struct source *snapshot_source_get(struct snapshot_source *s);
void snapshot_source_free(struct snapshot_source *s); /* NULL is fine */
