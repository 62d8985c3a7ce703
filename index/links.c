/* SPDX-License-Identifier: MIT */
#include "index/links.h"

#include "index/base/mem.h"
#include "index/base/wire.h"
#include "index/key.h"

#include <errno.h>

#define PATH_ENCODED_MIN 2
#define GROUP_ENCODED_MIN (1 + 2 * PATH_ENCODED_MIN)

void links_encode(const struct link_group *g, size_t count, struct buf *to)
{
    wire_put_varint(to, count);
    for (size_t i = 0; i < count; i++) {
        wire_put_varint(to, g[i].count);
        for (size_t j = 0; j < g[i].count; j++)
            wire_put_string(to, g[i].paths[j], strlen(g[i].paths[j]));
    }
}

/* Reads a path whose key is greater than *last, which becomes its key. */
static char *get_path(struct wire *w, struct buf *last, struct buf *key)
{
    struct bytes path = wire_string(w, PATH_LEN_MAX);
    if (w->bad || key_from_path(path, key) < 0 || bytes_compare(buf_bytes(key), buf_bytes(last)) <= 0) {
        w->bad = true;
        return NULL;
    }
    buf_clear(last);
    buf_add(last, key->data, key->len);
    return mem_copy(path.data, path.len);
}

/* first: the key of the first name of the group before, then of this one. */
static void get_group(struct wire *w, struct link_group *g, struct buf *first, struct buf *last, struct buf *key)
{
    size_t count = (size_t)wire_bounded(w, (uint64_t)(w->end - w->at) / PATH_ENCODED_MIN);
    if (count < 2)
        w->bad = true;
    if (w->bad)
        return;

    g->paths = mem_new(count, sizeof(*g->paths));
    while (g->count < count) {
        char *path = get_path(w, g->count == 0 ? first : last, key);
        if (!path)
            return;
        g->paths[g->count++] = path;
        if (g->count == 1) {
            buf_clear(last);
            buf_add(last, first->data, first->len);
        }
    }
}

int links_decode(struct bytes b, struct link_group **ret, size_t *ret_count, struct error *e)
{
    struct wire w = wire_reader(b.data, b.len);
    size_t count = (size_t)wire_bounded(&w, b.len / GROUP_ENCODED_MIN), got = 0;
    struct link_group *g = mem_new(w.bad ? 0 : count, sizeof(*g));
    _cleanup_(buf_release) struct buf first = { 0 }, last = { 0 }, key = { 0 };
    while (got < count && !w.bad)
        get_group(&w, &g[got++], &first, &last, &key);
    if (!wire_done(&w)) {
        links_free(g, got);
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the list of links is not one");
    }
    *ret = g;
    *ret_count = count;
    return 0;
}

void links_free(struct link_group *g, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < g[i].count; j++)
            free(g[i].paths[j]);
        free(g[i].paths);
    }
    free(g);
}
