/* SPDX-License-Identifier: MIT */
/* fuzzes: frame_next, frame_start_decode, frame_u32_decode, frame_size_decode, frame_refusal_decode, frame_exit_decode.
 */
#include "sandbox/frame.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void same(const struct frame *f, const struct buf *again)
{
    struct frame g;
    size_t used;
    REQUIRE(frame_next(buf_bytes(again), &g, &used) == 1 && used == again->len);
    REQUIRE(g.type == f->type);
    REQUIRE_EQUAL(f->payload, g.payload);
}

static void start(struct bytes payload)
{
    struct frame_start s = { 0 }, t = { 0 };
    _cleanup_(buf_release) struct buf b = { 0 }, parts = { 0 };
    if (frame_start_decode(payload, &s) < 0)
        return;
    REQUIRE(frame_put_start(&b, &s, NULL) == 0);
    struct frame f;
    size_t used = 0;
    for (size_t at = 0; at < b.len; at += used) {
        REQUIRE(frame_next((struct bytes){ b.data + at, b.len - at }, &f, &used) == 1);
        buf_add(&parts, f.payload.data, f.payload.len);
        REQUIRE(f.type == (at + used == b.len ? FRAME_START : FRAME_START_PART));
    }
    REQUIRE(frame_start_decode(buf_bytes(&parts), &t) == 0);
    REQUIRE(s.tty == t.tty && s.detach == t.detach && s.rows == t.rows && s.cols == t.cols && !(s.tty && s.detach));
    REQUIRE(strcmp(s.cwd, t.cwd) == 0 && s.argv[0][0]);
    for (size_t i = 0; s.argv[i] || t.argv[i]; i++)
        REQUIRE(strcmp(s.argv[i], t.argv[i]) == 0);
    for (size_t i = 0; s.env[i] || t.env[i]; i++)
        REQUIRE(strcmp(s.env[i], t.env[i]) == 0 && strchr(s.env[i], '=') > s.env[i]);
    frame_start_release(&s);
    frame_start_release(&t);
}

static void one(const struct frame *f)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    uint32_t v;
    uint16_t rows, cols;
    struct frame_refusal refusal;
    struct frame_exit ended;
    if (f->type == FRAME_START)
        start(f->payload);
    if (frame_u32_decode(f, &v) == 0) {
        frame_put_u32(&b, f->type, v);
        same(f, &b);
    }
    if (f->type == FRAME_SIZE && frame_size_decode(f, &rows, &cols) == 0) {
        frame_put_size(&b, rows, cols);
        same(f, &b);
    }
    if (f->type == FRAME_REFUSED && frame_refusal_decode(f, &refusal) == 0) {
        frame_put_refusal(&b, &refusal);
        same(f, &b);
    }
    if (f->type == FRAME_EXIT && frame_exit_decode(f, &ended) == 0) {
        frame_put_exit(&b, &ended);
        same(f, &b);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct frame f;
    size_t used;
    for (size_t at = 0; frame_next((struct bytes){ data + at, size - at }, &f, &used) == 1; at += used) {
        REQUIRE(used <= size - at && f.payload.len <= FRAME_MAX && f.payload.len == used - FRAME_HEAD);
        one(&f);
    }
    return 0;
}
