/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * reached - the packs that a snapshot refers to: pages, extents, extent lists, links and access list.
 *
 * For forks (is everything still there?), for prune (what must stay) and for parks (which packs are mostly dead). A set
 * may be filled from several snapshots. Live bytes are those of a frame, and of its extents in the pack's footer,
 * counted once while it is referred to in a row; what entries far apart share counts again: an upper bound. Memory is a
 * record a pack. One thread.
 */

#include "index/snapshot.h"
#include "index/tree.h"

struct reached_pack {
    struct pack_name name;
    uint64_t live; /* bytes in use: sealed frames, and what the footer has of their extents */
    bool metadata; /* holds pages, lists, links */
};

struct reached;

struct reached *reached_new(void);
void reached_free(struct reached *r); /* NULL is fine */
void reached_freep(struct reached **r);
/* Adds all that s and its tree refer to; reads every page and extent list through source. */
int reached_add(struct reached *r, const struct snapshot *s, struct tree *t, struct source *source, struct error *e);
bool reached_has(const struct reached *r, const struct pack_name *p);
/* Sorted by name; malloc'd. */
void reached_list(const struct reached *r, struct reached_pack **ret, size_t *ret_count);
