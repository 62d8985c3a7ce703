/* SPDX-License-Identifier: MIT */
#include "sync/check.h"

#include "index/base/mem.h"
#include "index/base/pool.h"
#include "index/page.h"
#include "sync/head.h"
#include "sync/pack.h"
#include "sync/snapshots.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <uthash.h>

#define PROVERS 4

struct seen_page {
    struct locator at;
    bool hit; /* it is damaged, or something below it is wrong */
    struct page_face face;
    struct buf keys; /* what face borrows */
    UT_hash_handle hh;
};

struct check {
    const struct check_config *config;
    struct inventory inventory;
    struct condemned condemned;
    struct head head;
    struct proof *proofs;    /* one for each pack of the inventory */
    bool *referenced, *told; /* likewise: something needs it; something wrong with it was told */
    struct seen_page *pages;
    const struct snapshot *snapshot; /* the one that is looked at */
    struct check_result result;
};

static void tell(struct check *c, const char *object, const char *what, const char *path, uint64_t entries)
{
    struct check_finding f = { object, what, c->snapshot ? &c->snapshot->id : NULL, path, entries };
    c->result.findings++;
    c->config->found(c->config->arg, &f);
}

static void tell_pack(struct check *c, const struct pack_name *p, const char *what, const char *path, uint64_t entries)
{
    char key[STORE_KEY_MAX];
    pack_key(c->config->seal.box, p, key);
    tell(c, key, what, path, entries);
    const struct inventory_pack *n = inventory_find_pack(&c->inventory, p);
    if (n)
        c->told[n - c->inventory.packs] = true;
}

/* --- packs */

struct proving {
    struct check *check;
    size_t which;
    struct hash_key identity;
    bool read;
};

/* A pool's job. */
static int prove_one(void *arg, struct error *e)
{
    struct proving *p = arg;
    const struct check_config *c = p->check->config;
    const struct inventory_pack *n = &p->check->inventory.packs[p->which];
    int r = proof_make(c->store, &c->seal, &p->identity, &n->name, n->size, p->read, &p->check->proofs[p->which], e);
    free(p);
    return r;
}

static bool chosen(const struct check_config *c)
{
    return c->read_percent > 0 && randombytes_uniform(100) < c->read_percent;
}

static int prove_packs(struct check *c, struct error *e)
{
    struct inventory *v = &c->inventory;
    struct pool *pool = NULL;
    struct hash_key identity;
    keys_identity(c->config->seal.keys, c->config->seal.box, &identity);
    c->proofs = mem_new(v->pack_count + 1, sizeof(*c->proofs));
    c->referenced = mem_new(v->pack_count + 1, sizeof(*c->referenced));
    c->told = mem_new(v->pack_count + 1, sizeof(*c->told));
    int r = pool_new(PROVERS, 2 * PROVERS, &pool, e);
    for (size_t i = 0; r == 0 && i < v->pack_count; i++) {
        struct proving *p = mem_new(1, sizeof(*p));
        *p = (struct proving){ c, i, identity, chosen(c->config) };
        r = pool_run(pool, prove_one, free, p, e);
    }
    if (r == 0)
        r = pool_wait(pool, e);
    pool_free(pool);
    return r;
}

/* NULL: it is not there. */
static const struct proof *proof_of(struct check *c, const struct pack_name *p)
{
    const struct inventory_pack *n = inventory_find_pack(&c->inventory, p);
    if (!n)
        return NULL;
    size_t i = (size_t)(n - c->inventory.packs);
    c->referenced[i] = true;
    return &c->proofs[i];
}

static const char *wrong_frame(struct check *c, const struct locator *l, enum frame_kind kind)
{
    const struct proof *p = proof_of(c, &l->pack);
    return p ? proof_frame(p, l, kind) : "it is gone";
}

/* --- one entry */

static bool check_extents(struct check *c, const struct extent *x, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++) {
        const struct proof *p = proof_of(c, &x[i].frame.pack);
        const char *wrong = p ? proof_extent(p, &x[i]) : "it is gone";
        if (!wrong)
            continue;
        tell_pack(c, &x[i].frame.pack, wrong, path, 0);
        return true; /* a file is told once */
    }
    return false;
}

