/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * check - is everything there that a box's snapshots, holds and forks need?
 *
 * Every snapshot that is not condemned, and those that holds and forks name: the object opens, every page and list of
 * extents opens, every page is the one that those above it mean (FORMAT.md, "Pages and cuts"), every pack they reach is
 * there, and its footer agrees with every reference to it. With read_percent, so many of a hundred packs, chosen at
 * random, are read whole: every frame is opened and hashed again. What is wrong is told, and the check goes on. Only a
 * store that does not answer ends it with an error. Reads only, and takes no lease and no hold: what it looks at is not
 * condemned, so that no prune deletes it within a day.
 */

#include "sync/condemned.h"
#include "sync/inventory.h"
#include "sync/proof.h"

#include "index/source.h"

struct check_finding {
    const char *object;                 /* key in the store */
    const char *what;                   /* "it is gone", … */
    const struct snapshot_id *snapshot; /* that is hit; NULL: none, or it is the object itself */
    const char *path;                   /* of a file that is hit; NULL: not known or none. NUL-terminated, any bytes */
    uint64_t entries;                   /* of a lost page: how many entries, the last of which is path; else 0 */
};

struct check_config {
    struct store *store;
    struct seal_context seal;
    struct source *source; /* must read from the store, not from what is cached already */
    unsigned read_percent; /* 0 … 100 */
    void (*found)(void *arg, const struct check_finding *f);
    void *arg;
};

struct check_result {
    size_t snapshots, packs, packs_read, pages, files, findings;
};

/* -ENOENT ERROR_UNKNOWN: no such box. */
int check_run(const struct check_config *c, struct check_result *ret, struct error *e);
