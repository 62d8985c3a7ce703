/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * page - one page of the search tree: a leaf (level 0) holds entries, an inner page references to the pages of the
 * level below, each with the last key under it and the number of entries there (FORMAT.md, "Pages and cuts").
 *
 * page_decode checks everything that one page can show by itself: limits, rising valid keys, plausible records, counts
 * that do not overflow. A decoded page is its frame's bytes and a small table over them: keys stay prefix-compressed
 * and records are decoded one at a time, so that its memory is a small multiple of its bytes whatever they say. A page
 * is counted and immutable: safe from many threads. A cursor belongs to one thread and borrows its page.
 */

#include "index/entry.h"
#include "index/key.h"
#include "index/source.h"

#define PAGE_ITEMS_MAX 256          /* a page is cut after this many items at the latest … */
#define PAGE_BYTES_MAX (64u * 1024) /* … or after the item with which it reaches this size */
#define PAGE_LEVEL_MAX 8
#define PAGE_COUNT_MAX (UINT64_C(1) << 48) /* entries below a page */

struct page_ref {
    struct locator frame;
    uint64_t count; /* entries below */
};

struct page_item {
    uint64_t before;         /* entries of the page in front of this item */
    uint32_t suffix, record; /* where in the frame's bytes */
    uint16_t shared, suffix_len;
};

struct page {
    atomic_int references;
    uint8_t level;
    uint32_t count; /* of items, at least 1 */
    uint64_t total; /* of entries */
    struct frame *frame;
    const struct pack_name *packs; /* in the frame */
    size_t pack_count;
    uint8_t *last; /* the last item's key */
    size_t last_len;
    struct page_item items[];
};

/* Holds f on success. -EBADMSG ERROR_DAMAGED. */
int page_decode(struct frame *f, struct page **ret, struct error *e);
struct page *page_hold(struct page *p);
void page_drop(struct page *p); /* NULL is fine */
void page_dropp(struct page **p);
size_t page_memory(const struct page *p);
struct bytes page_last_key(const struct page *p);

/* What a page shows of itself, and what those above it say of it. */
struct page_face {
    uint8_t level;
    uint64_t total;
    struct bytes first, last; /* keys */
};
struct page_promise {
    uint8_t level;
    uint64_t total;
    struct bytes after; /* its keys are greater; empty: any */
    struct bytes last;  /* its last key; empty: nobody says */
};
struct page_face page_face(const struct page *p); /* borrowed */
/* NULL: it is the page that is meant. Else what is wrong. */
const char *page_breaks(const struct page_face *f, const struct page_promise *said);

/* Stands on one item of a page, with its whole key. */
struct page_cursor {
    const struct page *page;
    uint32_t index; /* page->count: behind the last */
    size_t key_len;
    uint8_t key[KEY_LEN_MAX];
};

void page_first(const struct page *p, struct page_cursor *ret);
void page_next(struct page_cursor *c);
/* Moves forward to the first item, from here on, whose key is >= key. */
void page_seek(struct page_cursor *c, struct bytes key);
static inline bool page_at_end(const struct page_cursor *c)
{
    return c->index == c->page->count;
}
static inline struct bytes page_key(const struct page_cursor *c)
{
    return (struct bytes){ c->key, c->key_len };
}
/* The item that holds the entry at position, counted from the page's first; position < p->total. */
uint32_t page_index_of(const struct page *p, uint64_t position);
void page_entry(const struct page *p, uint32_t index, struct entry *ret); /* of a leaf; the caller's to release */
struct page_ref page_child(const struct page *p, uint32_t index);         /* of an inner page */

/* Writes one page after the other. Zero is a valid empty builder of leaves; keys must rise. */
struct page_builder {
    uint8_t level;
    uint32_t count;
    uint64_t total;
    struct pack_table packs;
    struct buf body, last; /* the items; the last key */
};

void page_builder_release(struct page_builder *b);
void page_builder_clear(struct page_builder *b); /* level is kept */
void page_builder_entry(struct page_builder *b, struct bytes key, const struct entry *n);
void page_builder_child(struct page_builder *b, struct bytes key, const struct page_ref *child);
bool page_builder_full(const struct page_builder *b);                /* one of the limits is reached */
void page_builder_put(const struct page_builder *b, struct buf *to); /* appends the page; it is not empty */

/* Whether a page of this level ends after the item with this key, whatever stands around it. */
bool page_cut(const struct hash_key *cut_key, uint8_t level, struct bytes key);
