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

/* 1: the file has only zeros from at to end. */
static int zeros(int fd, uint64_t at, uint64_t end, uint8_t *room, struct error *e)
{
    static const uint8_t none[GAP_PIECE];
    while (at < end) {
        size_t len = end - at < GAP_PIECE ? (size_t)(end - at) : GAP_PIECE;
        int r = read_exactly(fd, room, len, at, e);
        if (r <= 0)
            return r;
        if (memcmp(room, none, len) != 0)
            return 0;
        at += len;
    }
    return 1;
}

static int same_extents(int fd, const struct extent *x, size_t count, uint64_t *end, const struct hash_key *key,
                        uint8_t *room, struct error *e)
{
    for (size_t i = 0; i < count; i++) {
        int r = zeros(fd, *end, x[i].start, room, e);
        if (r == 1)
            r = read_exactly(fd, room, x[i].length, x[i].start, e);
        if (r <= 0)
            return r;
        struct hash h;
        hash_bytes(key, room, x[i].length, &h);
        if (!hash_equal(&h, &x[i].hash))
            return 0;
        *end = x[i].start + x[i].length;
    }
    return 1;
}

static int same_list(int fd, const struct entry *n, struct source *source, uint64_t *end, const struct hash_key *key,
                     uint8_t *room, struct error *e)
{
    int r = 1;
    for (size_t i = 0; r == 1 && i < n->list_count; i++) {
        _cleanup_(frame_dropp) struct frame *f = NULL;
        struct extent *x = NULL;
        size_t count = 0;
        r = source_get(source, &n->list[i], FRAME_EXTENTS, &f, e);
        if (r == 0)
            r = extents_decode((struct bytes){ f->data, f->len }, &x, &count, e);
        if (r == 0)
            r = same_extents(fd, x, count, end, key, room, e);
        free(x);
    }
    return r;
}

int content_same(int fd, const struct entry *n, struct source *source, const struct hash_key *key, bool *ret,
                 struct error *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set(e, ERROR_FAILED, -errno, "stat");
    if ((uint64_t)st.st_size != n->size) {
        *ret = false;
        return 0;
    }
    _cleanup_free_ uint8_t *room = mem_new(1, FRAME_RAW_MAX);
    uint64_t end = 0;
    int r = n->list_count ? same_list(fd, n, source, &end, key, room, e)
                          : same_extents(fd, n->extents, n->extent_count, &end, key, room, e);
    if (r == 1)
        r = zeros(fd, end, n->size, room, e);
    if (r < 0)
        return r;
    *ret = r == 1;
    return 0;
}
