/* SPDX-License-Identifier: MIT */
#include "sync/inventory.h"

#include "index/base/mem.h"
#include "index/base/pool.h"
#include "sync/snapshots.h"

#include <errno.h>
#include <stdio.h>

#define SNAPSHOTS_MAX 65536
#define READERS 8

void inventory_release(struct inventory *v)
{
    for (size_t i = 0; i < v->snapshot_count; i++) {
        if (v->snapshots[i].object)
            snapshot_release(v->snapshots[i].object);
        free(v->snapshots[i].object);
    }
    free(v->snapshots);
    free(v->packs);
    free(v->holds);
    free(v->forks);
    *v = (struct inventory){ 0 };
}

struct listing {
    struct inventory *inventory;
    size_t skip; /* of a key, to the name */
    size_t room;
};

static int add_snapshot(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    struct listing *l = arg;
    struct inventory *v = l->inventory;
    struct inventory_snapshot n = { .size = info->size, .modified_ns = info->modified_ns };
    v->now_ns = info->now_ns;
    if (snapshots_parse_id(key + l->skip, &n.id) < 0)
        return 0;
    if (v->snapshot_count == SNAPSHOTS_MAX)
        return error_say(e, ERROR_DAMAGED, -EFBIG, "more than %d snapshots", SNAPSHOTS_MAX);
    if (v->snapshot_count == l->room)
        v->snapshots = mem_grow(v->snapshots, l->room = l->room * 2 + 64, sizeof(n));
    v->snapshots[v->snapshot_count++] = n;
    return 0;
}

static int add_pack(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    struct listing *l = arg;
    struct inventory *v = l->inventory;
    struct inventory_pack n = { .size = info->size, .modified_ns = info->modified_ns };
    v->now_ns = info->now_ns;
    if (pack_parse(key + l->skip, &n.name) < 0)
        return 0;
    if (v->pack_count == INVENTORY_PACKS_MAX)
        return error_say(e, ERROR_DAMAGED, -EFBIG, "more than %u packs", INVENTORY_PACKS_MAX);
    if (v->pack_count == l->room)
        v->packs = mem_grow(v->packs, l->room = l->room * 2 + 64, sizeof(n));
    v->packs[v->pack_count++] = n;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct inventory_snapshot *x = a, *y = b;
    if (x->modified_ns != y->modified_ns)
        return x->modified_ns < y->modified_ns ? -1 : 1;
    return memcmp(&x->id, &y->id, sizeof(x->id));
}

static int by_name(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pack_name));
}

int inventory_list_snapshots(struct inventory *v, struct store *s, const char *box, struct error *e)
{
    char prefix[STORE_KEY_MAX];
    struct listing l = { v, store_box_key(prefix, box, "snap/"), 0 };
    int r = store_list(s, prefix, add_snapshot, &l, e);
    if (r == 0 && v->snapshot_count)
        qsort(v->snapshots, v->snapshot_count, sizeof(*v->snapshots), by_time);
    return r;
}

int inventory_list_packs(struct inventory *v, struct store *s, const char *box, struct error *e)
{
    char prefix[STORE_KEY_MAX];
    struct listing l = { v, store_box_key(prefix, box, "pack/"), 0 };
    int r = store_list(s, prefix, add_pack, &l, e);
    if (r == 0 && v->pack_count) /* the order of keys is that of names; a store that differs is put right */
        qsort(v->packs, v->pack_count, sizeof(*v->packs), by_name);
    return r;
}

int inventory_list_users(struct inventory *v, struct store *s, const struct seal_context *c, struct error *e)
{
    int r = hold_list(s, c, &v->holds, &v->hold_count, e);
    return r < 0 ? r : fork_list(s, c, &v->forks, &v->fork_count, e);
}

struct opening {
    struct inventory_snapshot *snapshot;
    struct store *store;
    const struct seal_context *seal;
};

/* A pool's job. */
static int open_one(void *arg, struct error *e)
{
    struct opening *o = arg;
    struct inventory_snapshot *n = o->snapshot;
    struct error why = { 0 };
    n->object = mem_new(1, sizeof(*n->object));
    int r = snapshots_get(o->store, o->seal, &n->id, n->object, &why);
    free(arg);
    if (r == 0) {
        snapshot_pages_free(n->object->pages, n->object->page_count);
        n->object->pages = NULL;
        n->object->page_count = 0;
        return 0;
    }
    free(mem_steal(n->object));
    n->damaged = why.kind == ERROR_DAMAGED;
    if (n->damaged || r == -ENOENT)
        return 0;
    error_pass(e, &why);
    return r;
}

int inventory_open_snapshots(struct inventory *v, struct store *s, const struct seal_context *c, struct error *e)
{
    struct pool *pool = NULL;
    int r = pool_new(READERS, 2 * READERS, &pool, e);
    for (size_t i = 0; r == 0 && i < v->snapshot_count; i++) {
        struct opening *o = mem_new(1, sizeof(*o));
        *o = (struct opening){ &v->snapshots[i], s, c };
        r = pool_run(pool, open_one, free, o, e);
    }
    if (r == 0)
        r = pool_wait(pool, e);
    pool_free(pool);
    return r;
}

const struct inventory_snapshot *inventory_find_snapshot(const struct inventory *v, const struct snapshot_id *id)
{
    for (size_t i = 0; i < v->snapshot_count; i++)
        if (snapshot_id_equal(&v->snapshots[i].id, id))
            return &v->snapshots[i];
    return NULL;
}

const struct inventory_pack *inventory_find_pack(const struct inventory *v, const struct pack_name *p)
{
    return v->pack_count ? bsearch(p, v->packs, v->pack_count, sizeof(*v->packs), by_name) : NULL;
}

bool inventory_writer_lives(const struct inventory *v, const struct writer *w)
{
    for (size_t i = 0; i < v->hold_count; i++)
        if (memcmp(&v->holds[i].writer, w, sizeof(*w)) == 0)
            return true;
    for (size_t i = 0; i < v->fork_count; i++)
        if (!v->forks[i].damaged && memcmp(&v->forks[i].writer, w, sizeof(*w)) == 0)
            return true;
    return false;
}
