/* SPDX-License-Identifier: MIT */
#include "sync/known.h"

#include "index/base/log.h"
#include "index/base/mem.h"

#include <errno.h>
#include <stdio.h>

/* Our keys are random already. */
#define HASH_FUNCTION(key, len, value) memcpy(&(value), (key), sizeof(value))
#include <uthash.h>

struct content {
    struct hash hash;
    struct placement *where;
    uint32_t length, within;
    UT_hash_handle hh;
};

struct relied {
    uint8_t id[16]; /* of a pack of this writer */
    uint32_t size;
    bool metadata, there;
    UT_hash_handle hh;
};

struct known {
    struct cache *cache;
    struct writer writer;
    const struct tidy_plan *avoid;
    struct content *contents;
    struct relied *relied; /* uthash keeps the order in which they came */
    struct extent *before; /* by hash */
    size_t before_count;
};

struct known *known_new(struct cache *cache, const struct writer *w, const struct tidy_plan *avoid)
{
    struct known *k = mem_new(1, sizeof(*k));
    k->cache = cache;
    k->writer = *w;
    k->avoid = avoid;
    return k;
}

void known_free(struct known *k)
{
    if (!k)
        return;
    struct content *c, *next;
    struct relied *r, *after;
    HASH_ITER (hh, k->contents, c, next) {
        HASH_DEL(k->contents, c);
        placement_drop(c->where);
        free(c);
    }
    HASH_ITER (hh, k->relied, r, after) {
        HASH_DEL(k->relied, r);
        free(r);
    }
    free(k->before);
    free(k);
}

void known_add(struct known *k, const struct hash *h, uint32_t length, struct placement *where, uint32_t within)
{
    if (HASH_COUNT(k->contents) >= KNOWN_MAX)
        return;
    struct content *c = mem_new(1, sizeof(*c));
    *c = (struct content){ .hash = *h, .where = placement_hold(where), .length = length, .within = within };
    HASH_ADD(hh, k->contents, hash, sizeof(c->hash), c);
}

static bool is_own(const struct known *k, const struct pack_name *p)
{
    return memcmp(&p->writer, &k->writer, sizeof(p->writer)) == 0;
}

static int by_hash(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    return memcmp(x->hash.b, y->hash.b, HASH_LEN);
}

void known_before(struct known *k, struct extent *x, size_t count)
{
    free(k->before);
    k->before = x;
    k->before_count = count;
    if (count > 1)
        qsort(x, count, sizeof(*x), by_hash);
}

