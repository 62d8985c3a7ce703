/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * ahead - fetches what a sequential reader will want next.
 *
 * Told of every read, it notices runs (a read that begins about where the last one of this file ended) and has one
 * background thread warm the frames that follow: the window starts at 1 MiB and doubles with each further read of the
 * run up to AHEAD_MAX. The thread never holds up a read: while it is busy, further hints are dropped. Errors are left
 * to the read that meets them; after one of the cache, which has no room, nothing is read ahead for a while.
 */

#include "fusefs/lists.h"

#define AHEAD_MAX (16u * 1024 * 1024)

struct ahead;

int ahead_new(struct source *source, struct ahead **ret, struct error *e);
void ahead_free(struct ahead *a); /* waits for the thread; NULL is fine */
/* Bytes [offset, end) of the file at position are being read; x are its extents. */
void ahead_note(struct ahead *a, uint64_t position, const struct extents *x, uint64_t offset, uint64_t end);
