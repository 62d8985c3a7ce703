/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * grow - a new search tree from a base tree and sorted changes; untouched pages are referenced, not rewritten.
 *
 * Changes come in strictly rising key order. A page boundary follows an entry whose key's hash ends in 5 zero bits (at
 * level n: 5 * (n + 1)), or a hard limit of entries or bytes, so that the same set of keys is cut alike whatever its
 * history, and k changed entries rewrite O(k) pages (rule F1). After the last change all pages in memory are emitted.
 * New pages are handed to `emit`, which seals and packs them and returns their locator; the children of a page are
 * always emitted before it. One thread; memory O(depth * page + changed pages).
 */

#include "index/tree.h"

struct grow;

typedef int (*grow_emit)(void *arg, struct bytes page, uint8_t level, struct locator *ret, struct error *e);

/* base may be NULL: an empty tree. It must stay open until grow_free. cut_key: of page_cut. */
int grow_new(struct tree *base, const struct hash_key *cut_key, grow_emit emit, void *arg, struct grow **ret,
             struct error *e);
/*
 * Add or replace. -E2BIG ERROR_FAILED: the record is larger than a page can be (nothing is changed).
 * Any other error of a grow function ends it: only grow_free may follow. -EINVAL ERROR_FAILED: the order was not kept.
 */
int grow_put(struct grow *g, struct bytes key, const struct entry *n, struct error *e);
int grow_delete(struct grow *g, struct bytes key, struct error *e); /* absent: nothing */
/*
 * Deletes every key of the base that starts with prefix, which must be greater than the change before it. Changes
 * behind it may put keys of the prefix anew. Leaves that lie in it whole are not read.
 */
int grow_delete_prefix(struct grow *g, struct bytes prefix, struct error *e);
int grow_finish(struct grow *g, struct tree_root *ret, struct error *e);
void grow_free(struct grow *g); /* NULL is fine */
