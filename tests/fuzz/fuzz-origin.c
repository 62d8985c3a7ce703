/* SPDX-License-Identifier: MIT */
/* fuzzes: origin_of_claude, origin_of_codex, origin_of_grok, origin_within. */
#include "sandbox/origin.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

/* The first byte: which agent's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct bytes head = { data + 1, size - 1 };
    _cleanup_free_ char *name = mem_copy(head.data, head.len), *path = NULL, *within = NULL;
    int r = data[0] % 3 == 0   ? origin_of_claude(head, &path)
            : data[0] % 3 == 1 ? origin_of_codex(head, &path)
                               : origin_of_grok(name, &path);
    if (r < 0) {
        REQUIRE(path == NULL);
        return 0;
    }
    size_t len = strlen(path);
    within = mem_printf("%s/", path);
    REQUIRE(path[0] == '/' && (len == 1 || path[len - 1] != '/'));
    REQUIRE(!strstr(path, "//") && !strstr(within, "/./") && !strstr(within, "/../"));
    REQUIRE(origin_within(path, path) && origin_within(within, path));
    within[len] = 'x';
    REQUIRE(len == 1 || !origin_within(within, path));
    return 0;
}
