/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * extent - a run of a file's bytes and where it is stored. The files' lists of them, as they stand in entries and in
 * frames of their own (FORMAT.md, "Extents").
 *
 * A list is in rising order and does not overlap; what it leaves out is a hole.
 */

#include "index/base/error.h"
#include "index/hash.h"
#include "index/packtable.h"

#define EXTENTS_FRAME_MAX 32768u /* extents a writer puts into one frame; 100 bytes each at most */

struct extent {
    uint64_t start;       /* in the file */
    uint64_t length;      /* 1 … FRAME_RAW_MAX */
    struct hash hash;     /* of these bytes */
    struct locator frame; /* the frame that holds them */
    uint32_t within;      /* where in the decoded frame they begin */
};

/* One extent; end: where the one before it ends (0 for the first). Reading: anything implausible makes w bad. */
void extent_put(struct buf *to, const struct extent *x, uint64_t end, uint64_t pack_index);
struct extent extent_get(struct wire *w, uint64_t end, const struct pack_name *packs, size_t pack_count);

/* The content of a FRAME_EXTENTS: a table of packs, count, then the extents. count: at most EXTENTS_FRAME_MAX. */
void extents_encode(const struct extent *x, size_t count, struct buf *to);
/* Appends to *ret (malloc'd) and *ret_count; what is appended must lie behind what is there. */
int extents_decode(struct bytes b, struct extent **ret, size_t *ret_count, struct error *e);
