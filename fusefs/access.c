/* SPDX-License-Identifier: MIT */
#include "fusefs/access.h"

#include "index/base/mem.h"
#include "index/base/wire.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

struct access {
    uint64_t positions;
    atomic_uint_least64_t *seen; /* a bit each */
    pthread_mutex_t lock;
    uint64_t *order;
    size_t count, room;
};

int access_new(uint64_t positions, struct access **ret, struct error *e)
{
    struct access *a = mem_new(1, sizeof(*a));
    a->positions = positions;
    a->seen = mem_new(positions / 64 + 1, sizeof(a->seen[0]));
    pthread_mutex_init(&a->lock, NULL);
    *ret = a;
    return 0;
}

void access_free(struct access *a)
{
    if (!a)
        return;
    pthread_mutex_destroy(&a->lock);
    free(a->seen);
    free(a->order);
    free(a);
}

void access_touch(void *arg, uint64_t position)
{
    struct access *a = arg;
    uint64_t bit = 1ull << (position % 64);
    if (position >= a->positions || atomic_load_explicit(&a->seen[position / 64], memory_order_relaxed) & bit)
        return;
    if (atomic_fetch_or(&a->seen[position / 64], bit) & bit)
        return;
    pthread_mutex_lock(&a->lock);
    if (a->count < ACCESS_MAX) {
        if (a->count == a->room) {
            a->room = a->room ? 2 * a->room : 256;
            a->order = mem_grow(a->order, a->room, sizeof(a->order[0]));
        }
        a->order[a->count++] = position;
    }
    pthread_mutex_unlock(&a->lock);
}

size_t access_count(struct access *a)
{
    pthread_mutex_lock(&a->lock);
    size_t count = a->count;
    pthread_mutex_unlock(&a->lock);
    return count;
}

static int append_path(struct access *a, struct tree *tree, size_t i, struct buf *to, struct error *e)
{
    _cleanup_(buf_release) struct buf key = { 0 }, path = { 0 };
    pthread_mutex_lock(&a->lock);
    uint64_t position = a->order[i];
    pthread_mutex_unlock(&a->lock);
    int r = tree_at(tree, position, &key, NULL, e);
    if (r < 0)
        return r;
    if (key_to_path(buf_bytes(&key), &path) < 0)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "a key that is no path");
    wire_put_string(to, path.data, path.len);
    return 0;
}

int access_encode(struct access *a, struct tree *tree, struct buf *to, struct error *e)
{
    size_t count = access_count(a), taken = 0;
    _cleanup_(buf_release) struct buf paths = { 0 };
    for (; taken < count && paths.len + PATH_LEN_MAX + 16 < ACCESS_BYTES_MAX; taken++) {
        int r = append_path(a, tree, taken, &paths, e);
        if (r < 0)
            return r;
    }
    wire_put_varint(to, taken);
    buf_add(to, paths.data, paths.len);
    return 0;
}

int access_decode(struct bytes b, struct access_list *ret, struct error *e)
{
    struct wire w = wire_reader(b.data, b.len);
    size_t count = wire_bounded(&w, ACCESS_MAX);
    struct access_list l = { 0 };
    if (count <= b.len) /* a path takes a byte at least */
        l.paths = mem_new(count + 1, sizeof(l.paths[0]));
    else
        w.bad = true;
    while (!w.bad && l.count < count) {
        struct bytes path = wire_string(&w, PATH_LEN_MAX);
        if (!w.bad && path.len > 0 && !memchr(path.data, '\0', path.len))
            l.paths[l.count++] = mem_copy(path.data, path.len);
        else
            w.bad = true;
    }
    if (!wire_done(&w)) {
        access_list_release(&l);
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "an access list that cannot be true");
    }
    *ret = l;
    return 0;
}

void access_list_release(struct access_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->paths[i]);
    free(l->paths);
    *l = (struct access_list){ 0 };
}
