/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * mirror - an entry of one tree made equal to an entry of another, file by file: how the user's configuration gets out
 * of HOME and into it.
 *
 * A file or symbolic link is replaced whole, by a rename: at every moment, and after any crash, it is the old or the
 * new one. Of a directory all is made equal: what `from` has not is removed. What is equal by type, attributes, size
 * and time is not read; but where nothing is kept of `to`, because it is nobody else's, a file is that may have changed
 * in the tick of the clock in which it was copied. Nothing is followed in either tree (rule T5). Left alone, on both
 * sides, are secrets (exclude_secret; in `from` by any name of the inode) and what is neither file, directory nor
 * symbolic link. Names of one inode become files of their own. Somebody may be writing in both trees: what changes
 * while it is looked at is looked at again, REACH_TRIES times. One thread.
 */

#include "index/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct mirror_stats {
    uint64_t entries, bytes;   /* looked at */
    uint64_t changed, removed; /* files and symbolic links */
    uint64_t kept;
};

struct mirror_config { /* descriptors are borrowed */
    int from, to;
    /*
     * What somebody has changed in `to` since it was made equal to `last` (-1: not known), and what `from` has not, is
     * copied to `kept`, an empty directory, under its path, and on disk there, before it is replaced or removed. -1: it
     * is not.
     */
    int last, kept;
    void (*told)(void *arg, const char *path); /* of what was kept, the path in `to`; may be NULL */
    /* Of what is left alone for its type ("a FIFO") in `from`, or in the way in `to`: the path in `to`. May come twice.
     * May be NULL. */
    void (*left)(void *arg, const char *path, const char *type);
    /* Before every entry; non-zero ends it with that result. May be NULL. */
    int (*check)(void *arg, const struct mirror_stats *so_far, struct error *e);
    void *arg;
};

/*
 * from, to: paths beneath the two roots. Missing directories above `to` are made, 0700. Adds to *stats. -ELOOP: a
 * directory above `to` is a symbolic link; -EAGAIN ERROR_BUSY: an entry changed each time; others as they come.
 */
int mirror_run(const struct mirror_config *c, const char *from, const char *to, struct mirror_stats *stats,
               struct error *e);
