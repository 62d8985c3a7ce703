/* SPDX-License-Identifier: MIT */
#pragma once

/* stash-slot - the numbered directories of a stash, for index/stash alone. */

#include "index/stash.h"

#define STASH_PATH "path"
#define STASH_ENTRY "entry"

struct stash {
    int fd;            /* the stash directory */
    uint32_t *numbers; /* of the slots, rising */
    size_t count;
};

/* Reads the slots; removes those that hold no entry. */
int stash_slot_tidy(struct stash *s, struct error *e);
/* A new slot for path, without entry; not yet on disk. */
int stash_slot_new(struct stash *s, const char *path, uint32_t *ret_number, struct error *e);
/* ret_path (malloc'd) may be NULL. */
int stash_slot_open(struct stash *s, uint32_t number, int *ret_fd, char **ret_path, struct error *e);
