/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * catalog - the sqlite side of the cache: which ranges of which packs are on the disk, when they were last used, and
 * the known content of the mounted bases. Only index/cache uses it.
 *
 * One catalog is one connection: not shared between threads without the owner's lock; other connections and processes
 * may have the same file open (WAL, busy timeout). synchronous=NORMAL: a power cut may lose the last transactions,
 * never their order, so that `known` does not name what was cleared before. Every known row carries a checksum of its
 * own, because a rotten row would make a park refer to the wrong bytes.
 *
 * Errors: -ENOENT no such row (no text) · -EBADMSG ERROR_DAMAGED the file is rotten, or another version's · others as
 * sql_error has them, which say nothing of what is in the file: it may have been moved away or be read-only, or
 * descriptors or memory may lack.
 */

#include "index/base/error.h"
#include "index/cache.h"

struct catalog;

struct catalog_range {
    char box[64];
    struct pack_name pack;
    uint32_t start, length;
};

/* What became free around a removed range: no other range of the pack reaches into [from, to). */
struct catalog_gap {
    uint64_t from, to; /* to: UINT64_MAX when nothing follows */
    bool pack_empty;   /* nothing is left of the pack: its row is gone, its file may go */
};

/* Makes the file and its tables if need be. path: of the database. */
int catalog_open(const char *path, struct catalog **ret, struct error *e);
void catalog_close(struct catalog *c); /* NULL is fine */

/* A transaction with the write lock. end: commits when r, the outcome so far, is 0, else rolls back; returns r or the
 * commit's error. */
int catalog_begin(struct catalog *c, struct error *e);
int catalog_end(struct catalog *c, int r, struct error *e);

int catalog_find(struct catalog *c, const char *box, const struct locator *l, struct error *e);
/* Adds the range, or renews its use time; keep is only ever set here. */
int catalog_add(struct catalog *c, const char *box, const struct locator *l, int64_t used, bool keep, struct error *e);
/* A range that is not there is no error. */
int catalog_touch(struct catalog *c, const char *box, const struct locator *l, int64_t used, bool keep,
                  struct error *e);
/* What is not there is no error either. */
int catalog_remove(struct catalog *c, const struct catalog_range *r, struct catalog_gap *ret, struct error *e);
/* The ranges of all boxes that may go, least recently used first; at most room. */
int catalog_oldest(struct catalog *c, struct catalog_range *ret, size_t room, size_t *ret_count, struct error *e);
int catalog_bytes(struct catalog *c, const char *box, uint64_t *ret, struct error *e); /* box NULL: of all */
/* When what would go next was last used. -ENOENT: nothing may go. */
int catalog_used_first(struct catalog *c, int64_t *ret, struct error *e);
/* Bytes of this box that ever were here and went: while it stays as it is nothing has gone. */
int catalog_gone(struct catalog *c, const char *box, uint64_t *ret, struct error *e);
int catalog_unkeep(struct catalog *c, const char *box, struct error *e);

int catalog_known_add(struct catalog *c, const char *box, const struct known_extent *x, struct error *e);
int catalog_known_find(struct catalog *c, const char *box, const struct hash *h, struct known_extent *ret,
                       struct error *e);
int catalog_known_clear(struct catalog *c, const char *box, struct error *e);
