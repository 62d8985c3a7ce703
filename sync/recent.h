/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * recent - decoded frames that were used a moment ago, least recently used first out. A directory's small files share a
 * frame, and a big file is read in many small pieces: without this each would be opened and decompressed again.
 * Holds a reference to each frame. Not locked: the owner's lock.
 */

#include "index/source.h"

struct recent {
    struct recent_frame *table;  /* by locator and kind */
    struct recent_frame *oldest; /* list in order of use */
    size_t bytes, room;
};

#define RECENT_ROOM (16u * 1024 * 1024)

/* A new reference, or NULL. */
struct frame *recent_find(struct recent *r, const struct locator *l, enum frame_kind kind);
void recent_add(struct recent *r, const struct locator *l, enum frame_kind kind, struct frame *f);
void recent_release(struct recent *r);
