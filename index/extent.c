/* SPDX-License-Identifier: MIT */
#include "index/extent.h"

#include "index/base/mem.h"
#include "index/entry.h"

#include <errno.h>

#define EXTENT_ENCODED_MIN (2 + HASH_LEN + 4 + 1)

void extent_put(struct buf *to, const struct extent *x, uint64_t end, uint64_t pack_index)
{
    wire_put_varint(to, x->start - end);
    wire_put_varint(to, x->length);
    buf_add(to, x->hash.b, HASH_LEN);
    locator_put_short(to, &x->frame, pack_index);
    wire_put_varint(to, x->within);
}

struct extent extent_get(struct wire *w, uint64_t end, const struct pack_name *packs, size_t pack_count)
{
    struct extent x = { 0 };
    x.start = end + wire_bounded(w, INT64_MAX - end);
    x.length = wire_bounded(w, FRAME_RAW_MAX);
    wire_copy(w, x.hash.b, HASH_LEN);
    x.frame = locator_get_short(w, packs, pack_count);
    x.within = (uint32_t)wire_bounded(w, FRAME_RAW_MAX);
    if (x.length == 0 || x.length > (uint64_t)INT64_MAX - x.start || x.within + x.length > x.frame.raw)
        w->bad = true;
    return x;
}

void extents_encode(const struct extent *x, size_t count, struct buf *to)
{
    _cleanup_(pack_table_release) struct pack_table packs = { 0 };
    _cleanup_(buf_release) struct buf body = { 0 };
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        extent_put(&body, &x[i], end, pack_table_index(&packs, &x[i].frame.pack));
        end = x[i].start + x[i].length;
    }
    pack_table_put(&packs, to);
    wire_put_varint(to, count);
    buf_add(to, body.data, body.len);
}

int extents_decode(struct bytes b, struct extent **ret, size_t *ret_count, struct error *e)
{
    struct wire w = wire_reader(b.data, b.len);
    size_t pack_count, had = *ret_count;
    const struct pack_name *packs = pack_table_get(&w, &pack_count);
    size_t count = (size_t)wire_bounded(&w, (uint64_t)(w.end - w.at) / EXTENT_ENCODED_MIN);
    if (w.bad || count > ENTRY_EXTENTS_MAX - had)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the extent list has an impossible length");

    _cleanup_free_ struct extent *more = mem_new(count, sizeof(*more));
    uint64_t end = 0;
    for (size_t i = 0; i < count && !w.bad; i++) {
        more[i] = extent_get(&w, end, packs, pack_count);
        end = more[i].start + more[i].length;
    }
    if (!wire_done(&w))
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the extent list is not one");
    if (count == 0)
        return 0;
    if (had > 0 && more[0].start < (*ret)[had - 1].start + (*ret)[had - 1].length)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the extent lists overlap");

    *ret = mem_grow(*ret, had + count, sizeof(**ret));
    memcpy(*ret + had, more, count * sizeof(*more));
    *ret_count = had + count;
    return 0;
}
