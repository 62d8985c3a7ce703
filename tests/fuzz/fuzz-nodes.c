/* SPDX-License-Identifier: MIT */
/* fuzzes: nodes_parse, scheduler_meminfo. */
#include "cli/nodes.h"
#include "cli/scheduler.h"

#include "index/base/text.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check(const struct nodes *n, size_t i)
{
    const struct nodes_entry *entry = &n->entries[i];
    REQUIRE(text_is_name(entry->name) && entry->alias[0] != '-');
    REQUIRE((entry->alias[0] == '\0') == (strcmp(entry->name, "a") == 0));
    for (const char *p = entry->alias; *p; p++)
        REQUIRE(*p > ' ' && *p <= '~');
    for (size_t other = 0; other < i; other++)
        REQUIRE(strcmp(n->entries[other].name, entry->name) != 0);
}

/* A nodes file: refused with a line that says where, or each entry can be given to ssh. And what a node answers. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nodes n;
    struct error e = { 0 };
    struct bytes text = { data, size };
    if (nodes_parse(text, "FILE", "a", &n, &e) == 0) {
        REQUIRE(n.count <= NODES_MAX);
        for (size_t i = 0; i < n.count; i++)
            check(&n, i);
    } else {
        REQUIRE(strncmp(e.text, "FILE:", 5) == 0 && e.kind == ERROR_USAGE);
    }
    uint64_t available = 1;
    REQUIRE(scheduler_meminfo(text, &available) < 0 || available % 1024 == 0);
    return 0;
}
