/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * stash - excluded entries of a box between park and up: excluded is not lost (rule T4).
 *
 * box/NAME/stash/<number>/ holds one entry: `path`, the file with its path in the tree, and `entry` itself; higher
 * numbers are later. Only this node ever has it. A slot is made with its path first; one without an entry is what a
 * crash left, and goes when the stash is opened. The box controlled what is in there: nothing in an entry is ever
 * followed. One command a box uses it, under the box's lock. One thread.
 */

#include "index/base/error.h"
#include "index/tree.h"

#include <stdbool.h>

struct stash;

/* In directory box/NAME; made (0700) when it is absent. */
int stash_open(int box_dir, struct stash **ret, struct error *e);
void stash_close(struct stash *s); /* NULL is fine */
void stash_closep(struct stash **s);
size_t stash_count(const struct stash *s); /* entries in it */

/* The names to put away, as walks tell them: stash_list_add is walk_config's and upper_config's `excluded`. */
struct stash_list {
    char **paths;
    size_t count, room;
};
int stash_list_add(void *list, const char *path, bool directory, struct error *e);
void stash_list_release(struct stash_list *l);

/* Where they are taken from. */
struct stash_tree {
    int project, home; /* of the mounted overlay, or plain directories; home may be -1 */
    int upper;         /* the overlay's raw upper directory, still in itself; -1: plain directories */
    struct tree *base; /* what the overlay's lower shows; with upper */
};

/*
 * Takes every path of the list that is there: by rename out of the upper layer (or the plain directory) where that
 * holds the data and is on the stash's file system, else by a copy (index/copy) through project and home, after which a
 * plain directory's entry is removed. Everything is on disk when it returns. Cut off anywhere, it can be called again:
 * what was moved is not there any more, what was copied and not removed is copied again. Of an overlay, only the upper
 * changes, which is to be freed next; copies come first, so the mount shows a true tree until the last of them is made.
 */
int stash_take(struct stash *s, const struct stash_tree *from, const struct stash_list *l, struct error *e);

/*
 * Lays entries back, the latest first, through the mounted overlay (or into plain directories), their parents' times
 * kept. What meets an entry that is not alike, or has no parent there, stays and is told: its path, and where it is
 * now ("…/stash/00000007/entry" from the box directory on). A directory that is there already gets what it lacks.
 */
typedef int (*stash_stays)(void *arg, const char *path, const char *where, struct error *e);
int stash_return(struct stash *s, int project, int home, stash_stays stays, void *arg, struct error *e);