/* What a source says: damage is told, an outage ends the check. 1: damage. */
static int judge(struct check *c, const struct locator *l, int r, const struct error *why, const char *path,
                 uint64_t entries, struct error *e)
{
    if (why->kind != ERROR_DAMAGED) {
        error_pass(e, why);
        return r;
    }
    tell_pack(c, &l->pack, r == -ENOENT ? "it is gone" : "a frame in it is damaged", path, entries);
    return 1;
}

/* 1: something is wrong, which is told. */
static int check_list(struct check *c, const struct locator *l, const char *path, struct error *e)
{
    _cleanup_(frame_dropp) struct frame *f = NULL;
    _cleanup_free_ struct extent *x = NULL;
    struct error why = { 0 };
    size_t count = 0;
    const char *wrong = wrong_frame(c, l, FRAME_EXTENTS);
    if (wrong) {
        tell_pack(c, &l->pack, wrong, path, 0);
        return 1;
    }
    int r = source_get(c->config->source, l, FRAME_EXTENTS, &f, &why);
    if (r == 0)
        r = extents_decode((struct bytes){ f->data, f->len }, &x, &count, &why);
    if (r < 0)
        return judge(c, l, r, &why, path, 0, e);
    return check_extents(c, x, count, path);
}

static int check_entry(struct check *c, const struct page_cursor *at, struct error *e)
{
    struct entry n;
    _cleanup_(buf_release) struct buf path = { 0 };
    page_entry(at->page, at->index, &n);
    key_to_path(page_key(at), &path);
    int r = check_extents(c, n.extents, n.extent_count, buf_string(&path));
    for (size_t i = 0; r == 0 && i < n.list_count; i++)
        r = check_list(c, &n.list[i], buf_string(&path), e);
    c->result.files += n.type == ENTRY_FILE;
    entry_release(&n);
    return r;
}

/* --- pages */

static int check_page(struct check *c, const struct locator *at, const struct page_promise *said, struct error *e);

/* What lies below an inner page comes in one go where it lies together. */
static int warm_children(struct check *c, const struct page *p, struct error *e)
{
    _cleanup_free_ struct locator *l = mem_new(p->count, sizeof(*l));
    struct error why = { 0 };
    for (uint32_t i = 0; i < p->count; i++)
        l[i] = page_child(p, i).frame;
    int r = source_prepare(c->config->source, l, p->count, SOURCE_DEMAND, &why);
    if (r < 0 && why.kind != ERROR_DAMAGED) { /* damage is found again where it is looked at */
        error_pass(e, &why);
        return r;
    }
    return 0;
}

static int check_children(struct check *c, const struct page *p, struct bytes after, struct error *e)
{
    _cleanup_(buf_release) struct buf before = { 0 };
    struct page_cursor at;
    bool hit = false;
    buf_add(&before, after.data, after.len);
    int r = warm_children(c, p, e);
    for (page_first(p, &at); r >= 0 && !page_at_end(&at); page_next(&at)) {
        struct page_ref child = page_child(p, at.index);
        struct page_promise said = { p->level - 1, child.count, buf_bytes(&before), page_key(&at) };
        r = check_page(c, &child.frame, &said, e);
        hit |= r > 0;
        buf_clear(&before);
        buf_add(&before, at.key, at.key_len);
    }
    return r < 0 ? r : hit;
}

static int check_entries(struct check *c, const struct page *p, struct error *e)
{
    struct page_cursor at;
    bool hit = false;
    int r = 0;
    for (page_first(p, &at); r >= 0 && !page_at_end(&at); page_next(&at)) {
        r = check_entry(c, &at, e);
        hit |= r > 0;
    }
    return r < 0 ? r : hit;
}

static int open_page(struct check *c, const struct locator *at, struct page **ret, struct error *e)
{
    struct frame *f = NULL;
    int r = source_get(c->config->source, at, FRAME_PAGE, &f, e);
    if (r == 0)
        r = page_decode(f, ret, e);
    frame_drop(f);
    return r;
}

static void remember(struct check *c, const struct locator *at, const struct page *p, bool hit)
{
    struct seen_page *n = mem_new(1, sizeof(*n));
    *n = (struct seen_page){ .at = *at, .hit = hit };
    if (p && !hit) { /* of a damaged one nobody asks whether it is the one that is meant */
        n->face = page_face(p);
        buf_add(&n->keys, n->face.first.data, n->face.first.len);
        buf_add(&n->keys, n->face.last.data, n->face.last.len);
        n->face.first.data = n->keys.data;
        n->face.last.data = n->keys.data + n->face.first.len;
    }
    HASH_ADD(hh, c->pages, at, sizeof(n->at), n);
    c->result.pages++;
}

