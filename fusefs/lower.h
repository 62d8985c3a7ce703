/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * lower - the kernel's questions about the read-only lower, answered from a tree and a source (rules O5, O7).
 *
 * Everything said is valid for ever: names, attributes, symlinks, absent names. open and opendir answer ENOSYS, so that
 * the kernel stops asking; it keeps file pages and directory listings. Permissions and ACLs are checked by the kernel.
 * Of the overlay's own extended attributes (trusted.overlay.*) there are none.
 *
 * What waits for the store waits without limit, but never with a lock or an answer buffer. What is damaged or gone is
 * EIO at once, logged with its path, and asked for again the next time. A cancelled source leaves the request to the
 * next daemon.
 */

#include "fusefs/inode.h"
#include "fusefs/reader.h"

#include <fuse_lowlevel.h>

struct lower {
    struct inode_map *inodes;
    struct reader *reader;
    struct answers *answers;
    uint64_t bytes;                                /* for statfs */
    void (*touched)(void *arg, uint64_t position); /* a file's content is read, called often; may be NULL */
    void *touched_arg;
};

/* The operations of fuse_session_new, with a struct lower as user data. */
extern const struct fuse_lowlevel_ops lower_operations;
