/* SPDX-License-Identifier: MIT */
#include "sandbox/prefix.h"

#include "index/base/mem.h"

#include <errno.h>
#include <sys/stat.h>
#include <zstd.h>

#define PIECE (64 * 1024)

static ssize_t read_piece(int fd, void *to, size_t max)
{
    for (;;) {
        ssize_t n = read(fd, to, max);
        if (n >= 0 || errno != EINTR)
            return n < 0 ? -errno : n;
    }
}

static int read_plain(int fd, struct buf *ret, size_t max)
{
    while (ret->len < max) {
        ssize_t n = read_piece(fd, ret->data + ret->len, max - ret->len);
        if (n <= 0)
            return (int)n;
        ret->len += (size_t)n;
    }
    return 0;
}

static int read_compressed(int fd, ZSTD_DCtx *context, struct buf *ret, size_t max)
{
    _cleanup_free_ char *piece = mem_new(1, PIECE);
    ZSTD_outBuffer out = { ret->data, max, 0 };
    ssize_t n = 0;
    for (size_t r = 0; !ZSTD_isError(r) && out.pos < max && (n = read_piece(fd, piece, PIECE)) > 0;) {
        ZSTD_inBuffer in = { piece, (size_t)n, 0 };
        while (!ZSTD_isError(r) && in.pos < in.size && out.pos < max)
            r = ZSTD_decompressStream(context, &out, &in);
    }
    ret->len = out.pos;
    return n < 0 ? (int)n : 0;
}

int prefix_read(int fd, bool zstd, size_t max, struct buf *ret, bool *ret_more)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return -EINVAL;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return -errno;
    buf_clear(ret);
    buf_reserve(ret, max);
    ZSTD_DCtx *context = zstd ? ZSTD_createDCtx() : NULL;
    if (zstd && !context)
        abort();
    int r = zstd ? read_compressed(fd, context, ret, max) : read_plain(fd, ret, max);
    ZSTD_freeDCtx(context);
    if (r == 0)
        *ret_more = ret->len == max;
    return r;
}
