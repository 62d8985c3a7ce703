/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * cursor - the entries of a tree one by one, for whoever merges them with another sorted sequence.
 *
 * Reads ahead in batches of tree_scan, so memory is bounded whatever the tree. The tree must outlive it; tree NULL is
 * an empty tree. One thread. Entries are as tree_scan gives them: links come as ENTRY_LINK.
 */

#include "index/tree.h"

struct cursor;

/* Over the entries whose key starts with prefix. */
struct cursor *cursor_new(struct tree *t, struct bytes prefix);
void cursor_free(struct cursor *c); /* NULL is fine */

/* 1: key and entry are those under the cursor, borrowed until it moves; 0: at the end. Does not move. */
int cursor_peek(struct cursor *c, struct bytes *ret_key, const struct entry **ret_entry, struct error *e);
void cursor_next(struct cursor *c);
/* The key under the cursor starts with prefix, which is that of a subtree or of own entries: moves behind all such
 * keys. */
void cursor_skip(struct cursor *c, struct bytes prefix);
