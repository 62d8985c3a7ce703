/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * hydrate - fetches in the background what is not here yet (rules F2, F6).
 *
 * First all metadata, level by level; then every extent is told to the caller (for the cache's table of known content);
 * then file content, along the access list first and in path order after that. Frames are asked for in batches as
 * SOURCE_BACKGROUND, so demand always goes first; one batch at a time, or several at full speed. A store that cannot be
 * reached is tried again after a pause, without limit; damaged or lost frames are counted, named in the log and left
 * behind: what is new is opened, so that what is here can be read. It ends before it would take the place of what it
 * has just brought, and then counts what the cache has. One thread of its own and a small pool; all functions are safe
 * from any thread.
 */

#include "index/cache.h"
#include "index/tree.h"

struct hydrate;

enum hydrate_phase { HYDRATE_METADATA, HYDRATE_EXTENTS, HYDRATE_FIRST, HYDRATE_REST, HYDRATE_DONE, HYDRATE_STOPPED };

struct hydrate_config {
    struct tree *tree;
    struct source *source;
    struct cache *cache; /* where source keeps frames; NULL: what was fetched is taken to be here */
    /* The access list's paths, once, when their turn has come (from the hydrating thread; the store may be asked, and
     * be away); borrowed until hydrate_free. NULL: none. */
    size_t (*first)(void *arg, char *const **ret);
    bool metadata_only; /* BOX_HYDRATE=off: end before content is fetched, until hydrate_full_speed */
    /* Every extent of the tree, from the hydrating thread; may be NULL. Non-zero ends hydration. */
    int (*extent)(void *arg, const struct extent *x, struct error *e);
    /* All extents have been told; xattrs: whether any entry has one (serve_without_xattrs). May be NULL. */
    void (*scanned)(void *arg, bool xattrs);
    void *arg;
};

struct hydrate_progress {
    enum hydrate_phase phase;
    bool paused;
    uint64_t frames_total, frames_done; /* of content; total is known from HYDRATE_FIRST on, done is what is here */
    uint64_t bytes_total, bytes_done;   /* sealed */
    uint64_t lost;                      /* batches with something damaged or gone in them */
};

int hydrate_start(const struct hydrate_config *c, struct hydrate **ret, struct error *e);
void hydrate_free(
    struct hydrate *h); /* stops, waits; NULL is fine. A batch under way ends first: cancel the source to hurry. */

void hydrate_pause(struct hydrate *h, bool paused);
/* `ag-box hydrate`: several batches at once, from now on; also unpauses, and begins again where not all is here. */
void hydrate_full_speed(struct hydrate *h);
void hydrate_stop(struct hydrate *h); /* no new batch */
void hydrate_get(struct hydrate *h, struct hydrate_progress *ret);
/* Until all is here (0), stopped (-ECANCELED ERROR_INTERRUPTED) or failed (-ENOSPC: the disk is full; -EFBIG: the
 * cache's limit). -EIO ERROR_DAMAGED: done but for what is lost, of which it names the first. */
int hydrate_wait(struct hydrate *h, struct error *e);
