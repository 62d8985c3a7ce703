/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * save - a new snapshot from a stream of changes: content through push, entries through grow, then the snapshot object
 * (P4, P5). The head is not touched: whoever calls commits the id afterwards.
 *
 * save_change is a change_each: feed it a walker. Entries whose content is still being packed wait in a bounded queue,
 * in order. If the tree comes out as the parent's, nothing is written and ret_changed is false: a park without changes
 * keeps the root. One thread calls; push's threads work inside.
 */

#include "index/change.h"
#include "index/tree.h"
#include "sync/push.h"
#include "sync/snapshots.h"

struct save_config {
    struct push_config push;
    struct source *source;       /* over the same cache: reads base pages, and new ones for inlining */
    const struct snapshot *base; /* what the changes are relative to; NULL: to nothing */
    struct tree *base_tree;      /* of base; NULL with it */
    struct tree *parent_tree; /* where parent is not base: what has not changed since keeps its record; may be NULL */
    const struct snapshot *parent; /* the line's newest: often base, or the last live snapshot; NULL: first */
    struct hash_key cut_key;
    const char *node;
    const uint8_t *incarnation; /* 16 bytes */
    /* A file that changed each time it was read is taken as it is, and told if that may be torn (rule V1). NULL: it
     * ends the save with -EAGAIN ERROR_BUSY. */
    void (*unsettled)(void *arg, const char *path);
    void *unsettled_arg;
    bool all_metadata; /* every entry is put: nothing of the base's metadata is referred to (sync/tidy) */
    bool content_only; /* no snapshot comes of it: content is sent ahead and remembered for the next walk (rule V1) */
    uint64_t epoch;
};

/* What is known only when the walk is over. */
struct save_end {
    const char *meta; /* JSON; another one than the parent's makes a new snapshot */
    const char *meta_then; /* what a new snapshot gets, if that is more; NULL: meta */
    uint64_t sockets; /* skipped by the walker */
    bool one_instant;
    struct bytes access; /* encoded access list; empty: the base's is kept */
};

struct save;

int save_new(const struct save_config *c, struct save **ret, struct error *e);
int save_change(void *save, const struct change *c, struct error *e);
/* ret: the new snapshot, or a shallow view of the parent's id when nothing changed (then only id is set). Caller
 * releases. */
int save_finish(struct save *s, const struct save_end *end, struct snapshot *ret, bool *ret_changed,
                struct push_stats *ret_stats, struct error *e);
/* The end of one that is content_only: all of it is in the store. */
int save_content_end(struct save *s, struct push_stats *ret_stats, struct error *e);
void save_free(struct save *s); /* NULL is fine */
void save_freep(struct save **s);
