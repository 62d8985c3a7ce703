/* SPDX-License-Identifier: MIT */
#include "index/base/wire.h"

#include <string.h>

struct wire wire_reader(const void *p, size_t n)
{
    const uint8_t *at = p;
    return (struct wire){ .at = at, .end = n ? at + n : at };
}

/* The next n bytes, or NULL once the reader is bad. */
static const uint8_t *take(struct wire *w, size_t n)
{
    if (w->bad || n > (size_t)(w->end - w->at)) {
        w->bad = true;
        return NULL;
    }
    const uint8_t *p = w->at;
    w->at += n;
    return p;
}

static uint64_t little_endian(struct wire *w, unsigned n)
{
    const uint8_t *p = take(w, n);
    uint64_t v = 0;
    for (unsigned i = 0; p && i < n; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

uint8_t wire_u8(struct wire *w)
{
    return (uint8_t)little_endian(w, 1);
}

uint32_t wire_u32(struct wire *w)
{
    return (uint32_t)little_endian(w, 4);
}

uint64_t wire_u64(struct wire *w)
{
    return little_endian(w, 8);
}

uint64_t wire_varint(struct wire *w)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint8_t *p = take(w, 1);
        if (!p)
            return 0;

        v |= (uint64_t)(*p & 0x7f) << shift;
        if (*p & 0x80)
            continue;
        /* A last byte of 0 could be left out; of a tenth byte only one bit fits. */
        if ((*p == 0 && shift > 0) || (shift == 63 && *p > 1))
            break;
        return v;
    }
    w->bad = true;
    return 0;
}

uint64_t wire_bounded(struct wire *w, uint64_t max)
{
    uint64_t v = wire_varint(w);
    if (v <= max)
        return v;
    w->bad = true;
    return 0;
}

int64_t wire_signed(struct wire *w)
{
    uint64_t v = wire_varint(w);
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

struct bytes wire_run(struct wire *w, size_t n)
{
    const uint8_t *p = take(w, n);
    return p ? (struct bytes){ p, n } : (struct bytes){ 0 };
}

struct bytes wire_string(struct wire *w, size_t max)
{
    return wire_run(w, (size_t)wire_bounded(w, max));
}

void wire_copy(struct wire *w, void *to, size_t n)
{
    const uint8_t *p = take(w, n);
    if (n == 0)
        return;
    if (p)
        memcpy(to, p, n);
    else
        memset(to, 0, n);
}

bool wire_done(const struct wire *w)
{
    return !w->bad && w->at == w->end;
}

static void put_little_endian(struct buf *b, uint64_t v, unsigned n)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < n; i++)
        bytes[i] = (uint8_t)(v >> (8 * i));
    buf_add(b, bytes, n);
}

void wire_put_u8(struct buf *b, uint8_t v)
{
    put_little_endian(b, v, 1);
}

void wire_put_u32(struct buf *b, uint32_t v)
{
    put_little_endian(b, v, 4);
}

void wire_put_u64(struct buf *b, uint64_t v)
{
    put_little_endian(b, v, 8);
}

void wire_put_varint(struct buf *b, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    buf_add(b, bytes, n);
}

void wire_put_signed(struct buf *b, int64_t v)
{
    wire_put_varint(b, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

void wire_put_string(struct buf *b, const void *p, size_t n)
{
    wire_put_varint(b, n);
    buf_add(b, p, n);
}
