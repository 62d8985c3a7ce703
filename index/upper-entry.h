/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * upper-entry - one name in the raw upper layer, as the merged tree shows it: the part of index/upper that looks at
 * inodes. Knows nothing of the order of the walk. What it returns is the caller's to release.
 */

#include "index/attributes.h"
#include "index/census.h"
#include "index/excluded.h"
#include "index/upper.h"
#include "index/withdrawn.h"

/* One walk of an upper layer. */
struct upper_view {
    const struct upper_config *config;
    struct journal *known; /* config's, if what the stat cache knows counts in this upper layer */
    struct reach_root upper, merged;
    struct withdrawn *out; /* takes the changes, in order */
    struct buf path, key;  /* of the name at hand */
    struct excluded *excluded;
    struct census *inodes;
    bool numbers_loaded; /* the base's are taken in inodes */
    int64_t start_ns;
    struct walk_stats stats;
    bool stopped; /* by a callback: its code is no answer of the file system */
};

/* Where a name lies. */
struct upper_place {
    int directory;     /* in the upper layer */
    const char *name;  /* in it */
    struct bytes path; /* in the merged tree, NUL behind it */
    const char *lower; /* the base's path of the directory that shows through; NULL: none */
    bool below;        /* in a VERDICT_PASSAGE directory */
};

struct upper_found {
    bool nothing; /* the merged tree has no entry here (whiteout), or none that is recorded (socket, excluded) */
    struct attributes a;
    struct entry entry; /* without ino; a file's content if known */
    bool known;
    int fd;             /* a file whose content has to be read; else -1 */
    char *lower;        /* of a directory: the base's directory that shows through; NULL: none */
    char *moved_from;   /* the base's path of this inode, if it is another one */
    uint32_t moved_ino; /* the base's ino there */
    bool passage;       /* a directory kept only for some files in it */
};

int upper_entry(struct upper_view *v, const struct upper_place *p, struct upper_found *ret, struct error *e);
void upper_found_release(struct upper_found *f);

/*
 * Gives f->entry its ino and ctime. merged: its directory in the mounted overlay, -1: none. raw: what the base has
 * under its path, NULL nothing. The first inode that is not the base's costs a scan of the base, for the numbers that
 * are taken.
 */
int upper_entry_number(struct upper_view *v, const struct upper_place *p, int merged, const struct entry *raw,
                       struct upper_found *f, struct error *e);

/* The PUT of f, without key. It borrows from f. */
struct change upper_entry_change(const struct upper_view *v, const struct upper_place *p, const struct upper_found *f);

/* A free number for st_ino, unlike every number of the base. */
int upper_number(struct upper_view *v, uint64_t st_ino, uint32_t *ret, struct error *e);

/*
 * The base's directory that shows through a directory of the upper layer, whose attributes are a; NULL: none. lower:
 * the one that shows through its parent, or NULL.
 */
int upper_lower_directory(struct tree *base, const char *lower, const char *name, const struct attributes *a,
                          char **ret, struct error *e);

/* Whether a live walk goes on after this error: a name is gone, not the store's word nor a callback's. */
bool upper_passed_over(const struct upper_view *v, int code, const struct error *e);
