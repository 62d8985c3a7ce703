/* SPDX-License-Identifier: MIT */
/* fuzzes: links_decode. */
#include "index/links.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    struct link_group *g;
    size_t count;
    if (links_decode(in, &g, &count, NULL) < 0)
        return 0;

    /* There is one encoding only. */
    _cleanup_(buf_release) struct buf out = { 0 };
    links_encode(g, count, &out);
    REQUIRE_EQUAL(buf_bytes(&out), in);
    for (size_t i = 0; i < count; i++)
        REQUIRE(g[i].count >= 2);
    links_free(g, count);
    return 0;
}
