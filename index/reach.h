/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * reach - going down into a tree that somebody else may be changing, with few descriptors at any depth.
 *
 * A walker keeps the descriptors of its first REACH_OPEN_MAX levels; below, it closes a directory before it goes down
 * and opens the next one by its path beneath the root (rule T5: openat2 RESOLVE_BENEATH, no links followed). Access
 * times are left alone where the kernel allows it. Functions return a descriptor or -errno.
 */

#include "index/base/buf.h"
#include "index/base/error.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#define REACH_OPEN_MAX 48

/* Where a descent began: the tree's directory name ("project", "home"), or the whole tree (""). */
struct reach_root {
    const char *name;
    int fd; /* borrowed */
};

/* The directory path of the tree ("project/src/lib"; its last component is name), by its parent's descriptor if that is
 * >= 0. */
int reach_directory(const struct reach_root *root, int parent, const char *path, const char *name);
/* A regular file for reading: never waits for a pipe or a lease, never follows a link. */
int reach_file(int parent, const char *name);

/* The directory of path beneath root, opened (rule T5), and path's last component. */
int reach_parent(int root, const char *path, int *ret_fd, const char **ret_name);

/* What a name that was just listed answers when it is gone, or became something else. */
static inline bool reach_vanished(int code)
{
    return code == -ENOENT || code == -ENOTDIR || code == -ELOOP;
}

/* So often a live walk looks at a name that somebody replaces while it looks: by rename, as editors save. */
#define REACH_TRIES 3

/* path += "/" name. Returns the length to give reach_up; -ENAMETOOLONG when it would be longer than PATH_LEN_MAX. */
ssize_t reach_down(struct buf *path, const char *name, struct error *e);
void reach_up(struct buf *path, ssize_t len);
