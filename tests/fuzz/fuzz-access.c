/* SPDX-License-Identifier: MIT */
/* fuzzes: access_decode. */
#include "index/access.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    char **paths;
    size_t count;
    if (access_decode(in, &paths, &count, NULL) < 0)
        return 0;

    /* There is one encoding only. */
    _cleanup_(buf_release) struct buf out = { 0 };
    access_encode(paths, count, &out);
    REQUIRE_EQUAL(buf_bytes(&out), in);
    access_free(paths, count);
    return 0;
}
