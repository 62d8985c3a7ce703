/* SPDX-License-Identifier: MIT */
/* fuzzes: replies_take. */
#include "sandbox/replies.h"

#include "tests/fuzz/fuzz.h"

#define MAX 100000

/* The first byte: what was asked for; the rest comes from the box, in pieces. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct message_start s = { .tty = size && (data[0] & 1), .detach = size && (data[0] & 3) == 2 };
    struct replies r;
    struct queue from = { 0 };
    replies_begin(&r, &s);
    for (size_t at = 1; at < size;) {
        size_t piece = 1 + data[at] % 64;
        piece = piece < size - at ? piece : size - at;
        buf_add(&from.bytes, data + at, piece);
        at += piece;
        bool over = r.ended || r.refused;
        size_t out = queue_bytes(&r.out).len;
        if (replies_take(&r, &from, MAX) < 0)
            break;
        REQUIRE(r.granted <= MESSAGE_WINDOW);
        REQUIRE(!(r.refused && (r.started || r.ended)) && (r.started || !r.ended));
        REQUIRE(r.started || (queue_bytes(&r.out).len == 0 && queue_bytes(&r.err).len == 0));
        REQUIRE(!over || out == queue_bytes(&r.out).len);
        REQUIRE(!r.tty || queue_bytes(&r.err).len == 0);
        REQUIRE(queue_bytes(&r.out).len < MAX + MESSAGE_MAX);
        if (r.started)
            r.granted -= r.granted / 2; /* input was sent */
        REQUIRE(!r.ended || r.exit.kind != MESSAGE_DETACHED || r.detach);
    }
    queue_release(&from);
    replies_release(&r);
    return 0;
}
