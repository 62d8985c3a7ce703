/* SPDX-License-Identifier: MIT */
#pragma once

/* children - what a LIST found below a prefix, without it, in order: for lists that are short (holds, forks). Bounded.
 */

#include "sync/store.h"

#define CHILDREN_MAX 65536

struct children {
    char **name; /* owned */
    size_t count;
};

/* -EFBIG ERROR_DAMAGED: more than CHILDREN_MAX. Replaces ret's content on success. */
int children_list(struct store *s, const char *prefix, struct children *ret, struct error *e);
void children_release(struct children *n);
