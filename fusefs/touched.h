/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * touched - which files were read first in this session: what becomes the access list (index/access, rule F6).
 *
 * Positions while the mount lives, paths in what outlives it. At most ACCESS_PATHS_MAX are kept, in order of first
 * touch. Recording is safe from any thread and costs an atomic test when the file is known.
 */

#include "index/access.h"
#include "index/tree.h"

struct touched;

int touched_new(uint64_t positions, struct touched **ret, struct error *e); /* tree_count */
void touched_free(struct touched *t);                                       /* NULL is fine */
void touched_note(void *t, uint64_t position);                              /* fits serve_config's touched */
size_t touched_count(struct touched *t);

/* Appends the access list's bytes; paths by the tree whose positions were recorded. Paths of `before`, an older list,
 * follow behind the new ones as far as they fit and are not among them. */
int touched_encode(struct touched *t, struct tree *tree, char *const *before, size_t before_count, struct buf *to,
                   struct error *e);
