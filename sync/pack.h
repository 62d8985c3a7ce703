/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * pack - one pack object while it is built in memory, and the opening of single frames (rules F1, F3, F5, S1).
 *
 * A frame is sealed under the name writer|id|offset|kind: it opens at its own place in its own pack and nowhere else.
 * The pack's size is padded before it leaves (PACK_PAD_LEAST, then to a size with few significant bits), so that it
 * says little about what is inside: 4 KiB at least, 1.6 % on average and 3.1 % at most of a full pack.
 *
 * Threads: pack_reserve needs the owner's lock; pack_fill of different frames may run side by side and without it, as
 * long as pack_finish comes after the last. Compression, the expensive part, thus needs no lock at all (seal_prepare).
 */

#include "sync/footer.h"

#define PACK_FULL (16u * 1024 * 1024) /* bytes of frames from which a pack takes no more */
#define PACK_PAD_LEAST 4096u

/* box/<box>/pack/<writer>/<id> */
void pack_key(const char *box, const struct pack_name *p, char to[STORE_KEY_MAX]);

/* Appends the opened frame to ret. -EBADMSG ERROR_DAMAGED unless it is this frame, whole, of this kind. */
int pack_frame_open(const struct seal_context *c, const struct locator *l, enum frame_kind kind, struct bytes sealed,
                    struct buf *ret, struct error *e);

struct pack;

/* A new pack with a random name. What c points to must outlive it. */
struct pack *pack_new(const struct seal_context *c, const struct writer *w);
void pack_free(struct pack *p); /* NULL is fine */

/* Gives the frame its place: prepared_len is what seal_prepare made of raw_len bytes. Not for a full pack. */
void pack_reserve(struct pack *p, enum frame_kind kind, size_t raw_len, size_t prepared_len,
                  const struct pack_extent *extents, size_t count, struct locator *ret);
void pack_fill(struct pack *p, const struct locator *l, enum frame_kind kind, struct bytes prepared);
/* Both, of raw bytes (1 … FRAME_RAW_MAX). */
void pack_add(struct pack *p, enum frame_kind kind, struct bytes raw, const struct pack_extent *extents, size_t count,
              struct locator *ret);

bool pack_full(const struct pack *p);
bool pack_empty(const struct pack *p);
/* Padding and footer. Afterwards nothing can be added, and pack_bytes is the object. */
void pack_finish(struct pack *p);
struct bytes pack_bytes(const struct pack *p);
const struct pack_name *pack_name(const struct pack *p);
const struct pack_frames *pack_contents(const struct pack *p);
