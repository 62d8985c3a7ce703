/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * proof - whether one pack is what it says it is: its size and footer, and if asked every frame in it, opened and
 * hashed again.
 */

#include "index/extent.h"
#include "sync/footer.h"

struct proof { /* of one pack */
    struct pack_frames frames;
    bool *spoiled;      /* one for each frame: it does not open, or is not what the footer says */
    bool read;          /* frames were read */
    const char *broken; /* why nothing in it can be used; NULL: its footer is fine */
};

/*
 * size: as LIST says. Only a store that does not answer is an error; what is wrong with the pack is in ret. identity:
 * the box's key.
 */
int proof_make(struct store *s, const struct seal_context *c, const struct hash_key *identity,
               const struct pack_name *name, uint64_t size, bool read, struct proof *ret, struct error *e);
void proof_release(struct proof *p);
/* NULL: the footer has this very frame, of this kind, and it is not spoiled. Else what is wrong. */
const char *proof_frame(const struct proof *p, const struct locator *l, enum frame_kind kind);
/* The same for content: the frame holds these bytes at this place. */
const char *proof_extent(const struct proof *p, const struct extent *x);
