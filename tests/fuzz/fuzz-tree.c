/* SPDX-License-Identifier: MIT */
/* fuzzes: tree_open, tree_pages, tree_scan, tree_at, tree_resolve, tree_find. */
#include "index/tree.h"

#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <string.h>

/*
 * A whole tree whose pages are all hostile. Input: depth (u8), entries (varint), then frames as strings, the root last;
 * a locator's offset is the number of its frame. Whatever the pages say, no walk does more than all frames have items.
 */
#define FRAMES_MAX 64

struct hostile {
    struct source source;
    struct bytes frames[FRAMES_MAX];
    size_t count;
    uint64_t items, told;
};

static int get(struct source *s, const struct locator *l, enum frame_kind kind, struct frame **ret, struct error *e)
{
    struct hostile *h = (struct hostile *)s;
    if (l->offset >= h->count)
        return error_set(e, ERROR_DAMAGED, -ENOENT, "frame");
    *ret = frame_new(h->frames[l->offset].len);
    memcpy((*ret)->data, h->frames[l->offset].data, h->frames[l->offset].len);
    return 0;
}

static int warm(struct source *s, const struct locator *l, size_t count, enum source_urgency urgency, struct error *e)
{
    return 0;
}

static int tell_page(void *arg, const struct locator *page, uint8_t level, struct error *e)
{
    struct hostile *h = arg;
    REQUIRE(++h->told <= h->items + 1);
    return 0;
}

static int tell_entry(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    struct hostile *h = arg;
    REQUIRE(++h->told <= h->items);
    return 0;
}

static void walk(struct hostile *h, struct tree *t)
{
    h->told = 0;
    tree_pages(t, false, tell_page, h, NULL);
    h->told = 0;
    tree_scan(t, (struct bytes){ 0 }, (struct bytes){ 0 }, tell_entry, h, NULL);

    _cleanup_(buf_release) struct buf key = { 0 };
    uint64_t count = tree_count(t), position;
    for (uint64_t at = 0; at < count && at < 64; at++) {
        _cleanup_(entry_release) struct entry n = { 0 };
        if (tree_at(t, at, &key, &n, NULL) < 0)
            continue;
        tree_resolve(t, &n, NULL);
        if (tree_find(t, buf_bytes(&key), &position, NULL, NULL) == 0)
            REQUIRE(position == at);
    }
    tree_at(t, count - 1, NULL, NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hostile h = { .source = { get, warm } };
    struct wire w = wire_reader(data, size);
    struct tree_root root = { 0 };
    root.depth = wire_u8(&w);
    root.page.count = wire_varint(&w);
    while (w.at < w.end && !w.bad && h.count < FRAMES_MAX) {
        struct bytes b = wire_string(&w, FRAME_RAW_MAX);
        if (b.len > 0)
            h.frames[h.count++] = b;
    }
    h.items = size; /* an item takes more than a byte */
    root.page.frame = (struct locator){ .offset = h.count > 0 ? (uint32_t)h.count - 1 : 0, .sealed = 1, .raw = 1 };
    _cleanup_(tree_closep) struct tree *t = NULL;
    if (tree_open(&h.source, &root, 0, &t, NULL) == 0)
        walk(&h, t);
    return 0;
}