/* The first one that has this hash, if any has. */
static size_t seek_before(const struct known *k, const struct hash *h)
{
    size_t low = 0, high = k->before_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(k->before[middle].hash.b, h->b, HASH_LEN) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* True: of the base, and its pack may be referred to. What this writer has sent may be gone, which only its journal and
 * the cache are made to forget. */
static bool find_in_base(struct known *k, const struct hash *h, uint32_t length, struct known_extent *ret)
{
    for (size_t i = seek_before(k, h); i < k->before_count && hash_equal(&k->before[i].hash, h); i++) {
        const struct extent *x = &k->before[i];
        if (x->length != length || is_own(k, &x->frame.pack) || tidy_avoids(k->avoid, &x->frame.pack))
            continue;
        *ret = (struct known_extent){ .hash = *h, .length = length, .frame = x->frame, .within = x->within };
        return true;
    }
    return k->cache && cache_known_find(k->cache, h, ret, NULL) == 0 && ret->length == length &&
           !tidy_avoids(k->avoid, &ret->frame.pack);
}

bool known_find(struct known *k, const struct hash *h, uint32_t length, struct known_place *ret)
{
    struct content *c;
    struct known_extent x;
    HASH_FIND(hh, k->contents, h, sizeof(*h), c);
    if (c && c->length == length) {
        *ret = (struct known_place){ placement_hold(c->where), c->within };
        return true;
    }
    if (!find_in_base(k, h, length, &x))
        return false;
    known_count_on(k, &x.frame.pack, 0, false);
    *ret = (struct known_place){ placement_new(&x.frame), x.within };
    return true;
}

bool known_count_on(struct known *k, const struct pack_name *p, uint32_t size, bool metadata)
{
    struct relied *r;
    if (!is_own(k, p))
        return false;
    HASH_FIND(hh, k->relied, p->id, sizeof(p->id), r);
    if (!r) {
        r = mem_new(1, sizeof(*r));
        memcpy(r->id, p->id, sizeof(r->id));
        HASH_ADD(hh, k->relied, id, sizeof(r->id), r);
    }
    r->size = size ? size : r->size;
    r->metadata |= metadata;
    return true;
}

struct resume {
    struct known *known;
    struct store *store;
    const struct seal_context *seal;
};

static void learn(struct known *k, const struct pack_frames *f)
{
    for (size_t i = 0; i < f->count; i++) {
        const struct pack_frame *n = &f->frames[i];
        struct placement *w = placement_new(&n->at);
        for (size_t x = n->first; x < n->first + n->count; x++)
            known_add(k, &f->extents[x].hash, f->extents[x].length, w, f->extents[x].within);
        placement_drop(w);
    }
}

static int resume_pack(void *arg, const struct pack_name *p, uint32_t size, bool metadata, struct error *e)
{
    struct resume *m = arg;
    _cleanup_(pack_frames_release) struct pack_frames f = { 0 };
    struct error why = { 0 };
    char name[PACK_TEXT];
    pack_text(p, name);
    if (!is_own(m->known, p) || tidy_avoids(m->known->avoid, p))
        return 0;
    int r = footer_read(m->store, m->seal, p, size, &f, &why);
    if (r == -ENOENT || r == -EBADMSG) {
        log_warn("pack %s, which was sent before, cannot be used again: %s", name, why.text);
        return 0;
    }
    if (r < 0) {
        error_pass(e, &why);
        error_prefix(e, "look into pack %s, which was sent before", name);
        return r;
    }
    learn(m->known, &f);
    known_count_on(m->known, p, size, false);
    return 0;
}

int known_resume(struct known *k, struct journal *j, struct store *s, const struct seal_context *c, struct error *e)
{
    struct resume m = { k, s, c };
    return journal_packs(j, resume_pack, &m, e);
}

static int see(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    struct known *k = arg;
    struct pack_name p;
    struct relied *r = NULL;
    size_t n = strlen(key);
    if (n >= PACK_TEXT && pack_parse(key + n - (PACK_TEXT - 1), &p) == 0)
        HASH_FIND(hh, k->relied, p.id, sizeof(p.id), r);
    if (r && (r->size == 0 || r->size == info->size)) {
        r->there = true;
        r->size = (uint32_t)info->size;
    }
    return 0;
}

int known_verify(struct known *k, struct store *s, const char *box, struct snapshot_pack **ret_packs, size_t *ret_count,
                 struct error *e)
{
    char prefix[STORE_KEY_MAX], writer[WRITER_TEXT];
    size_t count = 0;
    writer_text(&k->writer, writer);
    store_box_key(prefix, box, "pack/%s/", writer);
    int r = HASH_COUNT(k->relied) > 0 ? store_list(s, prefix, see, k, e) : 0;
    if (r < 0)
        return r;

    _cleanup_free_ struct snapshot_pack *packs = mem_new(HASH_COUNT(k->relied) + 1, sizeof(*packs));
    for (struct relied *m = k->relied; m; m = m->hh.next) {
        struct pack_name p = { .writer = k->writer };
        char name[PACK_TEXT];
        memcpy(p.id, m->id, sizeof(p.id));
        pack_text(&p, name);
        if (!m->there)
            return error_say(e, ERROR_STORE, -ENODATA, "pack %s was sent, but the store does not list it as it was",
                             name);
        if (m->metadata)
            packs[count++] = (struct snapshot_pack){ .name = p, .size = m->size };
    }
    for (size_t i = 0; i < count / 2; i++) {
        struct snapshot_pack other = packs[i];
        packs[i] = packs[count - 1 - i];
        packs[count - 1 - i] = other;
    }
    *ret_packs = mem_steal(packs);
    *ret_count = count;
    return 0;
}
