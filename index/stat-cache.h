/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * stat-cache - content that need not be read again: a record in the journal says what a file held when device, inode,
 * size, mtime and ctime were what they are now (rule V2).
 *
 * Only a file whose ctime lies more than STAT_CACHE_SETTLED_NS before the beginning of the walk that read it may be
 * put: a later change within the same tick of the clock would leave equal times. Walkers say so in change.settled; they
 * call syncfs(2) before their first stat, because a store through a mapping into a page that is dirty already changes
 * no time.
 */

#include "index/change.h"
#include "index/journal.h"

#define STAT_CACHE_SETTLED_NS (20 * 1000 * 1000)

/*
 * Gives n, a file with its attributes, the content it had. -ENOENT: not known, read it. n->size and times are what stat
 * says now.
 */
int stat_cache_find(struct journal *j, struct bytes path, uint64_t device, uint64_t inode, struct entry *n,
                    struct error *e);

/* For whoever has read the content of c (c->settled) and now has it in n. Nothing is put for what is not settled. */
int stat_cache_put(struct journal *j, struct bytes path, const struct change *c, const struct entry *n,
                   struct error *e);
