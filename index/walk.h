/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * walk - every entry of a box's tree in two plain directories, in key order: what `track` and full boxes are saved
 * from.
 *
 * Emits each entry as CHANGE_PUT without base (index/compare turns that into differences). The first name of an inode
 * in key order is its full entry, later names are ENTRY_LINK (index/entry). Content the stat cache knows comes as
 * known; other files come open, checked to be the inode that was looked at. Excluded entries (index/excluded) are left
 * out and told; sockets, and character devices 0:0, are left out and counted. A mount below is an error that names it:
 * its content would be lost (rule T3). Few descriptors at any depth (index/reach). One thread.
 */

#include "index/change.h"
#include "index/exclude.h"
#include "index/journal.h"

struct walk_stats {
    uint64_t files, directories, bytes; /* names of non-directories, directories, sum of sizes (each inode once) */
    uint64_t sockets;                   /* left out, with character devices 0:0 */
    uint64_t excluded;                  /* entries left out, those below them not counted */
};

struct walk_config {
    int project, home; /* open directories; home -1: an empty directory with the attributes of home_entry */
    const struct entry *home_entry; /* where home is -1 */
    const struct exclude *rules;    /* NULL: secrets alone */
    struct journal *journal;        /* for the stat cache; NULL: read everything */
    bool live;                      /* others may be changing the tree: a name that vanishes is passed over */
    bool names_only;                /* do not open files: content_known is false and fd -1 */
    /* An excluded name, in key order; of a directory all below is meant. May be NULL. */
    int (*excluded)(void *arg, const char *path, bool directory, struct error *e);
    void *excluded_arg;
};

int walk_run(const struct walk_config *c, change_each each, void *arg, struct walk_stats *ret, struct error *e);
