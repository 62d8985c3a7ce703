/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * content - the extents of a file, wherever its entry keeps them, and whether a live file still holds what they say.
 */

#include "index/entry.h"
#include "index/source.h"

/*
 * Calls each for every extent of the file n, in order, until it returns non-zero, which is then the result. Long lists
 * are fetched a frame at a time; extents that overlap or leave the file are -EBADMSG ERROR_DAMAGED.
 */
typedef int (*content_extent)(void *arg, const struct extent *x, struct error *e);
int content_each(const struct entry *n, struct source *source, content_extent each, void *arg, struct error *e);

/* All of them, malloc'd. */
int content_extents(const struct entry *n, struct source *source, struct extent **ret, size_t *ret_count,
                    struct error *e);

/* Do two files hold the same, wherever that lies in the store and however it was cut into frames? By sizes and extents:
 * content that was cut into other extents counts as different. */
int content_equal(const struct entry *a, const struct entry *b, struct source *source, bool *ret, struct error *e);

/* Asked between pieces of a file: negative ends it, with what it set. */
struct content_ask {
    int (*check)(void *arg, struct error *e);
    void *arg;
};

/* By the hashes: nothing is fetched but long lists. Reads the file once, and stops at the first difference. fd: open
 * for reading. key: the store's content key. ask: may be NULL. */
int content_same(int fd, const struct entry *n, struct source *source, const struct hash_key *key,
                 const struct content_ask *ask, bool *ret, struct error *e);
