/* SPDX-License-Identifier: MIT */
/* fuzzes: wire_u8, wire_u32, wire_u64, wire_varint, wire_bounded, wire_signed, wire_run, wire_string, wire_copy,
 * wire_done. */
#include "index/base/wire.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* One read of the kind `what`, written once more. */
static void take(struct wire *w, uint8_t what, struct buf *again)
{
    uint8_t copy[4] = { 0 };
    struct bytes b;
    switch (what % 8) {
    case 0:
        return wire_put_u8(again, wire_u8(w));
    case 1:
        return wire_put_u32(again, wire_u32(w));
    case 2:
        return wire_put_u64(again, wire_u64(w));
    case 3:
        return wire_put_varint(again, what & 8 ? wire_varint(w) : wire_bounded(w, 1000));
    case 4:
        return wire_put_signed(again, wire_signed(w));
    case 5:
        b = wire_string(w, 20);
        REQUIRE(b.len <= 20);
        return wire_put_string(again, b.data, b.len);
    case 6:
        b = wire_run(w, what >> 4);
        return buf_add(again, b.data, b.len);
    default:
        wire_copy(w, copy, sizeof(copy));
        return buf_add(again, copy, sizeof(copy));
    }
}

/* What is to be read, up to a byte of 255, then what it is read from. There is one encoding of anything. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, 255, size) : NULL;
    if (!end)
        return 0;
    const uint8_t *from = end + 1;
    _cleanup_(buf_release) struct buf again = { 0 };
    struct wire w = wire_reader(from, size - (size_t)(from - data));
    for (const uint8_t *what = data; what < end && !w.bad; what++)
        take(&w, *what, &again);
    REQUIRE(w.at >= from && w.at <= data + size);
    REQUIRE(wire_done(&w) == (!w.bad && w.at == data + size));
    if (w.bad)
        return 0;
    REQUIRE_EQUAL(buf_bytes(&again), ((struct bytes){ from, (size_t)(w.at - from) }));
    return 0;
}
