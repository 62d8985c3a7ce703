/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * footer - the sealed table of contents at a pack's end: which frames lie in it and what is inside each, so that
 * everything an index would say can be rebuilt from packs alone (an interrupted park, check).
 *
 * A pack object is: frames one after another from offset 0, random padding, the sealed footer, and four bytes that tell
 * the footer's length to who has the key (FORMAT.md, "Packs"). Lists own their arrays; bounds are checked before
 * anything is allocated, because the length comes from the store.
 */

#include "index/hash.h"
#include "index/locator.h"
#include "sync/seal.h"
#include "sync/store.h"

#define FOOTER_RAW_MAX (8u * 1024 * 1024) /* of the opened footer */
#define FOOTER_SEALED_MAX (FOOTER_RAW_MAX + 64 * 1024)

/* Content that begins `within` bytes into the decoded frame. A frame's extents follow each other and fill it whole. */
struct pack_extent {
    struct hash hash;
    uint32_t within, length;
};

struct pack_frame {
    struct locator at;
    enum frame_kind kind;
    uint32_t first, count; /* its extents in the list's array */
};

struct pack_frames {
    struct pack_frame *frames;
    struct pack_extent *extents;
    size_t count, room, extent_count, extent_room;
};

void pack_frames_release(struct pack_frames *f);
/* Appends a frame. extents fill it whole: their lengths add up to at->raw. */
void pack_frames_add(struct pack_frames *f, const struct locator *at, enum frame_kind kind,
                     const struct pack_extent *extents, size_t count);

/* The opened footer. Frames must lie one after another from offset 0. */
void footer_encode(const struct pack_frames *f, struct buf *to);
/* -EBADMSG ERROR_DAMAGED. frames_len: how many bytes of the pack can be frames. Any bytes may come (fuzzed). */
int footer_decode(struct bytes raw, const struct pack_name *p, uint64_t frames_len, struct pack_frames *ret,
                  struct error *e);

/* Appends the sealed footer and the four bytes behind it. */
void footer_seal(const struct seal_context *c, const struct pack_name *p, const struct pack_frames *f, struct buf *to);
/* tail: the last bytes of a pack object of `size` bytes. -ENOBUFS (no error text): the footer begins before tail;
 * *ret_need, which is written then only, is how many last bytes are needed. */
int footer_open(const struct seal_context *c, const struct pack_name *p, uint64_t size, struct bytes tail,
                struct pack_frames *ret, size_t *ret_need, struct error *e);
/* Reads it from the store: one ranged GET, two if it is long. size: of the object, as LIST, stat or the journal say.
 * Errors of store_get, and ERROR_DAMAGED. */
int footer_read(struct store *s, const struct seal_context *c, const struct pack_name *p, uint64_t size,
                struct pack_frames *ret, struct error *e);
