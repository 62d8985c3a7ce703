/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * stat-cache - content that need not be read again: a record in the journal says what a file held when device, inode,
 * size, mtime and ctime were what they are now (rule V2).
 *
 * Only a file that was settled when the walk that read it began may be put: a later change within the same tick of the
 * clock would leave equal times. Walkers say so in change.settled; they call syncfs(2) before their first stat, because
 * a store through a mapping into a page that is dirty already changes no time. Where that does not help they use none.
 */

#include "index/change.h"
#include "index/journal.h"

/* Whether times tell of every change on the file system of fd. Not in tmpfs and ramfs: nothing is ever written back
 * there, so a page that was stored to once is dirty for good. */
bool stat_cache_serves(int fd);
/* Whether a change from start_ns on (clock_wall_ns) gives n another ctime: a tick is 10 ms at most, but where file
 * systems keep whole seconds (ext4 with inodes of 128 bytes, ext3, some servers), or two (FAT). */
bool stat_cache_settled(const struct entry *n, int64_t start_ns);

/*
 * Gives n, a file with its attributes, the content it had. -ENOENT: not known, read it. n->size and times are what stat
 * says now.
 */
int stat_cache_find(struct journal *j, struct bytes path, uint64_t device, uint64_t inode, struct entry *n,
                    struct error *e);

/* For whoever has read the content of c (c->settled) and now has it in n. Nothing is put for what is not settled. */
int stat_cache_put(struct journal *j, struct bytes path, const struct change *c, const struct entry *n,
                   struct error *e);
