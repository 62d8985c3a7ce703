/* SPDX-License-Identifier: MIT */
#include "sync/footer.h"

#include "index/base/mem.h"
#include "index/base/wire.h"
#include "sync/pack.h"

#include <errno.h>
#include <sodium.h>

#define TAIL (64u * 1024) /* of the first GET */
#define FRAME_LEAST 4     /* encoded bytes of the smallest frame, and of the smallest extent: what bounds counts */
#define EXTENT_LEAST (1 + HASH_LEN)

void pack_frames_release(struct pack_frames *f)
{
    free(f->frames);
    free(f->extents);
    *f = (struct pack_frames){ 0 };
}

void pack_frames_add(struct pack_frames *f, const struct locator *at, enum frame_kind kind,
                     const struct pack_extent *extents, size_t count)
{
    if (f->count == f->room) {
        f->room = f->room ? f->room * 2 : 64;
        f->frames = mem_grow(f->frames, f->room, sizeof(*f->frames));
    }
    while (f->extent_room - f->extent_count < count) {
        f->extent_room = f->extent_room ? f->extent_room * 2 : 256;
        f->extents = mem_grow(f->extents, f->extent_room, sizeof(*f->extents));
    }
    f->frames[f->count++] = (struct pack_frame){
        .at = *at,
        .kind = kind,
        .first = (uint32_t)f->extent_count,
        .count = (uint32_t)count,
    };
    if (count > 0)
        memcpy(f->extents + f->extent_count, extents, count * sizeof(*extents));
    f->extent_count += count;
}

void footer_encode(const struct pack_frames *f, struct buf *to)
{
    wire_put_varint(to, f->count);
    for (size_t i = 0; i < f->count; i++) {
        const struct pack_frame *n = &f->frames[i];
        wire_put_u8(to, (uint8_t)n->kind);
        wire_put_varint(to, n->at.sealed);
        wire_put_varint(to, n->at.raw);
        wire_put_varint(to, n->count);
        for (size_t k = n->first; k < n->first + n->count; k++) {
            wire_put_varint(to, f->extents[k].length);
            buf_add(to, f->extents[k].hash.b, HASH_LEN);
        }
    }
}

/* The extents of one frame, appended. They must fill raw bytes. */
static void decode_extents(struct wire *w, uint32_t raw, struct pack_frames *f, struct pack_frame *n)
{
    uint64_t count = wire_bounded(w, (uint64_t)(w->end - w->at) / EXTENT_LEAST);
    uint32_t within = 0;
    if (w->bad)
        return;
    if (f->extent_room - f->extent_count < count) {
        f->extent_room = (f->extent_count + count) * 2;
        f->extents = mem_grow(f->extents, f->extent_room, sizeof(*f->extents));
    }
    n->first = (uint32_t)f->extent_count;
    n->count = (uint32_t)count;
    for (uint64_t i = 0; i < count && !w->bad; i++) {
        struct pack_extent *x = &f->extents[f->extent_count];
        x->within = within;
        x->length = (uint32_t)wire_bounded(w, raw - within);
        wire_copy(w, x->hash.b, HASH_LEN);
        if (x->length == 0)
            w->bad = true;
        within += x->length;
        f->extent_count++;
    }
    if (count > 0 && within != raw)
        w->bad = true;
}

static void decode_frame(struct wire *w, const struct pack_name *p, uint64_t frames_len, uint64_t *offset,
                         struct pack_frames *f)
{
    struct pack_frame *n = &f->frames[f->count++];
    *n = (struct pack_frame){ .at = { .pack = *p, .offset = (uint32_t)*offset } };
    uint8_t kind = wire_u8(w);
    n->kind = kind;
    n->at.sealed = (uint32_t)wire_bounded(w, frames_len - *offset);
    n->at.raw = (uint32_t)wire_bounded(w, FRAME_RAW_MAX);
    *offset += n->at.sealed;
    if (kind < FRAME_DATA || kind > FRAME_ACCESS || !locator_plausible(&n->at))
        w->bad = true;
    decode_extents(w, n->at.raw, f, n);
}

