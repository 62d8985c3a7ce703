/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * key - the search key of an entry: (directory path, name), as bytes whose memcmp order is the tree's order (rule F1).
 *
 *     for each directory component:  0x02 <component> 0x00
 *     then for the entry's name:     0x01 <name>
 *
 * Components hold neither NUL nor '/', so an entry of a directory (0x01) sorts before everything in its subdirectories
 * (0x02), a component sorts before the ones it is a prefix of, and a directory's own entries, and its whole subtree,
 * are each one contiguous run. The root itself has no entry. A path here is relative, '/'-separated, without empty, "."
 * or
 * ".." components: "project/src/main.c". The empty path is the root.
 */

#include "index/base/buf.h"

#include <stdbool.h>

#define NAME_LEN_MAX 255
#define PATH_LEN_MAX 4095
#define KEY_LEN_MAX (2 * PATH_LEN_MAX + 2)

/* One safe component: 1 to 255 bytes, no '/', no NUL, not "." or "..". */
bool key_name_valid(struct bytes name);
/* What key_to_path accepts. */
bool key_valid(struct bytes k);
bool key_starts_with(struct bytes k, struct bytes prefix);
/* Replaces k by the key of path. -EINVAL: not a safe relative path, or the root. */
int key_from_path(struct bytes path, struct buf *k);
/* Replaces path by the path of k (NUL behind it). -EINVAL: not a key; every byte string is either refused or
 * round-trips. */
int key_to_path(struct bytes k, struct buf *path);
/* Replaces prefix by what all own entries of directory dir start with (before their names), or by what the keys of its
 * whole subtree start with (dir's own entry is not among them). The root's subtree is the empty prefix. -EINVAL as
 * above; the root is allowed. */
int key_directory_prefix(struct bytes dir, struct buf *prefix);
int key_subtree_prefix(struct bytes dir, struct buf *prefix);
struct bytes key_name(struct bytes k); /* the last component of a valid key */
