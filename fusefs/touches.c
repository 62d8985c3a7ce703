/* SPDX-License-Identifier: MIT */
#include "fusefs/touches.h"

#include "index/access.h"
#include "index/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

struct touches {
    uint64_t positions;
    atomic_uint_least64_t *seen; /* a bit each */
    pthread_mutex_t lock;
    uint64_t *order;
    size_t count, room;
};

int touches_new(uint64_t positions, struct touches **ret, struct error *e)
{
    struct touches *t = mem_new(1, sizeof(*t));
    t->positions = positions;
    t->seen = mem_new(positions / 64 + 1, sizeof(t->seen[0]));
    pthread_mutex_init(&t->lock, NULL);
    *ret = t;
    return 0;
}

void touches_free(struct touches *t)
{
    if (!t)
        return;
    pthread_mutex_destroy(&t->lock);
    free(t->seen);
    free(t->order);
    free(t);
}

void touches_add(void *arg, uint64_t position)
{
    struct touches *t = arg;
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

size_t touches_count(struct touches *t)
{
    pthread_mutex_lock(&t->lock);
    size_t count = t->count;
    pthread_mutex_unlock(&t->lock);
    return count;
}

static int path_of(struct tree *tree, uint64_t position, char **ret, struct error *e)
{
    _cleanup_(buf_release) struct buf key = { 0 }, path = { 0 };
    int r = tree_at(tree, position, &key, NULL, e);
    if (r < 0)
        return r;
    if (key_to_path(buf_bytes(&key), &path) < 0)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "a key that is no path");
    *ret = mem_strdup(buf_string(&path));
    return 0;
}

int touches_encode(struct touches *t, struct tree *tree, size_t most, struct buf *to, struct error *e)
{
    size_t count = touches_count(t), done = 0;
    if (count > most)
        count = most;
    char **paths = mem_new(count + 1, sizeof(*paths));
    int r = 0;
    for (; r == 0 && done < count; done += r == 0) {
        pthread_mutex_lock(&t->lock);
        uint64_t position = t->order[done];
        pthread_mutex_unlock(&t->lock);
        r = path_of(tree, position, &paths[done], e);
    }
    if (r == 0)
        access_encode(paths, count, to);
    access_free(paths, done);
    return r;
}
