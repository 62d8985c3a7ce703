/* SPDX-License-Identifier: MIT */
/* fuzzes: entry_unpack. */
#include "index/entry.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(entry_release) struct entry n = { 0 }, again = { 0 }, copy = { 0 };
    if (entry_unpack((struct bytes){ data, size }, &n, NULL) < 0)
        return 0;

    /* The table of packs may have held more than was used: the second encoding is the canonical one. */
    _cleanup_(buf_release) struct buf once = { 0 }, twice = { 0 }, copied = { 0 };
    entry_pack(&n, &once);
    REQUIRE(once.len <= entry_size_bound(&n));
    REQUIRE(entry_unpack(buf_bytes(&once), &again, NULL) == 0);
    REQUIRE(entry_same(&n, &again));
    entry_pack(&again, &twice);
    REQUIRE_EQUAL(buf_bytes(&once), buf_bytes(&twice));
    entry_copy(&n, &copy);
    entry_pack(&copy, &copied);
    REQUIRE_EQUAL(buf_bytes(&once), buf_bytes(&copied));
    return 0;
}
