/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * twin - index/source in memory, for tests: frames under the hash of their content, so that equal frames have equal
 * locators, with faults on demand and counters.
 *
 * Safe from many threads. Faults hit gets only; each answers as sync/fetch would (index/source.h).
 */

#include "index/grow.h"
#include "index/snapshot.h"

struct twin;

struct twin *twin_new(void);
void twin_free(struct twin *t);
struct source *twin_source(struct twin *t);

/* Keeps the bytes as a frame (not empty, at most FRAME_RAW_MAX) and says where. */
struct locator twin_add(struct twin *t, enum frame_kind kind, const void *data, size_t len);
/* A grow_emit whose arg is the twin. */
int twin_emit(void *twin, struct bytes page, uint8_t level, struct locator *ret, struct error *e);

/* Counters, since the start or the last reset. Frames counts different ones kept, whatever the resets. */
struct twin_counts {
    unsigned gets, page_gets, warms, warmed; /* calls, and frames asked for in them */
    unsigned emitted;                        /* calls of twin_emit */
    size_t frames;
};
struct twin_counts twin_count(struct twin *t);
void twin_reset(struct twin *t);

/* The n-th get from now (1: the next) and all after it fail like this, until n is 0. */
void twin_fail(struct twin *t, unsigned n, int code, enum error_kind kind);
/* Every get waits until released; twin_await returns once at least n do. */
void twin_hold(struct twin *t);
void twin_release(struct twin *t);
void twin_await(struct twin *t, unsigned n);
void twin_delay(struct twin *t, unsigned ms); /* before each get's answer */
/* Change what is kept under l: the locator stays. */
void twin_truncate(struct twin *t, const struct locator *l, size_t len);
void twin_flip(struct twin *t, const struct locator *l, size_t byte, uint8_t mask);
void twin_replace(struct twin *t, const struct locator *l, const void *data, size_t len);
void twin_remove(struct twin *t, const struct locator *l);
struct bytes twin_bytes(struct twin *t,
                        const struct locator *l); /* borrowed until it is changed; data NULL: not there */

/* The hash key that everything in tests uses. */
extern const struct hash_key twin_key;

/*
 * A tree for tests. Every parent that is not listed is made: a directory 0755, root's. Unset attributes: mode 0644
 * (0755 of a directory), uid and gid 0, mtime and ctime 1600000000 s; ino counts from 2 in key order.
 * File content is cut into extents of `piece` bytes (0: 1 MiB), a frame each; `size` beyond it is a hole. More than
 * ENTRY_EXTENTS_INLINE extents become a list.
 */
struct twin_file {
    const char *path;
    enum entry_type type; /* 0: a file */
    uint32_t mode, uid, gid;
    const void *content; /* of a file; NUL-terminated if len is 0 */
    size_t len;
    uint64_t size;
    size_t piece;
    const char *target; /* of a symlink, or a link's first name */
    uint32_t major, minor;
    int64_t mtime_ns;
    const struct xattr *xattrs; /* borrowed */
    size_t xattr_count;
};
struct tree_root twin_tree(struct twin *t, const struct twin_file *files, size_t count);
/* Opens the tree over the twin; aborts when that fails. */
struct tree *twin_open(struct twin *t, const struct tree_root *root);
