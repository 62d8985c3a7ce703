/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * buf - growable bytes.
 *
 * `_cleanup_(buf_release) struct buf b = { 0 };` is an empty, valid buffer. Growth aborts when memory is out, so
 * whoever appends sizes from outside bounds them first. Not shared between threads without the owner's lock.
 */

#include <stddef.h>
#include <stdint.h>

struct buf {
    uint8_t *data;
    size_t len;
    size_t room;
};

void buf_release(struct buf *b);         /* frees; b is empty and usable again */
void buf_reserve(struct buf *b, size_t more); /* makes room for more bytes behind len */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_fill(struct buf *b, uint8_t byte, size_t n);
/* With a NUL behind, not counted. */
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_clear(struct buf *b);           /* len = 0, memory kept */
const char *buf_string(struct buf *b);   /* NUL-terminated view, valid until the next change */

/* A borrowed run of bytes; owns nothing. */
struct bytes {
    const uint8_t *data;
    size_t len;
};

static inline struct bytes buf_bytes(const struct buf *b)
{
    return (struct bytes){ b->data, b->len };
}

int bytes_compare(struct bytes a, struct bytes b); /* memcmp order, the shorter first; <0, 0, >0 */
