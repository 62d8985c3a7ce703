/* SPDX-License-Identifier: MIT */
#include "index/base/buf.h"

#include "index/base/mem.h"

#include <stdarg.h>
#include <stdio.h>

void buf_release(struct buf *b)
{
    free(b->data);
    *b = (struct buf){ 0 };
}

void buf_reserve(struct buf *b, size_t more)
{
    size_t need;
    if (__builtin_add_overflow(b->len, more, &need))
        abort();
    if (need <= b->room)
        return;

    size_t room = b->room < 64 ? 64 : b->room + b->room / 2;
    if (room < need)
        room = need;
    b->data = mem_grow(b->data, room, 1);
    b->room = room;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    if (n == 0)
        return;
    buf_reserve(b, n);
    memcpy(b->data + b->len, p, n);
    b->len += n;
}

void buf_fill(struct buf *b, uint8_t byte, size_t n)
{
    if (n == 0)
        return;
    buf_reserve(b, n);
    memset(b->data + b->len, byte, n);
    b->len += n;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    if (n < 0)
        abort();
    buf_reserve(b, (size_t)n + 1);
    vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, again);
    b->len += (size_t)n;
    va_end(again);
    va_end(args);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
}

const char *buf_string(struct buf *b)
{
    buf_reserve(b, 1);
    b->data[b->len] = '\0';
    return (const char *)b->data;
}

int bytes_compare(struct bytes a, struct bytes b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    if (order)
        return order;
    return a.len < b.len ? -1 : a.len > b.len;
}
