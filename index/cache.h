/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * cache - sealed frames that this node has fetched or sent, on local disk under a sqlite index. Disposable as a whole:
 * deleting $AGBOX_STATE_DIR/cache loses nothing but time (a test does it).
 *
 * A pack's frames lie at their own offsets in one sparse file per pack, cache/<box>/<writer>-<id>; cache/.catalog.db
 * (no box can have that name) says which ranges are there and when they were last used. The bytes are as the store has
 * them, and whoever reads them opens the seal, so a torn or rotten range is found at use: then cache_forget and fetch
 * again. Eviction is by least recent use, a frame at a time (hole punching), when the total passes the limit; ranges
 * marked keep (the mounted base's metadata) are never taken, and unsent data is never in here. A twentieth of the disk,
 * at most 1 GiB, stays free for others. A full disk is not an error of the read: put says -ENOSPC and the caller goes
 * on without. The limit is one for all boxes of the node. Bytes
 * between the frames of a merged put lie in the file unaccounted, until the frames around them go.
 *
 * Safe from many threads and several processes (sqlite WAL, busy timeout). Reads have a connection of their own and
 * never wait for a write. Use times are kept in memory and written with the next put. When the directory is deleted or
 * the catalog is found damaged while in use, the cache begins again, empty.
 */

#include "index/base/error.h"
#include "index/hash.h"
#include "index/locator.h"

struct cache;

/* dir: $AGBOX_STATE_DIR/cache, absolute, made if absent; a damaged catalog is thrown away with the files. limit: bytes,
 * 0 none. On a full disk everything in it goes; -ENOSPC ERROR_FAILED: that did not help, and there is no catalog. */
int cache_open(const char *dir, const char *box, uint64_t limit, struct cache **ret, struct error *e);
void cache_close(struct cache *c); /* NULL is fine */
void cache_closep(struct cache **c);

/* Appends the sealed bytes to ret. -ENOENT: not here (no error text is set). */
int cache_get(struct cache *c, const struct locator *l, struct buf *ret, struct error *e);
bool cache_has(struct cache *c, const struct locator *l);
bool cache_use(struct cache *c, const struct locator *l); /* the same, and it was used now */
/* Bytes [offset, offset + data.len) of pack p, which hold the given frames whole: one write, one transaction. keep:
 * never evict while the mark stands. -ENOSPC ERROR_FAILED: the disk is full, and making room did not help; nothing of
 * data is here then. */
int cache_put(struct cache *c, const struct pack_name *p, uint32_t offset, struct bytes data,
              const struct locator *frames, size_t count, bool keep, struct error *e);
void cache_keep(
    struct cache *c,
    const struct locator *l); /* sets the mark on what is here already, with the next put or close at the latest */
void cache_forget(struct cache *c, const struct locator *l);
int cache_unkeep_all(struct cache *c, struct error *e); /* when a new base is mounted */
uint64_t cache_bytes(struct cache *c);                  /* of this box */
/* Whether `more` bytes would take nothing's place that was used at or after `since` (clock_wall_ns). -EFBIG
 * ERROR_FAILED: the limit is too low for that; -ENOSPC: the disk is full. */
int cache_room(struct cache *c, uint64_t more, int64_t since, struct error *e);
/* What the cache has goes until the disk has its reserve again, or nothing more may go. */
int cache_make_room(struct cache *c, struct error *e);
/* Grows whenever something of this box goes (by whichever process); a cache that began again says another value. */
uint64_t cache_gone(struct cache *c);

/* Known content of the mounted base, hash -> where it is: what park deduplicates against (rule S1). Filled as metadata
 * streams in. c NULL where there is no cache: adding and clearing do nothing. */
struct known_extent {
    struct hash hash;
    uint64_t length;
    struct locator frame;
    uint32_t within;
};
int cache_known_add(struct cache *c, const struct known_extent *x, size_t count, struct error *e);
int cache_known_find(struct cache *c, const struct hash *h, struct known_extent *ret, struct error *e); /* -ENOENT */
int cache_known_clear(struct cache *c, struct error *e); /* on disk when it returns */
