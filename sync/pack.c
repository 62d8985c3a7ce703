/* SPDX-License-Identifier: MIT */
#include "sync/pack.h"

#include "index/base/mem.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>

#define FOOTER_FULL (4u * 1024 * 1024) /* bytes of footer from which a pack takes no more */
#define FRAME_NAME (sizeof(struct pack_name) + 4 + 1)

struct pack {
    struct seal_context seal;
    struct pack_name name;
    struct pack_frames contents;
    struct buf bytes;
};

void pack_key(const char *box, const struct pack_name *p, char to[STORE_KEY_MAX])
{
    char name[PACK_TEXT];
    pack_text(p, name);
    store_box_key(to, box, "pack/%s", name);
}

static void frame_name(const struct locator *l, enum frame_kind kind, uint8_t to[FRAME_NAME])
{
    memcpy(to, &l->pack, sizeof(l->pack));
    uint8_t *p = to + sizeof(l->pack);
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(l->offset >> (8 * i));
    p[4] = (uint8_t)kind;
}

int pack_frame_open(const struct seal_context *c, const struct locator *l, enum frame_kind kind, struct bytes sealed,
                    struct buf *ret, struct error *e)
{
    uint8_t name[FRAME_NAME];
    char text[PACK_TEXT];
    size_t before = ret->len;
    frame_name(l, kind, name);
    int r = 0;
    if (!locator_plausible(l) || sealed.len != l->sealed)
        r = error_say(e, ERROR_DAMAGED, -EBADMSG, "it is not %u bytes long", l->sealed);
    if (r == 0)
        r = seal_open(c, SEAL_FRAME, name, sizeof(name), sealed, l->raw, ret, e);
    if (r == 0 && ret->len - before != l->raw) {
        ret->len = before;
        r = error_say(e, ERROR_DAMAGED, -EBADMSG, "it does not hold %u bytes", l->raw);
    }
    if (r < 0) {
        pack_text(&l->pack, text);
        error_prefix(e, "frame at %u of pack %s", l->offset, text);
    }
    return r;
}

struct pack *pack_new(const struct seal_context *c, const struct writer *w)
{
    struct pack *p = mem_new(1, sizeof(*p));
    p->seal = *c;
    p->name.writer = *w;
    randombytes_buf(p->name.id, sizeof(p->name.id));
    return p;
}

void pack_free(struct pack *p)
{
    if (!p)
        return;
    pack_frames_release(&p->contents);
    buf_release(&p->bytes);
    free(p);
}

void pack_reserve(struct pack *p, enum frame_kind kind, size_t raw_len, size_t prepared_len,
                  const struct pack_extent *extents, size_t count, struct locator *ret)
{
    struct locator l = {
        .pack = p->name,
        .offset = (uint32_t)p->bytes.len,
        .sealed = (uint32_t)(prepared_len + SEAL_OVERHEAD),
        .raw = (uint32_t)raw_len,
    };
    /* Once and for all: frames are filled in while others are reserved, so the bytes must not move. */
    if (!p->bytes.data)
        buf_reserve(&p->bytes, PACK_FULL + FRAME_SEALED_MAX);
    p->bytes.len += l.sealed;
    if (!locator_plausible(&l) || p->bytes.len > p->bytes.room)
        abort();
    pack_frames_add(&p->contents, &l, kind, extents, count);
    *ret = l;
}

void pack_fill(struct pack *p, const struct locator *l, enum frame_kind kind, struct bytes prepared)
{
    uint8_t name[FRAME_NAME];
    frame_name(l, kind, name);
    seal_prepared(&p->seal, SEAL_FRAME, name, sizeof(name), prepared, p->bytes.data + l->offset);
}

void pack_add(struct pack *p, enum frame_kind kind, struct bytes raw, const struct pack_extent *extents, size_t count,
              struct locator *ret)
{
    _cleanup_(buf_release) struct buf prepared = { 0 };
    seal_prepare(raw, &prepared);
    pack_reserve(p, kind, raw.len, prepared.len, extents, count, ret);
    pack_fill(p, ret, kind, buf_bytes(&prepared));
}

bool pack_full(const struct pack *p)
{
    size_t footer = p->contents.count * 16 + p->contents.extent_count * (HASH_LEN + 4);
    return p->bytes.len >= PACK_FULL || footer >= FOOTER_FULL;
}

bool pack_empty(const struct pack *p)
{
    return p->contents.count == 0;
}

/*
 * Padmé (Nikitin et al., PoPETs 2019): as many trailing zero bits as log2 of log2 of the size leaves free, so that
 * sizes up to n show O(log log n) bits. Here never less than whole PACK_PAD_LEAST.
 */
static size_t padded(size_t n)
{
    unsigned exponent = 63 - (unsigned)__builtin_clzl(n | 1);
    unsigned shown = exponent ? 32 - (unsigned)__builtin_clz(exponent) : 0;
    size_t step = exponent > shown ? (size_t)1 << (exponent - shown) : 1;
    if (step < PACK_PAD_LEAST)
        step = PACK_PAD_LEAST;
    return (n + step - 1) / step * step;
}

void pack_finish(struct pack *p)
{
    _cleanup_(buf_release) struct buf end = { 0 };
    footer_seal(&p->seal, &p->name, &p->contents, &end);
    size_t size = padded(p->bytes.len + end.len), padding = size - p->bytes.len - end.len;
    uint8_t seed[randombytes_SEEDBYTES];
    randombytes_buf(seed, sizeof(seed));
    buf_reserve(&p->bytes, padding + end.len);
    randombytes_buf_deterministic(p->bytes.data + p->bytes.len, padding, seed); /* zeros would show where frames end */
    p->bytes.len += padding;
    buf_add(&p->bytes, end.data, end.len);
}

struct bytes pack_bytes(const struct pack *p)
{
    return buf_bytes(&p->bytes);
}

const struct pack_name *pack_name(const struct pack *p)
{
    return &p->name;
}

const struct pack_frames *pack_contents(const struct pack *p)
{
    return &p->contents;
}
