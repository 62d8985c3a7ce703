/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * cachedir - the cache's directory as it is open now: its descriptor, its catalog twice (reads never wait for writes),
 * and how disk space comes back. Only index/cache uses it.
 *
 * The directory's flock is held while it is opened, so that one process at a time decides that a damaged catalog has to
 * go; whoever else has it open notices that the catalog's inode is another one, and opens again. Files are written,
 * removed and punched inside the transaction that changes their rows; only a reader in between may see zeros, which do
 * not open as a sealed frame. writer and what is done with it belong to the thread that has the owner's write lock.
 */

#include "index/catalog.h"

#include <sys/types.h>

struct cachedir {
    int fd;
    struct catalog *reader, *writer;
    ino_t ino; /* of the catalog that is open */
};

#define CACHEDIR_NONE ((struct cachedir){ .fd = -1 })
#define CACHEDIR_PATH_MAX (64 + PACK_TEXT + 1)

/* bad: the inode of a catalog that was found damaged; it goes, with all files, if it is still in place. 0: none is
 * known to be. */
int cachedir_open(const char *path, const char *box, ino_t bad, struct cachedir *ret, struct error *e);
void cachedir_release(struct cachedir *d);
/* The directory or the catalog was deleted, or thrown away by another process. */
bool cachedir_stale(const struct cachedir *d);

/* <box>/<writer>-<id>, relative to fd */
void cachedir_path(const char *box, const struct pack_name *p, char to[CACHEDIR_PATH_MAX]);
/* One transaction: these frames' rows, and what they held of the disk. */
int cachedir_remove(struct cachedir *d, const char *box, const struct locator *frames, size_t count, struct error *e);
/* Lets at least `wanted` bytes go, least recently used first, as far as something may. Returns how many went, or
 * -errno. */
int64_t cachedir_evict(struct cachedir *d, uint64_t wanted, struct error *e);
