/* SPDX-License-Identifier: MIT */
/* fuzzes: exclude_new, exclude_entry, exclude_path. */
#include "index/exclude.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

#define RULES_MAX 32

/* Rules as a box's meta brings them, one a line, and in the last line a path of its tree. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes line[RULES_MAX + 1];
    size_t count = 0;
    for (size_t at = 0; at <= size && count <= RULES_MAX; count++) {
        const uint8_t *end = at < size ? memchr(data + at, '\n', size - at) : NULL;
        size_t n = end ? (size_t)(end - data) - at : size - at;
        line[count] = (struct bytes){ data + at, n };
        at += n + 1;
    }
    struct bytes path = line[--count];
    struct exclude *x = NULL, *first = NULL;
    if (exclude_new(line, count, &x, NULL) < 0)
        return 0;
    REQUIRE(exclude_new(line, count ? count - 1 : 0, &first, NULL) == 0);

    bool entry = exclude_entry(x, path, false), directory = exclude_entry(x, path, true);
    REQUIRE(!entry || exclude_path(x, path, false));
    REQUIRE(!directory || exclude_path(x, path, true));
    /* A last rule that takes nothing back can only add. */
    if (count > 0 && !(line[count - 1].len > 0 && line[count - 1].data[0] == '!'))
        REQUIRE(entry || !exclude_entry(first, path, false));
    exclude_free(first);
    exclude_free(x);
    return 0;
}
