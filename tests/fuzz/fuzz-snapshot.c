/* SPDX-License-Identifier: MIT */
/* fuzzes: snapshot_decode. */
#include "index/snapshot.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    _cleanup_(snapshot_releasep) struct snapshot s = { 0 };
    if (snapshot_decode(in, &s, NULL) < 0)
        return 0;

    /* There is one encoding only. */
    _cleanup_(buf_release) struct buf out = { 0 };
    snapshot_encode(&s, &out);
    REQUIRE_EQUAL(buf_bytes(&out), in);
    return 0;
}
