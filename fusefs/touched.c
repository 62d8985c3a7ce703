/* SPDX-License-Identifier: MIT */
#include "fusefs/touched.h"

#include "index/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <uthash.h>

struct touched {
    uint64_t positions;
    atomic_uint_least64_t *seen; /* a bit each */
    pthread_mutex_t lock;
    uint64_t *order;
    size_t count, room;
};

int touched_new(uint64_t positions, struct touched **ret, struct error *e)
{
    struct touched *t = mem_new(1, sizeof(*t));
    t->positions = positions;
    t->seen = mem_new(positions / 64 + 1, sizeof(t->seen[0]));
    pthread_mutex_init(&t->lock, NULL);
    *ret = t;
    return 0;
}

void touched_free(struct touched *t)
{
    if (!t)
        return;
    pthread_mutex_destroy(&t->lock);
    free(t->seen);
    free(t->order);
    free(t);
}

void touched_note(void *arg, uint64_t position)
{
    struct touched *t = arg;
    uint64_t bit = 1ull << (position % 64);
    if (position >= t->positions || atomic_load_explicit(&t->seen[position / 64], memory_order_relaxed) & bit)
        return;
    if (atomic_fetch_or(&t->seen[position / 64], bit) & bit)
        return;
    pthread_mutex_lock(&t->lock);
    if (t->count < ACCESS_PATHS_MAX) {
        if (t->count == t->room) {
            t->room = t->room ? 2 * t->room : 256;
            t->order = mem_grow(t->order, t->room, sizeof(t->order[0]));
        }
        t->order[t->count++] = position;
    }
    pthread_mutex_unlock(&t->lock);
}

size_t touched_count(struct touched *t)
{
    pthread_mutex_lock(&t->lock);
    size_t count = t->count;
    pthread_mutex_unlock(&t->lock);
    return count;
}

/* A growing list of paths without repetition. */
struct path {
    char *text; /* also in paths */
    UT_hash_handle hh;
};

struct paths {
    struct path *set;
    char **list;
    size_t count;
};

/* Takes text over. */
static void add_path(struct paths *p, char *text)
{
    struct path *known;
    HASH_FIND_STR(p->set, text, known);
    if (known || p->count == ACCESS_PATHS_MAX) {
        free(text);
        return;
    }
    known = mem_new(1, sizeof(*known));
    known->text = text;
    HASH_ADD_KEYPTR(hh, p->set, known->text, strlen(known->text), known);
    p->list[p->count++] = text;
}

static void paths_release(struct paths *p)
{
    struct path *x, *next;
    HASH_ITER (hh, p->set, x, next) {
        HASH_DEL(p->set, x);
        free(x->text);
        free(x);
    }
    free(p->list);
}

static int add_position(struct touched *t, struct tree *tree, size_t i, struct paths *to, struct error *e)
{
    _cleanup_(buf_release) struct buf key = { 0 }, path = { 0 };
    pthread_mutex_lock(&t->lock);
    uint64_t position = t->order[i];
    pthread_mutex_unlock(&t->lock);
    int r = tree_at(tree, position, &key, NULL, e);
    if (r < 0)
        return r;
    if (key_to_path(buf_bytes(&key), &path) < 0)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "a key that is no path");
    add_path(to, mem_copy(path.data, path.len));
    return 0;
}

int touched_encode(struct touched *t, struct tree *tree, char *const *before, size_t before_count, struct buf *to,
                   struct error *e)
{
    _cleanup_(paths_release) struct paths p = { .list = mem_new(ACCESS_PATHS_MAX, sizeof(char *)) };
    size_t count = touched_count(t);
    for (size_t i = 0; i < count; i++) {
        int r = add_position(t, tree, i, &p, e);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < before_count; i++)
        add_path(&p, mem_strdup(before[i]));
    access_encode(p.list, p.count, to);
    return 0;
}
