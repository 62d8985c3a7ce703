/* SPDX-License-Identifier: MIT */
/* fuzzes: condemned_decode, condemned_find_pack, condemned_find_snapshot. */
#include "sync/condemned.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    _cleanup_(condemned_release) struct condemned c = { 0 };
    _cleanup_(buf_release) struct buf out = { 0 };
    if (condemned_decode(in, &c, NULL) < 0)
        return 0;
    for (size_t i = 0; i < c.pack_count; i++)
        REQUIRE(condemned_find_pack(&c, &c.packs[i].name) == &c.packs[i]);
    for (size_t i = 0; i < c.snapshot_count; i++)
        REQUIRE(condemned_find_snapshot(&c, &c.snapshots[i].id) == &c.snapshots[i]);

    /* There is one encoding only. */
    condemned_sort(&c);
    condemned_encode(&c, &out);
    REQUIRE_EQUAL(buf_bytes(&out), in);
    return 0;
}
