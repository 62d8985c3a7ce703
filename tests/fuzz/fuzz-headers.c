/* SPDX-License-Identifier: MIT */
/* fuzzes: http_line_take, http_line_range. */
#include "sync/http-line.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_text(const char *text)
{
    size_t n = strnlen(text, HTTP_TEXT_MAX);
    REQUIRE(n < HTTP_TEXT_MAX);
    for (size_t i = 0; i < n; i++)
        REQUIRE(text[i] >= ' ' && text[i] < 0x7f);
}

/* The lines of an answer's head: whatever they say, what we keep is within its bounds. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_answer a = { .length = -1 };
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t n = end ? (size_t)(end - data) + 1 - at : size - at;
        _cleanup_free_ char *line = mem_copy(data + at, n); /* of its own size */
        http_line_take(&a, (struct bytes){ (const uint8_t *)line, n });
        at += n;
    }
    check_text(a.etag);
    check_text(a.range);
    REQUIRE(a.length >= -1 && a.date_ns >= 0 && a.modified_ns >= 0 && a.retry_after_s <= 3600);

    uint64_t from, to, whole;
    char again[HTTP_TEXT_MAX];
    if (http_line_range(a.range, &from, &to, &whole) < 0)
        return 0;
    snprintf(again, sizeof(again), "bytes %llu-%llu/%llu", (unsigned long long)from, (unsigned long long)to,
             (unsigned long long)whole);
    uint64_t same[3];
    REQUIRE(http_line_range(again, &same[0], &same[1], &same[2]) == 0);
    REQUIRE(same[0] == from && same[1] == to && same[2] == whole);
    return 0;
}
