/* SPDX-License-Identifier: MIT */
/* fuzzes: slots_decode. */
#include "sync/slots.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

/* The store's config: the one object that is read before there is a key. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    _cleanup_(slots_release) struct slots s = { 0 }, again = { 0 };
    if (slots_decode(in, &s, NULL) < 0)
        return 0;

    REQUIRE(s.count >= 1 && s.count <= KEYS_SLOTS_MAX);
    for (size_t i = 0; i < s.count; i++) {
        REQUIRE(s.slot[i].memory >= SLOTS_MEMORY_MIN && s.slot[i].memory <= SLOTS_MEMORY_MAX);
        REQUIRE(s.slot[i].passes >= 1 && s.slot[i].passes <= SLOTS_PASSES_MAX);
    }
    _cleanup_(buf_release) struct buf out = { 0 }, same = { 0 };
    slots_encode(&s, &out);
    if (out.len > KEYS_OBJECT_MAX)
        return 0; /* indented, it can be longer than what was read */
    REQUIRE(slots_decode(buf_bytes(&out), &again, NULL) == 0);
    slots_encode(&again, &same);
    REQUIRE_EQUAL(buf_bytes(&out), buf_bytes(&same));
    return 0;
}
