/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * wire - the integers and byte strings of our binary objects (FORMAT.md, "Encoding").
 *
 * Fixed integers are little endian; varint is LEB128 of a uint64 in its shortest form (anything else is damage); a
 * string is varint length, then bytes. The reader never reads past its end: the first violation makes it `bad`, and
 * from then on it yields zeros and empty runs, so that a parser checks once at its end with wire_done. Runs returned
 * borrow the reader's memory.
 */

#include "index/base/buf.h"

#include <stdbool.h>

struct wire {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

struct wire wire_reader(const void *p, size_t n);
uint8_t wire_u8(struct wire *w);
uint32_t wire_u32(struct wire *w);
uint64_t wire_u64(struct wire *w);
uint64_t wire_varint(struct wire *w);
uint64_t wire_bounded(struct wire *w, uint64_t max);        /* varint; more than max is bad */
int64_t wire_signed(struct wire *w);                        /* zigzag varint */
struct bytes wire_run(struct wire *w, size_t n);            /* exactly n bytes */
struct bytes wire_string(struct wire *w, size_t max);       /* varint length (> max is bad), bytes */
void wire_copy(struct wire *w, void *to, size_t n);         /* n bytes to `to`; zeros when bad */
bool wire_done(const struct wire *w);                       /* true: not bad and nothing left */

void wire_put_u8(struct buf *b, uint8_t v);
void wire_put_u32(struct buf *b, uint32_t v);
void wire_put_u64(struct buf *b, uint64_t v);
void wire_put_varint(struct buf *b, uint64_t v);
void wire_put_signed(struct buf *b, int64_t v);
void wire_put_string(struct buf *b, const void *p, size_t n);
