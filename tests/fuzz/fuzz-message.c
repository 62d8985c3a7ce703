/* SPDX-License-Identifier: MIT */
/* fuzzes: message_next, message_start_decode, message_u32_decode, message_size_decode, message_refusal_decode,
 * message_exit_decode. */
#include "sandbox/message.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void same(const struct message *f, const struct buf *again)
{
    struct message g;
    size_t used;
    REQUIRE(message_next(buf_bytes(again), &g, &used) == 1 && used == again->len);
    REQUIRE(g.type == f->type);
    REQUIRE_EQUAL(f->payload, g.payload);
}

static void start(struct bytes payload)
{
    struct message_start s = { 0 }, t = { 0 };
    _cleanup_(buf_release) struct buf b = { 0 }, parts = { 0 };
    if (message_start_decode(payload, &s) < 0)
        return;
    REQUIRE(message_put_start(&b, &s, NULL) == 0);
    struct message f;
    size_t used = 0;
    for (size_t at = 0; at < b.len; at += used) {
        REQUIRE(message_next((struct bytes){ b.data + at, b.len - at }, &f, &used) == 1);
        buf_add(&parts, f.payload.data, f.payload.len);
        REQUIRE(f.type == (at + used == b.len ? MESSAGE_START : MESSAGE_START_PART));
    }
    REQUIRE(message_start_decode(buf_bytes(&parts), &t) == 0);
    REQUIRE(s.tty == t.tty && s.detach == t.detach && s.rows == t.rows && s.cols == t.cols && !(s.tty && s.detach));
    REQUIRE(strcmp(s.cwd, t.cwd) == 0 && s.argv[0][0]);
    for (size_t i = 0; s.argv[i] || t.argv[i]; i++)
        REQUIRE(strcmp(s.argv[i], t.argv[i]) == 0);
    for (size_t i = 0; s.env[i] || t.env[i]; i++)
        REQUIRE(strcmp(s.env[i], t.env[i]) == 0 && strchr(s.env[i], '=') > s.env[i]);
    message_start_release(&s);
    message_start_release(&t);
}

static void one(const struct message *f)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    uint32_t v;
    uint16_t rows, cols;
    struct message_refusal refusal;
    struct message_exit ended;
    if (f->type == MESSAGE_START)
        start(f->payload);
    if (message_u32_decode(f, &v) == 0) {
        message_put_u32(&b, f->type, v);
        same(f, &b);
    }
    if (f->type == MESSAGE_SIZE && message_size_decode(f, &rows, &cols) == 0) {
        message_put_size(&b, rows, cols);
        same(f, &b);
    }
    if (f->type == MESSAGE_REFUSED && message_refusal_decode(f, &refusal) == 0) {
        message_put_refusal(&b, &refusal);
        same(f, &b);
    }
    if (f->type == MESSAGE_EXIT && message_exit_decode(f, &ended) == 0) {
        message_put_exit(&b, &ended);
        same(f, &b);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct message f;
    size_t used;
    for (size_t at = 0; message_next((struct bytes){ data + at, size - at }, &f, &used) == 1; at += used) {
        REQUIRE(used <= size - at && f.payload.len <= MESSAGE_MAX && f.payload.len == used - MESSAGE_HEAD);
        one(&f);
    }
    return 0;
}
