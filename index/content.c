/* SPDX-License-Identifier: MIT */
#include "index/content.h"

#include "index/base/mem.h"

#include <errno.h>
#include <sys/stat.h>

#define GAP_PIECE (64u * 1024)

/* 1: len bytes are at data; 0: the file ends before. */
static int read_exactly(int fd, uint8_t *data, size_t len, uint64_t at, struct error *e)
{
    while (len > 0) {
        ssize_t n = pread(fd, data, len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(e, ERROR_FAILED, -errno, "read");
        if (n == 0)
            return 0;
        data += n;
        at += (uint64_t)n;
        len -= (size_t)n;
    }
    return 1;
}

/* Where fd may have data at or behind at; end: not before. What lies between is zeros that nobody has to read. */
static uint64_t next_data(int fd, uint64_t at, uint64_t end)
{
    off_t data = lseek(fd, (off_t)at, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? end : at;
    return (uint64_t)data < end ? (uint64_t)data : end;
}

struct reading {
    int fd;
    const struct hash_key *key;
    uint64_t end; /* of what was compared */
    uint8_t *room;
    const struct content_ask *ask;
};

static int go_on(const struct reading *f, struct error *e)
{
    return f->ask ? f->ask->check(f->ask->arg, e) : 0;
}

/* 1: the file has only zeros from at to end. */
static int zeros(const struct reading *f, uint64_t end, struct error *e)
{
    static const uint8_t none[GAP_PIECE];
    uint64_t at = f->end;
    while ((at = next_data(f->fd, at, end)) < end) {
        size_t len = end - at < GAP_PIECE ? (size_t)(end - at) : GAP_PIECE;
        int r = go_on(f, e);
        if (r == 0)
            r = read_exactly(f->fd, f->room, len, at, e);
        if (r <= 0)
            return r;
        if (memcmp(f->room, none, len) != 0)
            return 0;
        at += len;
    }
    return 1;
}

static int each_of(const struct entry *n, const struct extent *x, size_t count, uint64_t *end, content_extent each,
                   void *arg, struct error *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (x[i].start < *end || x[i].length > n->size || x[i].start > n->size - x[i].length)
            return error_say(e, ERROR_DAMAGED, -EBADMSG, "extents that overlap or leave the file");
        *end = x[i].start + x[i].length;
        r = each(arg, &x[i], e);
    }
    return r;
}

int content_each(const struct entry *n, struct source *source, content_extent each, void *arg, struct error *e)
{
    uint64_t end = 0;
    int r = n->list_count ? 0 : each_of(n, n->extents, n->extent_count, &end, each, arg, e);
    for (size_t i = 0; r == 0 && i < n->list_count; i++) {
        _cleanup_(frame_dropp) struct frame *f = NULL;
        struct extent *x = NULL;
        size_t count = 0;
        r = source_get(source, &n->list[i], FRAME_EXTENTS, &f, e);
        if (r == 0)
            r = extents_decode((struct bytes){ f->data, f->len }, &x, &count, e);
        if (r == 0)
            r = each_of(n, x, count, &end, each, arg, e);
        free(x);
    }
    return r;
}

struct extents {
    struct extent *all;
    size_t count, room;
};

static int gather(void *arg, const struct extent *x, struct error *e)
{
    (void)e;
    struct extents *to = arg;
    if (to->count == to->room) {
        to->room = to->room ? 2 * to->room : 16;
        to->all = mem_grow(to->all, to->room, sizeof(*to->all));
    }
    to->all[to->count++] = *x;
    return 0;
}

int content_extents(const struct entry *n, struct source *source, struct extent **ret, size_t *ret_count,
                    struct error *e)
{
    struct extents x = { 0 };
    int r = content_each(n, source, gather, &x, e);
    if (r < 0) {
        free(x.all);
        return r;
    }
    *ret = x.all;
    *ret_count = x.count;
    return 0;
}

static bool same_extents(const struct extents *a, const struct extents *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (a->all[i].start != b->all[i].start || a->all[i].length != b->all[i].length ||
            !hash_equal(&a->all[i].hash, &b->all[i].hash))
            return false;
    return a->count == b->count;
}

int content_equal(const struct entry *a, const struct entry *b, struct source *source, bool *ret, struct error *e)
{
    struct extents of_a = { 0 }, of_b = { 0 };
    int r = a->size == b->size ? content_each(a, source, gather, &of_a, e) : 0;
    if (r == 0 && a->size == b->size)
        r = content_each(b, source, gather, &of_b, e);
    if (r == 0)
        *ret = a->size == b->size && same_extents(&of_a, &of_b);
    free(of_a.all);
    free(of_b.all);
    return r;
}

#define DIFFERS 1

static int compare_extent(void *arg, const struct extent *x, struct error *e)
{
    struct reading *f = arg;
    int r = go_on(f, e);
    if (r < 0)
        return r;
    r = zeros(f, x->start, e);
    if (r == 1)
        r = read_exactly(f->fd, f->room, x->length, x->start, e);
    if (r <= 0)
        return r < 0 ? r : DIFFERS;
    struct hash h;
    hash_bytes(f->key, f->room, x->length, &h);
    f->end = x->start + x->length;
    return hash_equal(&h, &x->hash) ? 0 : DIFFERS;
}

int content_same(int fd, const struct entry *n, struct source *source, const struct hash_key *key,
                 const struct content_ask *ask, bool *ret, struct error *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set(e, ERROR_FAILED, -errno, "stat");
    if ((uint64_t)st.st_size != n->size) {
        *ret = false;
        return 0;
    }
    _cleanup_free_ uint8_t *room = mem_new(1, FRAME_RAW_MAX);
    struct reading f = { .fd = fd, .key = key, .room = room, .ask = ask };
    int r = content_each(n, source, compare_extent, &f, e);
    bool same = r == 0;
    if (r == 0 && (r = zeros(&f, n->size, e)) >= 0)
        same = r == 1;
    if (r < 0)
        return r;
    *ret = same;
    return 0;
}
