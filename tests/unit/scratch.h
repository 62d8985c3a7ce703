/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * scratch - a private directory for a test of trees, real overlays in it, and snapshots in memory of what is there.
 *
 * Mounts happen in a mount namespace of the process's own, so nothing is left behind however it ends. Functions abort,
 * with the reason on stderr, when the machine does not do what they need: they are no part of what is tested.
 */

#include "index/change.h"
#include "index/exclude.h"
#include "tests/unit/twin.h"

#include <sys/types.h>

/* In the first call: a mount namespace of our own. Returns a new directory; scratch_remove takes it away. */
char *scratch_new(void);
void scratch_remove(char *path);
int scratch_open(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* O_RDONLY | O_DIRECTORY */

/* For a path made by fmt: all that mkdir -p, a small write, … are asked for. */
void scratch_mkdir(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void scratch_write(const char *content, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void scratch_remove_tree(const char *path);

/* Overlay of scratch/lower, scratch/upper, scratch/work at scratch/merged, with the options of rule O1; directories are
 * made. */
void scratch_mount(const char *scratch);
void scratch_unmount(const char *scratch);

/*
 * A change_each: applies changes to a tree in memory, checking that they come as index/change promises. Content is cut
 * into pieces of 64 KiB. begin with the base's root (NULL: nothing), finish gives the new root.
 */
struct scratch_save;
struct scratch_save *scratch_save_begin(struct twin *t, struct tree *base);
int scratch_save_change(void *save, const struct change *c, struct error *e);
struct tree_root scratch_save_finish(struct scratch_save *s, unsigned *ret_changes); /* frees s */

/* The tree of a full walk of two directories (home -1: an empty one); rules may be NULL. */
struct tree_root scratch_snapshot(struct twin *t, int project, int home, const struct exclude *rules);

/* One line an entry, with everything but ino and ctime; ends in a NUL. To compare trees and to see how they differ. */
char *scratch_text(struct twin *t, const struct tree_root *root);
struct exclude *scratch_rules(const char *one, const char *two); /* NULL: none */
