/* SPDX-License-Identifier: MIT */
/* fuzzes: page_decode, page_seek, page_index_of, page_child, page_entry. */
#include "index/page.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static struct page *decode(struct bytes b)
{
    _cleanup_(frame_dropp) struct frame *f = frame_new(b.len);
    if (b.len)
        memcpy(f->data, b.data, b.len);
    struct page *p = NULL;
    page_decode(f, &p, NULL);
    return p;
}

/* Every key and position leads to its item. */
static void check_search(const struct page *p)
{
    struct page_cursor all, found;
    uint64_t position = 0;
    for (page_first(p, &all); !page_at_end(&all); page_next(&all)) {
        REQUIRE(key_valid(page_key(&all)));
        page_first(p, &found);
        page_seek(&found, page_key(&all));
        REQUIRE(found.index == all.index);
        REQUIRE(page_index_of(p, position) == all.index);
        position += p->level == 0 ? 1 : page_child(p, all.index).count;
        REQUIRE(page_index_of(p, position - 1) == all.index);
    }
    REQUIRE(position == p->total);
}

static void encode(const struct page *p, struct buf *to)
{
    _cleanup_(page_builder_release) struct page_builder b = { .level = p->level };
    struct page_cursor c;
    for (page_first(p, &c); !page_at_end(&c); page_next(&c)) {
        if (p->level == 0) {
            _cleanup_(entry_release) struct entry n = { 0 };
            page_entry(p, c.index, &n);
            page_builder_entry(&b, page_key(&c), &n);
        } else {
            struct page_ref child = page_child(p, c.index);
            page_builder_child(&b, page_key(&c), &child);
        }
    }
    page_builder_put(&b, to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(page_dropp) struct page *p = decode((struct bytes){ data, size }), *again = NULL;
    if (!p)
        return 0;

    REQUIRE(page_memory(p) <= 16 * size + 1024);
    check_search(p);
    _cleanup_(buf_release) struct buf once = { 0 }, twice = { 0 };
    encode(p, &once);
    again = decode(buf_bytes(&once));
    REQUIRE(again && again->count == p->count && again->total == p->total && again->level == p->level);
    REQUIRE_EQUAL(page_last_key(p), page_last_key(again));
    encode(again, &twice);
    REQUIRE_EQUAL(buf_bytes(&once), buf_bytes(&twice));
    return 0;
}
