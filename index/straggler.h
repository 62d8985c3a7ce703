/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * straggler - whether somebody still wrote into a directory that was moved aside (rule T3): a program that had it open,
 * or its working directory in it, when it was parked and its name went away.
 *
 * Walks the directory again and tells what is not as the committed snapshot has it, in the letters of index/difference;
 * an excluded entry is an 'A', because the park took all of them away (index/stash). Content is read unless the stat
 * cache knows it, so that a write that put its times back is seen too. Directories' own times do not count. One thread.
 */

#include "index/difference.h"
#include "index/exclude.h"
#include "index/journal.h"

struct straggler_config {
    int project;                 /* the directory that was moved aside */
    struct tree *tree;           /* of the snapshot that the park committed */
    struct source *source;       /* of tree */
    const struct hash_key *key;  /* the store's content key */
    const struct exclude *rules; /* as that snapshot has them; NULL: secrets alone */
    struct journal *journal;     /* NULL: read everything */
};

/* ret_count: paths told. */
int straggler_find(const struct straggler_config *c,
                   int (*tell)(void *arg, char letter, const char *path, struct error *e), void *arg, size_t *ret_count,
                   struct error *e);
