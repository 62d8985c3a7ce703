/* SPDX-License-Identifier: MIT */
#include "index/reached.h"

#include "index/base/mem.h"
#include "index/extent.h"

#include <uthash.h>

#define FOOTER_EXTENT 34 /* of an extent, in its pack's footer: identity and length */

struct known_pack {
    UT_hash_handle hh;
    struct reached_pack pack;
    uint32_t last_offset; /* of the frame counted last */
    uint32_t last_within; /* of the extent of that frame counted last */
    bool counted, extent_counted;
};

struct reached {
    struct known_pack *packs;
    struct known_pack *last; /* neighbours mostly lie in one pack */
    struct source *source;   /* of the reached_add under way */
};

struct reached *reached_new(void)
{
    return mem_new(1, sizeof(struct reached));
}

void reached_free(struct reached *r)
{
    if (!r)
        return;
    struct known_pack *k, *next;
    HASH_ITER (hh, r->packs, k, next) {
        HASH_DEL(r->packs, k);
        free(k);
    }
    free(r);
}

void reached_freep(struct reached **r)
{
    reached_free(*r);
}

static struct known_pack *find(const struct reached *r, const struct pack_name *p)
{
    struct known_pack *k;
    if (r->last && pack_equal(&r->last->pack.name, p))
        return r->last;
    HASH_FIND(hh, r->packs, p, sizeof(*p), k);
    return k;
}

static struct known_pack *add(struct reached *r, const struct locator *l, bool metadata)
{
    struct known_pack *k = find(r, &l->pack);
    if (!k) {
        k = mem_new(1, sizeof(*k));
        k->pack.name = l->pack;
        HASH_ADD(hh, r->packs, pack.name, sizeof(k->pack.name), k);
    }
    r->last = k;
    k->pack.metadata |= metadata;
    if (k->counted && k->last_offset == l->offset)
        return k;
    k->counted = true;
    k->extent_counted = false;
    k->last_offset = l->offset;
    k->pack.live += l->sealed;
    return k;
}

/* Of small files the footer is most of the pack: without it one that is all in use would look dead. */
static void add_extent(struct reached *r, const struct extent *x)
{
    struct known_pack *k = add(r, &x->frame, false);
    if (k->extent_counted && k->last_within == x->within)
        return;
    k->extent_counted = true;
    k->last_within = x->within;
    k->pack.live += FOOTER_EXTENT;
}

static int add_list(struct reached *r, const struct locator *l, struct error *e)
{
    struct frame *f = NULL;
    struct extent *extents = NULL;
    size_t count = 0;
    add(r, l, true);
    int res = source_get(r->source, l, FRAME_EXTENTS, &f, e);
    if (res == 0)
        res = extents_decode((struct bytes){ f->data, f->len }, &extents, &count, e);
    for (size_t i = 0; res == 0 && i < count; i++)
        add_extent(r, &extents[i]);
    free(extents);
    frame_drop(f);
    return res;
}

static int add_entry(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    (void)position;
    (void)key;
    struct reached *r = arg;
    for (size_t i = 0; i < n->extent_count; i++)
        add_extent(r, &n->extents[i]);
    for (size_t i = 0; i < n->list_count; i++) {
        int res = add_list(r, &n->list[i], e);
        if (res < 0)
            return res;
    }
    return 0;
}

static int add_page(void *arg, const struct locator *page, uint8_t level, struct error *e)
{
    (void)level;
    (void)e;
    add(arg, page, true);
    return 0;
}

int reached_add(struct reached *r, const struct snapshot *s, struct tree *t, struct source *source, struct error *e)
{
    r->source = source;
    const struct snapshot_frames *strings[] = { &s->links, &s->access };
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < strings[i]->count; k++)
            add(r, &strings[i]->frames[k], true);
    int res = tree_pages(t, false, add_page, r, e);
    return res < 0 ? res : tree_scan(t, (struct bytes){ 0 }, (struct bytes){ 0 }, add_entry, r, e);
}

bool reached_has(const struct reached *r, const struct pack_name *p)
{
    return find(r, p) != NULL;
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pack_name));
}

void reached_list(const struct reached *r, struct reached_pack **ret, size_t *ret_count)
{
    size_t count = 0;
    struct reached_pack *list = mem_new(HASH_COUNT(r->packs) + 1, sizeof(*list));
    for (struct known_pack *k = r->packs; k; k = k->hh.next)
        list[count++] = k->pack;
    if (count)
        qsort(list, count, sizeof(*list), compare);
    *ret = list;
    *ret_count = count;
}
