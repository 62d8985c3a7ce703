/* SPDX-License-Identifier: MIT */
/* fuzzes: text_unhex, text_parse_u64, text_parse_size, text_parse_duration, text_is_utf8, text_escape, text_is_name. */
#include "index/base/text.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = mem_copy(data, size), *hex = mem_new(size + 2, 1), *raw = mem_new(size + 1, 1);
    if (text_unhex(text, size, raw, size / 2) == 0) {
        text_hex(hex, raw, size / 2);
        REQUIRE(strcmp(hex, text) == 0);
    }
    uint64_t n, bytes, seconds;
    if (text_parse_u64(text, 1000000, &n) == 0)
        REQUIRE(n <= 1000000 && text_parse_size(text, &bytes) == 0 && bytes == n);
    if (text_parse_u64(text, UINT64_MAX, &n) == 0)
        REQUIRE(text_parse_duration(text, &seconds) == 0 && seconds == n);
    text_parse_size(text, &bytes);
    text_parse_duration(text, &seconds);
    if (text_is_name(text))
        REQUIRE(strlen(text) < 64 && !strchr(text, '/') && !strstr(text, ".."));

    /* What people read holds no control bytes, and is UTF-8. */
    _cleanup_(buf_release) struct buf shown = { 0 };
    text_escape(&shown, data, size);
    REQUIRE(shown.len >= size && text_is_utf8(shown.data, shown.len));
    for (size_t i = 0; i < shown.len; i++)
        REQUIRE(shown.data[i] >= ' ' && shown.data[i] != 0x7f);
    return 0;
}
