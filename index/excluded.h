/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * excluded - which entries of a tree stay out of its snapshots (rule T4), hard links included.
 *
 * A name is left out when a rule covers it or a directory above it. But a file of several names is left out by a rule
 * only if every name it has in the tree is; and a file one of whose names is a secret (exclude_secret) is left out
 * under all of them, while that name is there: no memory of inodes tells a removal that gives the file up as a secret
 * from one that does not, and what stayed out for ever would be missing on other nodes without a word. Whether that
 * matters is seen by names alone: excluded_new reads all directories, asks stat only for what rules cover, and looks
 * at every file's inode only if it finds one that has further names somewhere. A kept file in an excluded directory
 * keeps the directories above it, and nothing else in them. Rules are the project's, and asked with the path below it:
 * in a home, which its box's agents made, `*.local` or `sessions/` would take what nobody thought of. A copy that was
 * cut off (exclude_cut_off) is covered, too. One thread.
 */

#include "index/attributes.h"
#include "index/exclude.h"
#include "index/reach.h"

struct excluded;

enum verdict {
    VERDICT_KEPT,
    VERDICT_PASSAGE,  /* an excluded directory that is kept for a file of several names below it */
    VERDICT_EXCLUDED, /* with everything below */
};

/* rules: NULL for secrets alone. live: names may vanish meanwhile. The raw upper layer of an overlay is walked
 * as well as a plain directory: its whiteouts are no files. */
int excluded_new(const struct exclude *rules, const struct reach_root *roots, size_t count, bool live,
                 struct excluded **ret, struct error *e);
void excluded_free(struct excluded *x); /* NULL is fine */
void excluded_freep(struct excluded **x);

/* below: the directory it lies in is VERDICT_PASSAGE. */
enum verdict excluded_ask(const struct excluded *x, const char *path, const struct attributes *a, bool below);
/* The same for a path that has one name, and for a directory with all directories above it. */
enum verdict excluded_judge(const struct excluded *x, const char *path, bool directory, bool below);
enum verdict excluded_directory(const struct excluded *x, const char *path);