/* An authentic page that is not the one meant here: a right one elsewhere, so nothing of it is remembered. 1: told. */
static int check_face(struct check *c, const struct locator *at, const struct page_face *f,
                      const struct page_promise *said, const char *path)
{
    const char *wrong = page_breaks(f, said);
    if (!wrong)
        return 0;
    _cleanup_free_ char *what = mem_printf("a page in another one's place: %s", wrong);
    tell_pack(c, &at->pack, what, path, said->total);
    return 1;
}

/* 1: it, or something below it, is wrong. What those above it say is checked at each of its places, the rest once. */
static int check_page(struct check *c, const struct locator *at, const struct page_promise *said, struct error *e)
{
    _cleanup_(page_dropp) struct page *p = NULL;
    _cleanup_(buf_release) struct buf path = { 0 };
    struct error why = { 0 };
    struct seen_page *seen;
    const char *name = said->last.len > 0 && key_to_path(said->last, &path) == 0 ? buf_string(&path) : NULL;
    HASH_FIND(hh, c->pages, at, sizeof(*at), seen);
    if (seen)
        return seen->hit || check_face(c, at, &seen->face, said, name);
    const char *wrong = wrong_frame(c, at, FRAME_PAGE);
    int r = wrong ? 1 : open_page(c, at, &p, &why);
    if (wrong)
        tell_pack(c, &at->pack, wrong, name, said->total);
    else if (r < 0)
        r = judge(c, at, r, &why, name, said->total, e);
    if (r == 0) {
        struct page_face f = page_face(p);
        if (check_face(c, at, &f, said, name))
            return 1;
        r = p->level > 0 ? check_children(c, p, said->after, e) : check_entries(c, p, e);
    }
    if (r >= 0)
        remember(c, at, p, r > 0);
    return r;
}

/* --- snapshots */

static int check_frames(struct check *c, const struct snapshot_frames *f, enum frame_kind kind, struct error *e)
{
    int hit = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct frame *frame = NULL;
        struct error why = { 0 };
        const char *wrong = wrong_frame(c, &f->frames[i], kind);
        int r = wrong ? 1 : source_get(c->config->source, &f->frames[i], kind, &frame, &why);
        frame_drop(frame);
        if (wrong)
            tell_pack(c, &f->frames[i].pack, wrong, NULL, 0);
        else if (r < 0)
            r = judge(c, &f->frames[i], r, &why, NULL, 0, e);
        if (r < 0)
            return r;
        hit |= r;
    }
    return hit;
}

static void check_pack_list(struct check *c, const struct snapshot *s)
{
    for (size_t i = 0; i < s->pack_count; i++) {
        const struct inventory_pack *n = inventory_find_pack(&c->inventory, &s->packs[i].name);
        if (n && n->size != s->packs[i].size)
            tell_pack(c, &s->packs[i].name, "it is not as long as it was", NULL, 0);
    }
}

static int check_snapshot(struct check *c, const struct snapshot *s, struct error *e)
{
    char key[STORE_KEY_MAX];
    size_t before = c->result.findings;
    c->snapshot = s;
    check_pack_list(c, s);
    int r = check_frames(c, &s->links, FRAME_LINKS, e);
    if (r >= 0)
        r = check_frames(c, &s->access, FRAME_ACCESS, e);
    struct page_promise root = { .level = s->root.depth, .total = s->root.page.count };
    if (r >= 0 && !s->root.empty)
        r = check_page(c, &s->root.page.frame, &root, e);
    if (r > 0 && c->result.findings == before) { /* what it shares with others was told of them */
        snapshots_key(c->config->seal.box, &s->id, key);
        tell(c, key, "parts of it that it shares with others are damaged", NULL, 0);
    }
    c->snapshot = NULL;
    c->result.snapshots++;
    return r < 0 ? r : 0;
}

static bool needed(const struct check *c, const struct snapshot_id *id)
{
    const struct inventory *v = &c->inventory;
    for (size_t i = 0; i < v->hold_count; i++)
        if (snapshot_id_equal(&v->holds[i].snapshot, id))
            return true;
    for (size_t i = 0; i < v->fork_count; i++)
        if (snapshot_id_equal(&v->forks[i].snapshot, id))
            return true;
    return !condemned_find_snapshot(&c->condemned, id);
}

