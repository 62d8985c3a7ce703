/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * mount - mounts of ours, and what the kernel says about all mounts.
 *
 * Only mountinfo counts: which state a path is in is never remembered, always read. Paths are absolute and as the
 * kernel shows them (no symlinks, no trailing '/'). Nothing here is cached; safe from any thread.
 */

#include "index/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* One line of mountinfo (proc(5)); the strings are unescaped and borrowed for the time of the call. */
struct mount_line {
    int id, parent;
    dev_t device;
    const char *root;  /* of the mount within its file system; "/" unless it is a bind mount of a part */
    const char *point; /* where */
    const char *options, *type, *source, *super_options;
};

/* Calls each for every mount of the process whose mountinfo file is `path` (NULL: our own), in mount order, until it
 * returns non-zero, which is then the result. */
typedef int (*mount_each_call)(void *arg, const struct mount_line *m);
int mount_each(const char *path, mount_each_call each, void *arg, struct error *e);

/* The topmost mount at exactly this path. The strings are owned by the value. */
struct mount_found {
    dev_t device;
    char type[64];
    char source[256]; /* cut when longer */
    bool read_only;   /* the mount or its file system */
};
/* -ENOENT ERROR_UNKNOWN: nothing is mounted there. */
int mount_find(const char *path, struct mount_found *ret, struct error *e);
/* How many mounts there are below path, itself not counted; the first one's path in ret_first (size bytes; may be
 * NULL). */
int mount_count_below(const char *path, unsigned *ret, char *ret_first, size_t size, struct error *e);
/* A process whose mount namespace shows a mount of this type with `option` somewhere in its file system's options: then
 * it is still in use (rule P8), though it was unmounted here. 0: none. */
int mount_seen_anywhere(const char *type, const char *option, pid_t *ret, struct error *e);

/* A process whose mount namespace has something mounted at this path: the kernel takes that away there, without a word,
 * when the directory is removed here. 0: none. */
int mount_point_used(const char *path, pid_t *ret, struct error *e);

/*
 * Mounts the file system behind the /dev/fuse descriptor fd: read-only, nosuid, nodev, permissions checked by the
 * kernel. source is what mountinfo shows ("ag-box:demo").
 */
int mount_fuse(int fd, const char *source, const char *path, struct error *e);
/* Binds `from` at `to`, private, nosuid and nodev; read_only for this view of it only. */
int mount_bind(const char *from, const char *to, bool read_only, struct error *e);
/* -EBUSY ERROR_BUSY in use. detach: gone from here at once, really unmounted when the last user is. Nothing mounted: 0.
 */
int mount_unmount(const char *path, bool detach, struct error *e);

/*
 * A mount point of ours that has nothing mounted (rule O12): an empty directory, mode 0000 and immutable where the file
 * system knows that, so that nobody works in it by mistake. guard makes it (parents exist; what is there must be an
 * empty directory: -ENOTEMPTY ERROR_BUSY); free takes it away if it is such a directory, -ENOTEMPTY if it is not empty.
 */
int mount_point_guard(const char *path, struct error *e);
int mount_point_free(const char *path, struct error *e);
