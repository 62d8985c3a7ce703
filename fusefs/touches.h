/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * touches - which files were read first in this session: what the access list is made from (rule F6).
 *
 * Positions while the mount lives, paths in what outlives it. At most ACCESS_PATHS_MAX are kept. Recording is safe from
 * any thread and costs an atomic test when the file is known.
 */

#include "index/tree.h"

struct touches;

int touches_new(uint64_t positions, struct touches **ret, struct error *e); /* tree_count */
void touches_free(struct touches *t);                                       /* NULL is fine */
void touches_add(void *touches, uint64_t position);                         /* fits serve_config's touched */
size_t touches_count(struct touches *t);
/* Appends the access list (index/access) of the first `most` touches; paths by the tree whose positions were recorded.
 */
int touches_encode(struct touches *t, struct tree *tree, size_t most, struct buf *to, struct error *e);
