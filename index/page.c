/* SPDX-License-Identifier: MIT */
#include "index/page.h"

#include "index/base/mem.h"

#include <errno.h>

#define PAGE_VERSION 1
#define PAGE_LEVEL_BITS 5 /* one page in 2^5 of a level's items */
#define ITEM_ENCODED_MIN 4

/* Reads an item's key and leaves the whole of it in c; the bytes are known to fit. */
static void get_key(struct wire *w, struct page *p, struct page_item *item, struct page_cursor *c)
{
    size_t shared = (size_t)wire_bounded(w, c->key_len);
    struct bytes suffix = wire_string(w, KEY_LEN_MAX - shared);
    if (w->bad || suffix.len == 0)
        goto bad;

    /* It rises if what replaces the rest of the key before is greater; one that shares less than it could is refused.
     */
    if (p->count > 0 && shared < c->key_len && c->key[shared] >= suffix.data[0])
        goto bad;
    item->shared = (uint16_t)shared;
    item->suffix = (uint32_t)(suffix.data - p->frame->data);
    item->suffix_len = (uint16_t)suffix.len;
    memcpy(c->key + shared, suffix.data, suffix.len);
    c->key_len = shared + suffix.len;
    if (!key_valid(page_key(c)))
        goto bad;
    return;

bad:
    w->bad = true;
}

static uint64_t get_record(struct wire *w, const struct page *p)
{
    if (p->level == 0) {
        struct entry n;
        entry_decode(w, p->packs, p->pack_count, &n);
        entry_release(&n);
        return 1;
    }
    locator_get_short(w, p->packs, p->pack_count);
    uint64_t count = wire_bounded(w, PAGE_COUNT_MAX);
    if (count == 0)
        w->bad = true;
    return count;
}

static void get_items(struct wire *w, struct page *p, uint32_t count)
{
    struct page_cursor c = { .page = p };
    while (p->count < count && !w->bad) {
        struct page_item *item = &p->items[p->count];
        get_key(w, p, item, &c);
        item->record = (uint32_t)(w->at - p->frame->data);
        item->before = p->total;
        p->total += get_record(w, p);
        p->count++;
    }
    if (p->total > PAGE_COUNT_MAX)
        w->bad = true;
    if (!w->bad) {
        p->last = mem_copy(c.key, c.key_len);
        p->last_len = c.key_len;
    }
}

int page_decode(struct frame *f, struct page **ret, struct error *e)
{
    struct wire w = wire_reader(f->data, f->len);
    uint8_t version = wire_u8(&w), level = wire_u8(&w);
    size_t pack_count;
    const struct pack_name *packs = pack_table_get(&w, &pack_count);
    uint32_t count = (uint32_t)wire_bounded(&w, PAGE_ITEMS_MAX);
    if (version != PAGE_VERSION || level > PAGE_LEVEL_MAX || count == 0 ||
        count > (size_t)(w.end - w.at) / ITEM_ENCODED_MIN || f->len > FRAME_RAW_MAX || w.bad)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the page has no true head");

    _cleanup_(page_dropp) struct page *p = mem_new(1, sizeof(*p) + count * sizeof(p->items[0]));
    atomic_init(&p->references, 1);
    p->level = level;
    p->frame = frame_hold(f);
    p->packs = packs;
    p->pack_count = pack_count;
    get_items(&w, p, count);
    if (!wire_done(&w))
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the page is wrong at item %u", p->count);
    *ret = mem_steal(p);
    return 0;
}

struct page *page_hold(struct page *p)
{
    atomic_fetch_add_explicit(&p->references, 1, memory_order_relaxed);
    return p;
}

void page_drop(struct page *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->references, 1, memory_order_acq_rel) != 1)
        return;
    frame_drop(p->frame);
    free(p->last);
    free(p);
}

void page_dropp(struct page **p)
{
    page_drop(*p);
}

size_t page_memory(const struct page *p)
{
    return sizeof(*p) + p->count * sizeof(p->items[0]) + sizeof(*p->frame) + p->frame->len + p->last_len;
}

struct bytes page_last_key(const struct page *p)
{
    return (struct bytes){ p->last, p->last_len };
}

struct page_face page_face(const struct page *p)
{
    struct bytes first = { p->frame->data + p->items[0].suffix, p->items[0].suffix_len }; /* it shares nothing */
    return (struct page_face){ p->level, p->total, first, page_last_key(p) };
}

