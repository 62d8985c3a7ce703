/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * queue - bytes between two descriptors that do not go at one pace. Bounds are the caller's: it stops filling.
 *
 * `struct queue q = { 0 };` is empty and valid; queue_release frees. Bytes are added to q.bytes, as to any buffer.
 */

#include "index/base/buf.h"

#include <sys/types.h>

struct queue {
    struct buf bytes;
    size_t begin; /* of what is still there */
};

void queue_release(struct queue *q);
struct bytes queue_bytes(const struct queue *q);
void queue_take(struct queue *q, size_t n); /* the first n bytes are done with */
/* Reads once, at most max bytes: their number, 0 at the end, or -errno (-EAGAIN: nothing now). */
ssize_t queue_fill(struct queue *q, int fd, size_t max);
/* Writes once, at most max bytes: their number, or -errno (-EAGAIN: takes nothing now). */
ssize_t queue_flush(struct queue *q, int fd, size_t max);
