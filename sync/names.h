/* SPDX-License-Identifier: MIT */
#pragma once

/* names - what a LIST found below a prefix, without it, in order: for lists that are short (holds, forks). Bounded. */

#include "sync/store.h"

#define NAMES_MAX 65536

struct names {
    char **name; /* owned */
    size_t count;
};

/* -EFBIG ERROR_DAMAGED: more than NAMES_MAX. Replaces ret's content on success. */
int names_list(struct store *s, const char *prefix, struct names *ret, struct error *e);
void names_release(struct names *n);
