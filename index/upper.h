/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * upper - what was changed in a mounted box: the upper layer of its overlay against the base that the lower shows.
 *
 * Reads the raw upper directory as Documentation/filesystems/overlayfs.rst describes it (rule O6): whiteouts in both
 * forms, opaque directories, redirects of directories (relative, absolute, within each other) and metadata-only copies
 * (metacopy), whose content is the base's and is not read. Work is O(what the upper holds + what was moved):
 * directories that stand where the base has them are visited only where the upper has names; of a moved directory
 * everything comes as PUT. An upper entry equal to the base's is no change. Changes come in key order as index/change
 * asks.
 *
 * Names of one inode: `up` has joined all names of every link group of the base in the upper (rule O2) before anyone
 * could change the tree, so an upper inode's names are all the names it has; that is a precondition here.
 * An entry's ino and ctime are what lstat through the mounted overlay says (rule O9), ino unique in the snapshot.
 * The upper is only true over the base it was made on (rule O4): a content or directory it refers to that is not in the
 * base is -EIO ERROR_DAMAGED. The form "userxattr" is not supported. Few descriptors at any depth. One thread.
 */

#include "index/tree.h"
#include "index/walk.h"

struct upper_config {
    int upper;  /* the overlay's raw upper directory */
    int merged; /* the overlay's root; -1: not mounted, the upper's own ino and ctime are taken */
    struct tree *base;
    const struct exclude *rules; /* NULL: secrets alone */
    bool rules_changed;          /* since base was saved: it may hold what they cover now; costs a scan of the base */
    struct journal *journal;     /* as in walk_config, and so are the others */
    bool live, names_only;
    int (*excluded)(void *arg, const char *path, bool directory, struct error *e);
    void *excluded_arg;
};

/* ret: files, directories and bytes of the PUTs; what was left out, as in walk. */
int upper_run(const struct upper_config *c, change_each each, void *arg, struct walk_stats *ret, struct error *e);
