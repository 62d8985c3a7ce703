/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * fill - a snapshot's tree, or its project or home, written into a plain directory exactly as it was (rule F4).
 *
 * Directories, files with their holes, symbolic links, fifos, devices, names of one inode as hard links, owners,
 * modes, xattrs with ACLs, mtimes (directories' when nothing is made in them any more). The target's own default ACL
 * goes first, so that nothing inherits it. A link whose first name lies outside of `from` is a file here; its
 * further names are linked to that. So is a name that is one too many for the file system (ext4 takes 65,000).
 * Everything is reached beneath the target with openat2 (rule T5), at any depth, and on disk when it returns
 * (syncfs). Content is fetched ahead (index/prefetch), metadata in whole levels (tree_pages).
 *
 * What was interrupted can go on with `resume`: what is there and as it should be stays, by attributes and, of files,
 * by their content's hashes, since a power cut leaves true sizes and times over zeros; anything else under a name that
 * is needed is replaced. Errors name the path in the tree: -ENOSPC, -EDQUOT as they come; source's; -EEXIST: something
 * is in the way without `resume`. One thread.
 */

#include "index/source.h"
#include "index/tree.h"

struct fill_stats {
    uint64_t files, directories; /* names of non-directories, directories below the target */
    uint64_t bytes;              /* sizes, each inode once */
    uint64_t kept;               /* files that were there */
};

struct fill_config {
    struct tree *tree; /* borrowed, as all that follows */
    struct source *source;
    const char *from; /* a directory of the tree, "project" or "home": the target becomes it; "": the whole tree */
    int to;           /* the target; empty, or what a fill of the same tree left there */
    bool resume;
    const struct hash_key *key; /* the store's content key; with resume */
    /* After every entry and extent; non-zero ends it with that result. May be NULL. */
    int (*check)(void *arg, const struct fill_stats *so_far, struct error *e);
    /* A name whose content is damaged or gone, or that is one with such a name: it is left out, and the rest is
     * written. path: in the tree. NULL: the first one ends it. Damaged metadata ends it in any case. */
    void (*lost)(void *arg, const char *path, const struct error *why);
    /* A name that is one too many, path as above: it and those after it are another file. NULL: nobody is told. */
    void (*apart)(void *arg, const char *path);
    void *arg;
};

int fill_run(const struct fill_config *c, struct fill_stats *ret, struct error *e);
