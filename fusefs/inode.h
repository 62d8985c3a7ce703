/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * inode - from the kernel's node ids to entries of the tree, and what stat says of them (rules O2, O5, O9).
 *
 * The node id of an entry is its position in the immutable tree + 2; 1 is the root, which has no entry. There is no
 * table and nothing to forget, and a restarted daemon means the same files by the same ids.
 *
 * Two ways with hard links, given the snapshot's link groups. Under an overlay ("apart") every name is a file of its
 * own, also at names that are ENTRY_LINK, whose attributes and content come from the first name: the overlay joins them
 * (fusefs/joins). Without one all names of an inode have the first name's node id. Either way nlink is the number of
 * names. Under an overlay that is what makes it tell its own inodes apart by the upper file, not by the lower one
 * (ovl_hash_bylower): with nlink 1, once a joined file was written and a part of the kernel's cache dropped, its names
 * showed two inode numbers (contrib/DESIGN.md, "Tree and mount").
 *
 * st_ino and ctime are what the last node saw. atime is not kept: mtime is shown. Directories have nlink 1, which means
 * "not counted" (as overlayfs has it): 2 would tell find(1) that there are no subdirectories. Safe from any thread.
 */

#include "fusefs/guess.h"
#include "index/snapshot.h"

#include <sys/stat.h>

#define INODE_ROOT 1u
#define INODE_ROOT_INO UINT32_MAX

struct inode_map;

/* tree is borrowed, groups are not needed after. Reads no page. */
int inode_map_new(struct tree *tree, const struct link_group *groups, size_t count, bool apart, struct inode_map **ret,
                  struct error *e);
void inode_map_free(struct inode_map *i); /* NULL is fine */
struct tree *inode_map_tree(struct inode_map *i);
void inode_map_guess(struct inode_map *i, struct guess *g); /* is told of every look-up; borrowed. Before the first. */

struct inode {
    uint64_t id;      /* the kernel's node id */
    struct entry n;   /* resolved: never ENTRY_LINK */
    struct stat stat; /* complete */
};
void inode_release(struct inode *n);

static inline uint64_t inode_position(const struct inode *n)
{
    return n->id - 2; /* not of the root */
}

/* By node id. -ESTALE ERROR_FAILED: there is no such node; else tree_at's errors. */
int inode_get(struct inode_map *i, uint64_t id, struct inode *ret, struct error *e);
/* The entry `name` of directory `parent`. -ENOENT ERROR_UNKNOWN: there is none. */
int inode_lookup(struct inode_map *i, uint64_t parent, const char *name, struct inode *ret, struct error *e);
/* Makes the inode of an entry that was found at position; takes n over (also on errors). */
int inode_adopt(struct inode_map *i, uint64_t position, struct entry *n, struct inode *ret, struct error *e);
/* Replaces path by the path of a node, NUL behind it; the root's is empty. */
int inode_path(struct inode_map *i, uint64_t id, struct buf *path, struct error *e);
