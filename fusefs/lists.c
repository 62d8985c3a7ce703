/* SPDX-License-Identifier: MIT */
#include "fusefs/lists.h"

#include "index/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <uthash.h>

struct list {
    uint64_t position;
    unsigned users;
    bool forgotten; /* out of the table; goes with its last user */
    struct extent *extents;
    size_t count;
    UT_hash_handle hh; /* insertion order is order of use */
};

struct lists {
    struct source *source;
    pthread_mutex_t lock;
    struct list *table;
    size_t extents;
};

int lists_new(struct source *source, struct lists **ret, struct error *e)
{
    struct lists *l = mem_new(1, sizeof(*l));
    l->source = source;
    pthread_mutex_init(&l->lock, NULL);
    *ret = l;
    return 0;
}

static void free_list(struct list *x)
{
    free(x->extents);
    free(x);
}

/* With the lock held, like the other three below. */
static void forget(struct lists *l, struct list *x)
{
    HASH_DEL(l->table, x);
    l->extents -= x->count;
    x->forgotten = true;
    if (x->users == 0)
        free_list(x);
}

static void make_room(struct lists *l, size_t count)
{
    while (l->table && l->extents + count > LISTS_EXTENTS)
        forget(l, l->table); /* the head is what was used longest ago */
}

static struct list *find(struct lists *l, uint64_t position)
{
    struct list *x;
    HASH_FIND(hh, l->table, &position, sizeof(position), x);
    if (x) {
        HASH_DEL(l->table, x);
        HASH_ADD(hh, l->table, position, sizeof(x->position), x);
        x->users++;
    }
    return x;
}

static void insert(struct lists *l, struct list *x)
{
    make_room(l, x->count);
    HASH_ADD(hh, l->table, position, sizeof(x->position), x);
    l->extents += x->count;
}

void lists_free(struct lists *l)
{
    if (!l)
        return;
    while (l->table)
        forget(l, l->table);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static bool in_order(const struct extent *x, size_t count, uint64_t size)
{
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        if (x[i].start < end || x[i].length == 0 || x[i].length > size || x[i].start > size - x[i].length)
            return false;
        end = x[i].start + x[i].length;
    }
    return true;
}

static int load(struct lists *l, const struct entry *n, struct list *x, struct error *e)
{
    for (size_t i = 0; i < n->list_count; i++) {
        _cleanup_(frame_dropp) struct frame *f = NULL;
        int r = source_get(l->source, &n->list[i], FRAME_EXTENTS, &f, e);
        if (r == 0)
            r = extents_decode((struct bytes){ f->data, f->len }, &x->extents, &x->count, e);
        if (r < 0)
            return r;
        if (x->count > ENTRY_EXTENTS_MAX)
            return error_say(e, ERROR_DAMAGED, -EBADMSG, "more extents than a file can have");
    }
    if (!in_order(x->extents, x->count, n->size))
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "extents that overlap or leave the file");
    return 0;
}

static struct list *keep(struct lists *l, struct list *loaded)
{
    pthread_mutex_lock(&l->lock);
    struct list *x = find(l, loaded->position);
    if (!x) {
        x = loaded;
        x->users = 1;
        insert(l, x);
    } else
        free_list(loaded); /* someone else was as quick */
    pthread_mutex_unlock(&l->lock);
    return x;
}

int lists_get(struct lists *l, uint64_t position, const struct entry *n, struct extents *ret, struct error *e)
{
    if (n->list_count == 0) {
        if (!in_order(n->extents, n->extent_count, n->size))
            return error_say(e, ERROR_DAMAGED, -EBADMSG, "extents that overlap or leave the file");
        *ret = (struct extents){ n->extents, n->extent_count, NULL };
        return 0;
    }
    pthread_mutex_lock(&l->lock);
    struct list *x = find(l, position);
    pthread_mutex_unlock(&l->lock);
    if (!x) {
        x = mem_new(1, sizeof(*x));
        x->position = position;
        int r = load(l, n, x, e);
        if (r < 0) {
            free_list(x);
            return r;
        }
        x = keep(l, x);
    }
    *ret = (struct extents){ x->extents, x->count, x };
    return 0;
}

void lists_release(struct lists *l, struct extents *x)
{
    if (!x->kept)
        return;
    pthread_mutex_lock(&l->lock);
    if (--x->kept->users == 0 && x->kept->forgotten)
        free_list(x->kept);
    pthread_mutex_unlock(&l->lock);
    *x = (struct extents){ 0 };
}

size_t extents_from(const struct extents *x, uint64_t offset)
{
    size_t low = 0, high = x->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (x->at[middle].start + x->at[middle].length <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