static int check_snapshots(struct check *c, struct error *e)
{
    char key[STORE_KEY_MAX];
    int r = 0;
    for (size_t i = 0; r == 0 && i < c->inventory.snapshot_count; i++) {
        const struct inventory_snapshot *n = &c->inventory.snapshots[i];
        if (!needed(c, &n->id))
            continue;
        snapshots_key(c->config->seal.box, &n->id, key);
        if (n->damaged)
            tell(c, key, "it is damaged", NULL, 0);
        else if (n->object)
            r = check_snapshot(c, n->object, e);
    }
    return r;
}

/* Those who name a snapshot that is not there. */
static void check_names(struct check *c)
{
    const struct inventory *v = &c->inventory;
    char key[STORE_KEY_MAX];
    if (!inventory_find_snapshot(v, &c->head.root)) {
        snapshots_key(c->config->seal.box, &c->head.root, key);
        tell(c, key, "the newest snapshot is gone", NULL, 0);
    }
    for (size_t i = 0; i < v->hold_count; i++) {
        hold_key(c->config->seal.box, &v->holds[i].writer, key);
        if (v->holds[i].damaged)
            tell(c, key, "it is damaged", NULL, 0);
        else if (!snapshot_id_none(&v->holds[i].snapshot) && !inventory_find_snapshot(v, &v->holds[i].snapshot))
            tell(c, key, "the snapshot that it holds is gone", NULL, 0);
    }
    for (size_t i = 0; i < v->fork_count; i++) {
        store_box_key(key, c->config->seal.box, "fork/%s", v->forks[i].name);
        if (v->forks[i].damaged)
            tell(c, key, "it is damaged", NULL, 0);
        else if (!inventory_find_snapshot(v, &v->forks[i].snapshot))
            tell(c, key, "its snapshot is gone", NULL, 0);
    }
}

/* Users first: what they name was there before them, so that the LIST after it must show it. */
static int look(struct check *c, struct error *e)
{
    const struct check_config *f = c->config;
    int r = head_read(f->store, &f->seal, &c->head, e);
    if (r == -ENOENT || (r == 0 && c->head.state == HEAD_TOMBSTONE))
        return head_absent(f->seal.box, r == 0, e);
    if (r == 0)
        r = condemned_get(f->store, &f->seal, c->head.condemned, &c->condemned, e);
    if (r == 0)
        r = inventory_list_users(&c->inventory, f->store, &f->seal, e);
    if (r == 0)
        r = inventory_list_snapshots(&c->inventory, f->store, f->seal.box, e);
    if (r == 0)
        r = inventory_open_snapshots(&c->inventory, f->store, &f->seal, e);
    if (r == 0) /* after the snapshots: what they refer to was there before them */
        r = inventory_list_packs(&c->inventory, f->store, f->seal.box, e);
    return r;
}

/* Damage that hits nobody, in a pack that somebody needs: the next one might. */
static void check_rest(struct check *c)
{
    for (size_t i = 0; i < c->inventory.pack_count; i++) {
        const struct proof *p = &c->proofs[i];
        c->result.packs += c->referenced[i];
        c->result.packs_read += c->referenced[i] && p->read;
        for (size_t k = 0; c->referenced[i] && !c->told[i] && k < p->frames.count; k++)
            if (p->spoiled[k])
                tell_pack(c, &c->inventory.packs[i].name, "a frame in it is damaged, which nothing needs", NULL, 0);
    }
}

static void release(struct check *c)
{
    struct seen_page *n, *next;
    HASH_ITER (hh, c->pages, n, next) {
        HASH_DEL(c->pages, n);
        buf_release(&n->keys);
        free(n);
    }
    for (size_t i = 0; c->proofs && i < c->inventory.pack_count; i++)
        proof_release(&c->proofs[i]);
    free(c->proofs);
    free(c->referenced);
    free(c->told);
    inventory_release(&c->inventory);
    condemned_release(&c->condemned);
    head_release(&c->head);
}

int check_run(const struct check_config *c, struct check_result *ret, struct error *e)
{
    struct check k = { .config = c };
    int r = look(&k, e);
    if (r == 0)
        r = prove_packs(&k, e);
    if (r == 0) {
        check_names(&k);
        r = check_snapshots(&k, e);
    }
    if (r == 0) {
        check_rest(&k);
        *ret = k.result;
    }
    release(&k);
    return r;
}
