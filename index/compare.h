/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * compare - from "everything there is" to "what differs from the base".
 *
 * Takes a walk of a whole tree, or of one subtree, as PUTs in key order, and passes on: a PUT where the base has
 * nothing or something else (entry_same; content that has still to be read counts as other), DELETE for what only the
 * base has, DELETE_PREFIX for a subtree of the base of which nothing is left. Memory is bounded, and what is equal
 * costs no call. The PUTs passed on carry the base's entry, resolved. Of a walk of the whole tree they also get an ino
 * that no other entry of the result has: the walk's where it is free (rule O9); of a subtree whoever walks has seen to
 * that. One thread.
 */

#include "index/change.h"
#include "index/tree.h"

struct compare;

/* below: the key prefix of the subtree compared (key_subtree_prefix; empty: all). base NULL: nothing there. */
struct compare *compare_new(struct tree *base, struct bytes below, change_each each, void *arg);
int compare_change(void *compare, const struct change *c, struct error *e); /* a change_each */
int compare_finish(struct compare *c, struct error *e);                     /* what the base has after the last entry */
void compare_free(struct compare *c);                                       /* NULL is fine */
void compare_freep(struct compare **c);

/* Whether the PUT c changes nothing about raw, what the base has under its key. */
bool compare_same(const struct entry *raw, const struct change *c);
/* One entry against what the base has under its key (raw, NULL nothing): passes the PUT on if they differ. */
int compare_put(struct tree *base, const struct entry *raw, const struct change *c, change_each each, void *arg,
                struct error *e);
