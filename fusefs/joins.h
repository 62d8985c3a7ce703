/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * joins - makes the names that are one inode one inode again, through the mounted overlay (rule O2).
 *
 * For each group of the snapshot the first name is linked to a temporary name in the directory of each other name and
 * renamed over it (an unlink first would leave a whiteout). link(2) copies up metadata alone: no content is read, and
 * the overlay sets the redirects. The times of every directory that changed are put back. Runs before anyone else sees
 * the tree, on an upper that is thrown away if it fails. Every path is opened beneath root, without following symlinks
 * (rule T5). Nothing is listed: it looks up each name and its parents, once whoever calls has brought their pages here
 * (index/ways).
 */

#include "index/snapshot.h"

/* Both may be NULL. */
struct joins_told {
    void (*progress)(void *arg, size_t names); /* so many more are done */
    /* One name too many for the file system (ext4 takes 65,000): it and those after it are another file. */
    void (*apart)(void *arg, const char *path);
    void *arg;
};

/* root: a descriptor of the merged root. -EBADMSG ERROR_DAMAGED: a name is not there, or a group is not what it should
 * be. */
int joins_make(int root, const struct link_group *groups, size_t count, const struct joins_told *told, struct error *e);
