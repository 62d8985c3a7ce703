/* SPDX-License-Identifier: MIT */
/* fuzzes: hold_decode_body. */
#include "sync/hold.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hold h = { 0 }, again = { 0 };
    _cleanup_(buf_release) struct buf b = { 0 };
    if (hold_decode_body((struct bytes){ data, size }, &h, NULL) < 0)
        return 0;
    hold_encode_body(&h, &b);
    REQUIRE(hold_decode_body(buf_bytes(&b), &again, NULL) == 0);
    REQUIRE(strcmp(h.node, again.node) == 0 && h.time_s == again.time_s);
    REQUIRE(memcmp(&h.snapshot, &again.snapshot, sizeof(h.snapshot)) == 0);
    return 0;
}
