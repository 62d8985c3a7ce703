/* SPDX-License-Identifier: MIT */
#include "sandbox/queue.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define COMPACT_BYTES 65536 /* at the front before the rest is moved */

void queue_release(struct queue *q)
{
    buf_release(&q->bytes);
    q->begin = 0;
}

struct bytes queue_bytes(const struct queue *q)
{
    return (struct bytes){ q->bytes.data + q->begin, q->bytes.len - q->begin };
}

void queue_take(struct queue *q, size_t n)
{
    q->begin += n;
    if (q->begin == q->bytes.len) {
        q->begin = q->bytes.len = 0;
    } else if (q->begin >= COMPACT_BYTES) {
        q->bytes.len -= q->begin;
        memmove(q->bytes.data, q->bytes.data + q->begin, q->bytes.len);
        q->begin = 0;
    }
}

ssize_t queue_fill(struct queue *q, int fd, size_t max)
{
    buf_reserve(&q->bytes, max);
    ssize_t n;
    do
        n = read(fd, q->bytes.data + q->bytes.len, max);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    q->bytes.len += (size_t)n;
    return n;
}

ssize_t queue_flush(struct queue *q, int fd, size_t max)
{
    struct bytes b = queue_bytes(q);
    ssize_t n;
    if (b.len == 0)
        return 0;
    do
        n = write(fd, b.data, b.len < max ? b.len : max);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    queue_take(q, (size_t)n);
    return n;
}
