/* SPDX-License-Identifier: MIT */
/* fuzzes: key_to_path, key_valid, key_from_path, key_name, key_name_valid, key_subtree_prefix, key_directory_prefix. */
#include "index/key.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

/* The bytes as a key, and as a path: either is refused or comes back from the other. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = { data, size };
    _cleanup_(buf_release) struct buf other = { 0 }, back = { 0 };
    bool valid = key_to_path(in, &other) == 0;
    REQUIRE(valid == key_valid(in));
    if (valid) {
        REQUIRE(key_from_path(buf_bytes(&other), &back) == 0);
        REQUIRE_EQUAL(buf_bytes(&back), in);
        struct bytes name = key_name(in);
        REQUIRE(key_name_valid(name) && name.data + name.len == data + size);
    }
    if (key_from_path(in, &other) == 0) {
        REQUIRE(key_valid(buf_bytes(&other)) && other.len <= KEY_LEN_MAX);
        REQUIRE(key_to_path(buf_bytes(&other), &back) == 0);
        REQUIRE_EQUAL(buf_bytes(&back), in);
        REQUIRE(key_subtree_prefix(in, &back) == 0 && key_directory_prefix(in, &back) == 0);
    }
    return 0;
}
