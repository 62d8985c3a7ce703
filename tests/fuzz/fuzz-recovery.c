/* SPDX-License-Identifier: MIT */
/* fuzzes: keys_import. */
#include "index/base/mem.h"
#include "sync/keys.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* What people type from paper. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = mem_copy(data, size);
    _cleanup_(buf_release) struct buf out = { 0 };
    struct keys k, again;
    if (keys_import(text, &k, NULL) < 0)
        return 0;
    REQUIRE(keys_export(&k, &out, NULL) == 0);
    REQUIRE(keys_import(buf_string(&out), &again, NULL) == 0);
    REQUIRE(memcmp(&k, &again, sizeof(k)) == 0);
    return 0;
}
