/* SPDX-License-Identifier: MIT */
#pragma once

/* children - the small sealed objects box/<box>/<kind>/<name>, of which there are few (holds, forks): one, or all. */

#include "sync/seal.h"
#include "sync/store.h"

#define CHILDREN_MAX 65536
#define CHILD_MAX 4096 /* bytes of one */

/* 1: it is there and cannot be opened. -ENOENT: it is gone. ret_info also for 1. */
int children_open(struct store *s, const struct seal_context *c, const char *kind, enum seal_type type,
                  const char *name, struct buf *ret_body, struct store_info *ret_info, struct error *e);

/* What a list keeps of one object; -ENOENT leaves it out. */
typedef int (*children_get)(struct store *s, const struct seal_context *c, const char *name, void *ret,
                            struct error *e);
/* All of a kind, in the order of their names: an array of what get makes, size bytes each, malloc'd. -EFBIG
 * ERROR_DAMAGED: more than CHILDREN_MAX. */
int children_list(struct store *s, const struct seal_context *c, const char *kind, children_get get, size_t size,
                  void **ret, size_t *ret_count, struct error *e);
