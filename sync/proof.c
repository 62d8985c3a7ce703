/* SPDX-License-Identifier: MIT */
#include "sync/proof.h"

#include "index/base/mem.h"
#include "sync/pack.h"

#include <errno.h>
#include <string.h>

void proof_release(struct proof *p)
{
    pack_frames_release(&p->frames);
    free(p->spoiled);
    *p = (struct proof){ 0 };
}

/* 0: the pack's own matter, which is noted. */
static int judge(struct proof *p, const struct error *why, struct error *e)
{
    if (why->code == -ENOENT) {
        p->broken = "it is gone";
        return 0;
    }
    if (why->kind == ERROR_DAMAGED) {
        p->broken = "it is cut off or damaged";
        return 0;
    }
    return error_pass(e, why);
}

/* Content by its hash; metadata by the hash of that and its kind (sync/push). */
static bool is_extent(const struct hash_key *identity, enum frame_kind kind, const uint8_t *data,
                      const struct pack_extent *x)
{
    uint8_t named[HASH_LEN + 1] = { [HASH_LEN] = (uint8_t)kind };
    struct hash h;
    hash_bytes(identity, data + x->within, x->length, &h);
    if (kind != FRAME_DATA) {
        memcpy(named, h.b, HASH_LEN);
        hash_bytes(identity, named, sizeof(named), &h);
    }
    return hash_equal(&h, &x->hash);
}

static bool frame_is_sound(const struct seal_context *c, const struct hash_key *identity, const struct proof *p,
                           const struct pack_frame *f, struct bytes pack)
{
    _cleanup_(buf_release) struct buf raw = { 0 };
    struct bytes sealed = { pack.data + f->at.offset, f->at.sealed };
    if ((uint64_t)f->at.offset + f->at.sealed > pack.len ||
        pack_frame_open(c, &f->at, f->kind, sealed, &raw, NULL) < 0 || raw.len != f->at.raw)
        return false;
    for (uint32_t i = f->first; i < f->first + f->count; i++)
        if (!is_extent(identity, f->kind, raw.data, &p->frames.extents[i]))
            return false;
    return true;
}

static int read_frames(struct store *s, const struct seal_context *c, const struct hash_key *identity,
                       const struct pack_name *name, struct proof *p, struct error *e)
{
    char key[STORE_KEY_MAX];
    _cleanup_(buf_release) struct buf pack = { 0 };
    struct error why = { 0 };
    pack_key(c->box, name, key);
    if (store_get(s, key, 0, 0, PACK_MAX, &pack, NULL, &why) < 0)
        return judge(p, &why, e);
    p->read = true;
    for (size_t i = 0; i < p->frames.count; i++)
        p->spoiled[i] = !frame_is_sound(c, identity, p, &p->frames.frames[i], buf_bytes(&pack));
    return 0;
}

int proof_make(struct store *s, const struct seal_context *c, const struct hash_key *identity,
               const struct pack_name *name, uint64_t size, bool read, struct proof *ret, struct error *e)
{
    struct proof p = { 0 };
    struct error why = { 0 };
    int r = 0;
    if (footer_read(s, c, name, size, &p.frames, &why) < 0)
        r = judge(&p, &why, e);
    else
        p.spoiled = mem_new(p.frames.count + 1, sizeof(*p.spoiled));
    if (r == 0 && read && !p.broken)
        r = read_frames(s, c, identity, name, &p, e);
    if (r < 0) {
        proof_release(&p);
        return r;
    }
    *ret = p;
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    uint32_t x = ((const struct pack_frame *)a)->at.offset, y = ((const struct pack_frame *)b)->at.offset;
    return x < y ? -1 : x > y;
}

static const struct pack_frame *find(const struct proof *p, const struct locator *l)
{
    struct pack_frame wanted = { .at = *l };
    return p->frames.count ? bsearch(&wanted, p->frames.frames, p->frames.count, sizeof(wanted), by_offset) : NULL;
}

/* What is wrong, or NULL and the frame. */
static const char *look_up(const struct proof *p, const struct locator *l, enum frame_kind kind,
                           const struct pack_frame **ret)
{
    if (p->broken)
        return p->broken;
    const struct pack_frame *f = find(p, l);
    if (!f || f->at.sealed != l->sealed || f->at.raw != l->raw || f->kind != kind)
        return "its footer knows no such frame";
    *ret = f;
    return p->spoiled[f - p->frames.frames] ? "a frame in it is damaged" : NULL;
}

const char *proof_frame(const struct proof *p, const struct locator *l, enum frame_kind kind)
{
    const struct pack_frame *f;
    return look_up(p, l, kind, &f);
}

const char *proof_extent(const struct proof *p, const struct extent *x)
{
    const struct pack_frame *f = NULL;
    const char *wrong = look_up(p, &x->frame, FRAME_DATA, &f);
    if (wrong)
        return wrong;
    for (uint32_t i = f->first; i < f->first + f->count; i++) {
        const struct pack_extent *n = &p->frames.extents[i];
        if (n->within == x->within && n->length == x->length && hash_equal(&n->hash, &x->hash))
            return NULL;
    }
    return "its footer knows no such content";
}
