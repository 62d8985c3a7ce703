/* SPDX-License-Identifier: MIT */
#include "index/pagecache.h"

#include "index/base/mem.h"

#include <pthread.h>
#include <uthash.h>
#include <utlist.h>

struct place {
    struct pack_name pack;
    uint32_t offset;
};

struct kept {
    struct place place;
    struct page *page;
    size_t memory;
    struct kept *prev, *next; /* the list's head was used last */
    UT_hash_handle hh;
};

struct pagecache {
    pthread_mutex_t lock; /* for everything below */
    size_t room, used;
    struct kept *by_place, *newest;
};

struct pagecache *pagecache_new(size_t room)
{
    struct pagecache *c = mem_new(1, sizeof(*c));
    pthread_mutex_init(&c->lock, NULL);
    c->room = room;
    return c;
}

static void drop(struct pagecache *c, struct kept *k)
{
    HASH_DEL(c->by_place, k);
    DL_DELETE(c->newest, k);
    c->used -= k->memory;
    page_drop(k->page);
    free(k);
}

void pagecache_free(struct pagecache *c)
{
    if (!c)
        return;
    while (c->newest)
        drop(c, c->newest);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static struct kept *find(struct pagecache *c, const struct locator *l)
{
    struct place place = { l->pack, l->offset };
    struct kept *k;
    HASH_FIND(hh, c->by_place, &place, sizeof(place), k);
    return k;
}

struct page *pagecache_get(struct pagecache *c, const struct locator *l)
{
    pthread_mutex_lock(&c->lock);
    struct kept *k = find(c, l);
    struct page *p = NULL;
    if (k) {
        p = page_hold(k->page);
        DL_DELETE(c->newest, k);
        DL_PREPEND(c->newest, k);
    }
    pthread_mutex_unlock(&c->lock);
    return p;
}

void pagecache_put(struct pagecache *c, const struct locator *l, struct page *p)
{
    size_t memory = sizeof(struct kept) + page_memory(p);
    if (memory > c->room)
        return;

    pthread_mutex_lock(&c->lock);
    if (!find(c, l)) { /* else another thread was here first */
        struct kept *k = mem_new(1, sizeof(*k));
        k->place = (struct place){ l->pack, l->offset };
        k->page = page_hold(p);
        k->memory = memory;
        HASH_ADD(hh, c->by_place, place, sizeof(k->place), k);
        DL_PREPEND(c->newest, k);
        c->used += memory;
        while (c->used > c->room)
            drop(c, c->newest->prev);
    }
    pthread_mutex_unlock(&c->lock);
}
