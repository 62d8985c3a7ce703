/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * touches - which files were read first in this session: what the access list is made from (rule F6).
 *
 * Positions while the mount lives, paths in what outlives it. They lie in a file, so that a daemon that is started anew
 * goes on with its predecessor's. At most ACCESS_PATHS_MAX are kept. Recording is safe from
 * any thread and costs an atomic test when the file is known.
 */

#include "index/tree.h"

struct touches;

/*
 * positions: tree_count. path: a file that lives as long as the mount at most; NULL: in memory alone. session: what it
 * is of (at most 63 bytes): a file of another one begins anew. One that cannot be used costs only what it would keep.
 */
int touches_new(uint64_t positions, const char *path, const char *session, struct touches **ret, struct error *e);
void touches_free(struct touches *t);               /* NULL is fine */
void touches_add(void *touches, uint64_t position); /* fits serve_config's touched */
size_t touches_count(struct touches *t);
/* Appends the access list (index/access) of the first `most` touches; paths by the tree whose positions were recorded.
 */
int touches_encode(struct touches *t, struct tree *tree, size_t most, struct buf *to, struct error *e);