const char *page_breaks(const struct page_face *f, const struct page_promise *said)
{
    if (f->level != said->level)
        return "it is of another level";
    if (f->total != said->total)
        return "it holds another number of entries";
    if (said->after.len > 0 && bytes_compare(f->first, said->after) <= 0)
        return "its keys begin too early";
    if (said->last.len > 0 && bytes_compare(f->last, said->last) != 0)
        return "its keys end elsewhere";
    return NULL;
}

/* The item at index takes its place in the key of the one before it. */
static void load_key(struct page_cursor *c)
{
    if (page_at_end(c))
        return;
    const struct page_item *item = &c->page->items[c->index];
    memcpy(c->key + item->shared, c->page->frame->data + item->suffix, item->suffix_len);
    c->key_len = (size_t)item->shared + item->suffix_len;
}

void page_first(const struct page *p, struct page_cursor *ret)
{
    ret->page = p;
    ret->index = 0;
    load_key(ret);
}

void page_next(struct page_cursor *c)
{
    c->index++;
    load_key(c);
}

void page_seek(struct page_cursor *c, struct bytes key)
{
    while (!page_at_end(c) && bytes_compare(page_key(c), key) < 0)
        page_next(c);
}

uint32_t page_index_of(const struct page *p, uint64_t position)
{
    uint32_t low = 0, high = p->count - 1; /* items[low].before <= position */
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (p->items[middle].before <= position)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static struct wire record_reader(const struct page *p, uint32_t index)
{
    uint32_t at = p->items[index].record;
    return wire_reader(p->frame->data + at, p->frame->len - at);
}

void page_entry(const struct page *p, uint32_t index, struct entry *ret)
{
    struct wire w = record_reader(p, index);
    entry_decode(&w, p->packs, p->pack_count, ret);
}

struct page_ref page_child(const struct page *p, uint32_t index)
{
    struct wire w = record_reader(p, index);
    struct page_ref child;
    child.frame = locator_get_short(&w, p->packs, p->pack_count);
    child.count = wire_varint(&w);
    return child;
}

void page_builder_release(struct page_builder *b)
{
    pack_table_release(&b->packs);
    buf_release(&b->body);
    buf_release(&b->last);
}

void page_builder_clear(struct page_builder *b)
{
    pack_table_clear(&b->packs);
    buf_clear(&b->body);
    buf_clear(&b->last);
    b->count = 0;
    b->total = 0;
}

static void put_key(struct page_builder *b, struct bytes key)
{
    size_t shared = 0;
    while (shared < b->last.len && shared < key.len && b->last.data[shared] == key.data[shared])
        shared++;
    wire_put_varint(&b->body, shared);
    wire_put_string(&b->body, key.data + shared, key.len - shared);
    buf_clear(&b->last);
    buf_add(&b->last, key.data, key.len);
    b->count++;
}

void page_builder_entry(struct page_builder *b, struct bytes key, const struct entry *n)
{
    put_key(b, key);
    entry_encode(n, pack_table_index, &b->packs, &b->body);
    b->total++;
}

void page_builder_child(struct page_builder *b, struct bytes key, const struct page_ref *child)
{
    put_key(b, key);
    locator_put_short(&b->body, &child->frame, pack_table_index(&b->packs, &child->frame.pack));
    wire_put_varint(&b->body, child->count);
    b->total += child->count;
}

bool page_builder_full(const struct page_builder *b)
{
    return b->count >= PAGE_ITEMS_MAX || b->body.len + pack_table_size(&b->packs) >= PAGE_BYTES_MAX;
}

void page_builder_put(const struct page_builder *b, struct buf *to)
{
    wire_put_u8(to, PAGE_VERSION);
    wire_put_u8(to, b->level);
    pack_table_put(&b->packs, to);
    wire_put_varint(to, b->count);
    buf_add(to, b->body.data, b->body.len);
}

bool page_cut(const struct hash_key *cut_key, uint8_t level, struct bytes key)
{
    struct hash h;
    hash_bytes(cut_key, key.data, key.len, &h);
    uint64_t low = 0;
    for (unsigned i = 0; i < 8; i++)
        low |= (uint64_t)h.b[i] << (8 * i);
    return (low & ((UINT64_C(1) << (PAGE_LEVEL_BITS * (level + 1))) - 1)) == 0;
}
