/* SPDX-License-Identifier: MIT */
/* fuzzes: extents_decode. */
#include "index/extent.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ struct extent *x = NULL, *again = NULL;
    size_t count = 0, again_count = 0;
    if (extents_decode((struct bytes){ data, size }, &x, &count, NULL) < 0)
        return 0;

    _cleanup_(buf_release) struct buf once = { 0 }, twice = { 0 };
    extents_encode(x, count, &once);
    REQUIRE(extents_decode(buf_bytes(&once), &again, &again_count, NULL) == 0);
    REQUIRE(count == again_count);
    extents_encode(again, again_count, &twice);
    REQUIRE_EQUAL(buf_bytes(&once), buf_bytes(&twice));
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        REQUIRE(x[i].start >= end && x[i].length > 0 && locator_plausible(&x[i].frame));
        REQUIRE(x[i].within + x[i].length <= x[i].frame.raw);
        end = x[i].start + x[i].length;
    }
    return 0;
}
