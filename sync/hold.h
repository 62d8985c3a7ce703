/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * hold - box/<name>/hold/<state>-<rand>: "this snapshot is in use here" (rule S2). Packs lie under the writer that a
 * hold names.
 *
 * Order, always: the writer's name is journalled, the hold is PUT, and only then are the head and its condemned list
 * read again (or, with a lease, its PUT succeeds): so that a prune sees the hold or the user of the snapshot sees the
 * list (FORMAT.md, attack 12). It is removed when nothing of the snapshot is in use here. A hold lost to a crash before
 * its PUT is one that nobody needs.
 */

#include "index/snapshot.h"
#include "sync/node.h"
#include "sync/seal.h"

struct hold {
    struct writer writer; /* its name */
    char node[64];
    struct snapshot_id snapshot; /* none: packs of a first snapshot */
    int64_t time_s;              /* the node's wall clock, since 1970 */
    /* not in the body: */
    int64_t age_ns; /* by the store's clock */
    bool damaged;   /* cannot be read: it holds, but nobody knows what; prune leaves such a box alone */
};

void hold_new_writer(const struct node *n, struct writer *ret);
void hold_key(const char *box, const struct writer *w, char to[STORE_KEY_MAX]);
/* snapshot may be none. Unconditional: it is nobody else's key, and may be PUT again. */
int hold_put(struct store *s, const struct seal_context *c, const struct writer *w, const struct node *n,
             const struct snapshot_id *snapshot, struct error *e);
int hold_remove(struct store *s, const char *box, const struct writer *w, struct error *e); /* absent: 0 */

/* All of a box, in order of their names; malloc'd. One that goes between LIST and GET is left out. -EBADMSG
 * ERROR_DAMAGED: a key that is no hold's. */
int hold_list(struct store *s, const struct seal_context *c, struct hold **ret, size_t *ret_count, struct error *e);
/* Made with this node's state directory, but not among the writers that it knows of (its journal's, its mounts'). */
bool hold_is_stray(const struct hold *h, const struct node *n, const struct writer *known, size_t count);
/* The opened body: for fuzzers and `debug dump`. -EBADMSG ERROR_DAMAGED, -ENOTSUP ERROR_USAGE. */
void hold_encode_body(const struct hold *h, struct buf *to);
int hold_decode_body(struct bytes json, struct hold *ret, struct error *e);
