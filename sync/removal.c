/* SPDX-License-Identifier: MIT */
#include "sync/removal.h"

#include "index/base/mem.h"
#include "index/base/pool.h"

#include <stdio.h>
#include <string.h>

#define REMOVERS 8

struct removal {
    struct store *store;
    char key[STORE_KEY_MAX];
};

/* A pool's job. */
static int remove_one(void *arg, struct error *e)
{
    struct removal *m = arg;
    int r = store_remove(m->store, m->key, e);
    free(m);
    return r;
}

int removal_run(struct store *s, char (*keys)[STORE_KEY_MAX], size_t count, struct error *e)
{
    struct pool *pool = NULL;
    if (count == 0)
        return 0;
    int r = pool_new(REMOVERS, REMOVAL_BATCH, &pool, e);
    for (size_t i = 0; r == 0 && i < count; i++) {
        struct removal *m = mem_new(1, sizeof(*m));
        m->store = s;
        memcpy(m->key, keys[i], sizeof(m->key));
        r = pool_run(pool, remove_one, free, m, e);
    }
    if (r == 0)
        r = pool_wait(pool, e);
    pool_free(pool);
    return r;
}

struct sweep {
    struct store *store;
    int64_t before_ns;
    const char *head;
    char (*keys)[STORE_KEY_MAX];
    size_t pending, count;
};

static int flush(struct sweep *w, struct error *e)
{
    int r = removal_run(w->store, w->keys, w->pending, e);
    if (r == 0)
        w->count += w->pending;
    w->pending = 0;
    return r;
}

static int sweep_object(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    struct sweep *w = arg;
    if (info->modified_ns >= w->before_ns || strcmp(key, w->head) == 0)
        return 0;
    snprintf(w->keys[w->pending++], STORE_KEY_MAX, "%s", key);
    return w->pending == REMOVAL_BATCH ? flush(w, e) : 0;
}

static int sweep(struct sweep *w, const char *prefix, struct error *e)
{
    int r = store_list(w->store, prefix, sweep_object, w, e);
    return r < 0 ? r : flush(w, e);
}

int removal_below(struct store *s, const char *prefix, struct error *e)
{
    _cleanup_free_ char(*keys)[STORE_KEY_MAX] = mem_new(REMOVAL_BATCH, sizeof(*keys));
    struct sweep w = { .store = s, .before_ns = INT64_MAX, .head = "", .keys = keys };
    return sweep(&w, prefix, e);
}

int removal_of_box(struct store *s, const char *box, int64_t before_ns, size_t *ret_count, struct error *e)
{
    static const char *const parts[] = { "snap/", "pack/", "condemned/", "hold/", "fork/", "" };
    char head[STORE_KEY_MAX], prefix[STORE_KEY_MAX];
    _cleanup_free_ char(*keys)[STORE_KEY_MAX] = mem_new(REMOVAL_BATCH, sizeof(*keys));
    struct sweep w = { .store = s, .before_ns = before_ns, .head = head, .keys = keys };
    int r = 0;
    store_box_key(head, box, "head");
    for (size_t i = 0; r == 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
        store_box_key(prefix, box, "%s", parts[i]);
        r = sweep(&w, prefix, e);
    }
    if (r == 0)
        *ret_count = w.count;
    return r;
}
