/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * change - one difference between a working tree and its base, as a walker finds it: the stream that sync/save turns
 * into a snapshot and `diff` prints.
 *
 * Changes come in strictly rising key order per kind of key (index/key), so that index/grow can take them as they come:
 * PUT and DELETE carry an entry's key, DELETE_PREFIX the prefix of a subtree. Files whose content has to be read come
 * with an open descriptor that belongs to the walker and is closed after the call; content that is known to be the
 * base's (metadata copy-up, stat cache) comes as extents in the entry. Later names of an inode come as ENTRY_LINK.
 */

#include "index/entry.h"

enum change_kind { CHANGE_PUT, CHANGE_DELETE, CHANGE_DELETE_PREFIX };

struct change {
    enum change_kind kind;
    struct bytes key;          /* borrowed */
    const struct entry *entry; /* PUT: borrowed; extents only if content_known */
    const struct entry
        *base; /* what the base has under this key, resolved; NULL: nothing, or the walker does not know */
    bool content_known;
    int fd;                 /* PUT of a file without known content: open for reading at 0; else -1 */
    uint64_t device, inode; /* of the live inode, for groups of names; 0: none */
    bool settled;           /* what is read from fd may go to the stat cache (index/stat-cache) */
    bool base_link;         /* the base's record here is an ENTRY_LINK: PUT changes it even if all else is equal */
    bool other_inode;       /* not the inode that the base has here: likewise */
    const char *moved_from; /* PUT by the upper walker: this inode was the base's at this path; NULL: not told */
};

/* 0 to go on, -errno to stop (the walker returns it). */
typedef int (*change_each)(void *arg, const struct change *c, struct error *e);