int footer_decode(struct bytes raw, const struct pack_name *p, uint64_t frames_len, struct pack_frames *ret,
                  struct error *e)
{
    _cleanup_(pack_frames_release) struct pack_frames f = { 0 };
    struct wire w = wire_reader(raw.data, raw.len);
    uint64_t offset = 0, count = wire_bounded(&w, raw.len / FRAME_LEAST);
    if (frames_len > PACK_MAX)
        w.bad = true;
    if (!w.bad) {
        f.room = count + 1;
        f.frames = mem_new(f.room, sizeof(*f.frames));
    }
    for (uint64_t i = 0; i < count && !w.bad; i++)
        decode_frame(&w, p, frames_len, &offset, &f);
    if (!wire_done(&w))
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "a pack's footer is not one");

    *ret = f;
    f = (struct pack_frames){ 0 };
    return 0;
}

/* Hides the footer's length, which tells how many files a pack holds, from who has no key. */
static uint32_t length_mask(const struct seal_context *c, const struct pack_name *p)
{
    static const uint8_t personal[crypto_generichash_blake2b_PERSONALBYTES] = "ag-box length";
    uint8_t key[32], mask[16];
    keys_sealing(c->keys, key);
    crypto_generichash_blake2b_salt_personal(mask, sizeof(mask), (const uint8_t *)p, sizeof(*p), key, sizeof(key), NULL,
                                             personal);
    sodium_memzero(key, sizeof(key));
    struct wire w = wire_reader(mask, sizeof(mask));
    return wire_u32(&w);
}

void footer_seal(const struct seal_context *c, const struct pack_name *p, const struct pack_frames *f, struct buf *to)
{
    _cleanup_(buf_release) struct buf raw = { 0 };
    size_t before = to->len;
    footer_encode(f, &raw);
    seal(c, SEAL_FOOTER, p, sizeof(*p), buf_bytes(&raw), to);
    wire_put_u32(to, (uint32_t)(to->len - before) ^ length_mask(c, p));
}

int footer_open(const struct seal_context *c, const struct pack_name *p, uint64_t size, struct bytes tail,
                struct pack_frames *ret, size_t *ret_need, struct error *e)
{
    char name[PACK_TEXT];
    pack_text(p, name);
    if (tail.len < 4 || size > PACK_MAX || tail.len > size)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "pack %s has an impossible size", name);

    struct wire w = wire_reader(tail.data + tail.len - 4, 4);
    size_t len = wire_u32(&w) ^ length_mask(c, p);
    if (len > FOOTER_SEALED_MAX || len + 4 > size)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "pack %s is cut off or damaged at its end", name);
    if (len + 4 > tail.len) {
        *ret_need = len + 4;
        return -ENOBUFS;
    }

    _cleanup_(buf_release) struct buf raw = { 0 };
    struct bytes sealed = { tail.data + tail.len - 4 - len, len };
    int r = seal_open(c, SEAL_FOOTER, p, sizeof(*p), sealed, FOOTER_RAW_MAX, &raw, e);
    if (r == 0)
        r = footer_decode(buf_bytes(&raw), p, size - 4 - len, ret, e);
    if (r < 0)
        error_prefix(e, "footer of pack %s", name);
    return r;
}

int footer_read(struct store *s, const struct seal_context *c, const struct pack_name *p, uint64_t size,
                struct pack_frames *ret, struct error *e)
{
    _cleanup_(buf_release) struct buf tail = { 0 };
    char key[STORE_KEY_MAX];
    pack_key(c->box, p, key);
    size_t need = size < TAIL ? size : TAIL;
    if (size < 4 || size > PACK_MAX)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "%s has an impossible size", key);

    for (int round = 0;; round++) {
        int r = store_get(s, key, size - need, need, need, &tail, NULL, e);
        if (r == 0)
            r = footer_open(c, p, size, buf_bytes(&tail), ret, &need, e);
        if (r != -ENOBUFS || round > 0)
            return r;
    }
}
