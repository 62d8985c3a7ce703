/* SPDX-License-Identifier: MIT */
/* fuzzes: meta_set, meta_decode. */
#include "index/meta.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* A box's meta; and assignments to it, as `set` takes them. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    _cleanup_(meta_release) struct meta m = { 0 }, again = { 0 }, plain = { .path = mem_strdup("/root/demo") };
    _cleanup_free_ char *out = NULL, *same = NULL, *assignment = mem_copy(data, size);
    bool changed;
    if (meta_set(&plain, assignment, &changed, NULL) == 0)
        REQUIRE(meta_path_valid(plain.path));
    if (meta_decode(in, &m, NULL) < 0)
        return 0;

    REQUIRE(meta_path_valid(m.path));
    if (meta_encode(&m, &out, NULL) < 0)
        return 0; /* escaped, it can be longer than what was read */
    REQUIRE(meta_decode((struct bytes){ (const uint8_t *)out, strlen(out) }, &again, NULL) == 0);
    REQUIRE(strcmp(m.path, again.path) == 0);
    REQUIRE(meta_encode(&again, &same, NULL) == 0);
    REQUIRE(strcmp(out, same) == 0);
    return 0;
}
