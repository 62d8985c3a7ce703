/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * scratch - a private directory for a test of trees, real overlays in it, and snapshots in memory of what is there.
 *
 * Mounts happen in a mount namespace of the process's own, so nothing is left behind however it ends. Functions abort,
 * with the reason on stderr, when the machine does not do what they need: they are no part of what is tested.
 */

#include "index/change.h"
#include "index/upper.h"
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

/* A change_each whose arg is a struct buf: one line a change ("put over link open path -> first name was old path"). */
int scratch_print(void *text, const struct change *c, struct error *e);

/* The tree of a full walk of two directories (home -1: an empty one); rules may be NULL. */
struct tree_root scratch_snapshot(struct twin *t, int project, int home, const struct exclude *rules);

/*
 * A mounted box: project and home in scratch/lower are its base, with names joined as `up` joins them (rule O2). The
 * lower has every name as a file of its own; groups lists, NULL-terminated, the names of each inode, first name first,
 * NULL after the last.
 */
struct scratch_box {
    char *scratch;
    struct twin *twin;
    struct tree_root base;
};
void scratch_box_mount(struct scratch_box *b, char *scratch, const char *const *const *groups);
void scratch_box_remove(struct scratch_box *b); /* unmounts and removes all */
/* upper_run over the box: c needs no base, upper and merged. */
int scratch_box_run(struct scratch_box *b, struct upper_config c, change_each each, void *arg, struct walk_stats *ret,
                    struct error *e);
/* What upper_run makes of the base; the number of changes it told. rules may be NULL. */
struct tree_root scratch_box_changed(struct scratch_box *b, const struct exclude *rules, bool rules_changed,
                                     unsigned *ret_changes);
/* What a full walk through the mount gives. */
struct tree_root scratch_box_walked(struct scratch_box *b, const struct exclude *rules);

/* One line an entry, with everything but ino and ctime; ends in a NUL. To compare trees and to see how they differ. */
char *scratch_text(struct twin *t, const struct tree_root *root);
struct exclude *scratch_rules(const char *one, const char *two); /* NULL: none */
