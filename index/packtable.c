/* SPDX-License-Identifier: MIT */
#include "index/packtable.h"

#include "index/base/mem.h"

_Static_assert(sizeof(struct pack_name) == 32 && _Alignof(struct pack_name) == 1, "names are read where they lie");

void pack_table_release(struct pack_table *t)
{
    free(t->names);
    *t = (struct pack_table){ 0 };
}

void pack_table_clear(struct pack_table *t)
{
    t->count = 0;
}

uint64_t pack_table_index(void *table, const struct pack_name *p)
{
    struct pack_table *t = table;
    /* Neighbours mostly share their pack: the newest first. */
    for (size_t i = t->count; i > 0; i--)
        if (pack_equal(&t->names[i - 1], p))
            return i - 1;
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : 8;
        t->names = mem_grow(t->names, t->room, sizeof(*t->names));
    }
    t->names[t->count] = *p;
    return t->count++;
}

static size_t varint_size(uint64_t v)
{
    size_t n = 1;
    while (v >>= 7)
        n++;
    return n;
}

size_t pack_table_size(const struct pack_table *t)
{
    return varint_size(t->count) + t->count * sizeof(*t->names);
}

void pack_table_put(const struct pack_table *t, struct buf *to)
{
    wire_put_varint(to, t->count);
    buf_add(to, t->names, t->count * sizeof(*t->names));
}

const struct pack_name *pack_table_get(struct wire *w, size_t *ret_count)
{
    size_t count = (size_t)wire_bounded(w, (uint64_t)(w->end - w->at) / sizeof(struct pack_name));
    struct bytes names = wire_run(w, count * sizeof(struct pack_name));
    *ret_count = w->bad ? 0 : count;
    return (const struct pack_name *)names.data;
}

void locator_put_short(struct buf *to, const struct locator *l, uint64_t index)
{
    wire_put_varint(to, index);
    wire_put_varint(to, l->offset);
    wire_put_varint(to, l->sealed);
    wire_put_varint(to, l->raw);
}

struct locator locator_get_short(struct wire *w, const struct pack_name *packs, size_t pack_count)
{
    struct locator l = { 0 };
    uint64_t index = wire_varint(w);
    l.offset = (uint32_t)wire_bounded(w, PACK_MAX);
    l.sealed = (uint32_t)wire_bounded(w, FRAME_SEALED_MAX);
    l.raw = (uint32_t)wire_bounded(w, FRAME_RAW_MAX);
    if (w->bad || index >= pack_count || !locator_plausible(&l)) {
        w->bad = true;
        return (struct locator){ 0 };
    }
    l.pack = packs[index];
    return l;
}
