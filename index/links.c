/* SPDX-License-Identifier: MIT */
#include "index/links.h"

#include "index/base/mem.h"
#include "index/base/wire.h"
#include "index/key.h"

#include <errno.h>

#define PATH_ENCODED_MIN 2
#define GROUP_ENCODED_MIN (1 + 2 * PATH_ENCODED_MIN)
#define WHERE_LEVELS 6

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

/* The directory that path has below the first `at` bytes of itself, which are `in`; 0: it is not in there, or there is
 * none. */
static size_t step_below(const char *path, const char *in, size_t at)
{
    const char *slash = strncmp(path, in, at) == 0 ? strchr(path + at, '/') : NULL;
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The only directory directly below `in` that may have more than half (Boyer and Moore's vote); NULL: none. */
static const char *candidate(const struct link_group *g, size_t count, const char *in, size_t at, size_t *ret_len)
{
    const char *best = NULL;
    size_t votes = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < g[i].count; j++) {
            size_t len = step_below(g[i].paths[j], in, at);
            if (votes == 0 && len > 0) {
                best = g[i].paths[j];
                *ret_len = len;
                votes = 1;
            } else if (votes > 0) {
                votes = len == *ret_len && memcmp(best, g[i].paths[j], len) == 0 ? votes + 1 : votes - 1;
            }
        }
    return best;
}

static bool has_most(const struct link_group *g, size_t count, const char *in, size_t len)
{
    size_t names = 0, there = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < g[i].count; j++) {
            names++;
            there += strncmp(g[i].paths[j], in, len) == 0;
        }
    return there > names / 2;
}

void links_where(const struct link_group *g, size_t count, struct buf *ret)
{
    const char *in = "";
    size_t len = 0;
    for (unsigned level = 0; level < WHERE_LEVELS; level++) {
        size_t next_len = 0;
        const char *next = candidate(g, count, in, len, &next_len);
        if (!next || !has_most(g, count, next, next_len))
            break;
        in = next;
        len = next_len;
    }
    buf_clear(ret);
    buf_add(ret, in, len ? len - 1 : 0);
}
