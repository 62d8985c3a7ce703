/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * lower - the kernel's questions about the read-only lower, answered from a tree and a source (rules O5, O7).
 *
 * Everything said is valid for ever: names, attributes, symlinks, absent names. open and opendir answer ENOSYS, so that
 * the kernel stops asking; it keeps file pages and directory listings. Permissions and ACLs are checked by the kernel.
 * Of extended attributes that are another file system's own (entry_xattr_left_out) there are none.
 *
 * Overlayfs asks for its own attributes at every file it looks up, which costs more than all else. So once it is known
 * that the tree has no extended attributes at all, getxattr answers ENOSYS too, and the kernel never asks again
 * ([M] walking 46k files through the overlay: 2.5 s before, 0.8 s after).
 *
 * What waits for the store waits without limit, but never with a lock or an answer buffer. What is damaged or gone is
 * EIO at once, logged with its path, and asked for again the next time. A cancelled source leaves the request to the
 * next daemon.
 */

#include "fusefs/inode.h"
#include "fusefs/reader.h"

#include <fuse_lowlevel.h>
#include <stdatomic.h>

struct lower {
    struct inode_map *inodes;
    struct reader *reader;
    struct answers *answers;
    atomic_bool no_xattrs;                         /* may become true at any time */
    uint64_t bytes;                                /* for statfs */
    void (*touched)(void *arg, uint64_t position); /* a file's content is read, called often; may be NULL */
    void *touched_arg;
};

/* The operations of fuse_session_new, with a struct lower as user data. */
extern const struct fuse_lowlevel_ops lower_operations;
