/* SPDX-License-Identifier: MIT */
#include "index/compare.h"

#include "index/base/mem.h"
#include "index/census.h"
#include "index/cursor.h"

#include <string.h>

struct compare {
    struct tree *base;
    struct cursor *cursor;
    change_each each;
    void *arg;
    bool whole;            /* the walk is of the whole tree: then its numbers are ours to give */
    struct buf last;       /* key of the last entry that came */
    struct census *inodes; /* numbers of the base, and those given out; NULL until one is needed */
};

struct compare *compare_new(struct tree *base, struct bytes below, change_each each, void *arg)
{
    struct compare *c = mem_new(1, sizeof(*c));
    c->base = base;
    c->cursor = cursor_new(base, below);
    c->each = each;
    c->arg = arg;
    c->whole = below.len == 0;
    buf_add(&c->last, below.data, below.len); /* nothing above it is ours to delete */
    return c;
}

void compare_free(struct compare *c)
{
    if (!c)
        return;
    cursor_free(c->cursor);
    census_free(c->inodes);
    buf_release(&c->last);
    free(c);
}

void compare_freep(struct compare **c)
{
    compare_free(*c);
}

/* Bytes that both keys have in common from the start, of whole directory components: 0x02 <component> 0x00. */
static size_t common_directories(struct bytes a, struct bytes b)
{
    size_t end = 0;
    for (size_t i = 0; i < a.len && i < b.len && a.data[i] == b.data[i]; i++) {
        if (i == end && a.data[i] != 0x02)
            break;
        if (a.data[i] == 0x00)
            end = i + 1;
    }
    return end;
}

/*
 * The base has key, the walk has not; it goes on at next (empty: it is over). If neither what came last nor what comes
 * next lies in a directory above key, nothing does: one DELETE_PREFIX for the topmost such directory.
 */
static int delete_one(struct compare *c, struct bytes key, struct bytes next, struct error *e)
{
    size_t inside = common_directories(key, buf_bytes(&c->last)), other = common_directories(key, next);
    if (other > inside)
        inside = other;
    struct change change = { .kind = CHANGE_DELETE, .key = key, .fd = -1 };
    if (inside < key.len && key.data[inside] == 0x02) {
        const uint8_t *end = memchr(key.data + inside, 0x00, key.len - inside);
        change.kind = CHANGE_DELETE_PREFIX;
        change.key.len = (size_t)(end + 1 - key.data);
        _cleanup_(buf_release) struct buf prefix = { 0 };
        buf_add(&prefix, change.key.data, change.key.len);
        change.key = buf_bytes(&prefix);
        int r = c->each(c->arg, &change, e);
        cursor_skip(c->cursor, change.key);
        return r;
    }
    int r = c->each(c->arg, &change, e);
    cursor_next(c->cursor);
    return r;
}

/* Deletes what the base has before next; then 1 if the cursor stands at next, with its entry. */
static int delete_before(struct compare *c, struct bytes next, const struct entry **ret, struct error *e)
{
    for (;;) {
        struct bytes key;
        const struct entry *n;
        int r = cursor_peek(c->cursor, &key, &n, e);
        if (r <= 0)
            return r;
        int order = next.len ? bytes_compare(key, next) : -1;
        if (order > 0)
            return 0;
        if (order == 0) {
            *ret = n;
            return 1;
        }
        r = delete_one(c, key, next, e);
        if (r < 0)
            return r;
    }
}

bool compare_same(const struct entry *raw, const struct change *c)
{
    return c->content_known && !c->other_inode && entry_same(c->entry, raw);
}

int compare_put(struct tree *base, const struct entry *raw, const struct change *c, change_each each, void *arg,
                struct error *e)
{
    if (raw && compare_same(raw, c))
        return 0;
    struct change put = *c;
    _cleanup_(entry_release) struct entry resolved = { 0 };
    if (raw) {
        entry_copy(raw, &resolved);
        int r = tree_resolve(base, &resolved, e);
        if (r < 0)
            return r;
        put.base = &resolved;
        put.base_link = raw->type == ENTRY_LINK;
    }
    return each(arg, &put, e);
}

static int take_number(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    (void)position;
    (void)key;
    (void)e;
    if (n->type != ENTRY_LINK)
        census_take(arg, n->ino);
    return 0;
}

/* What stays keeps the number that another inode of the walk may have: of what is passed on, ino becomes one that
 * nobody in the base has, but for its own record (rule O9). */
static int number(struct compare *c, const struct entry *raw, struct entry *n, struct error *e)
{
    if (!c->whole || !c->base || n->type == ENTRY_LINK || (raw && raw->type != ENTRY_LINK && raw->ino == n->ino))
        return 0;
    if (!c->inodes) {
        c->inodes = census_new();
        int r = tree_scan(c->base, (struct bytes){ 0 }, (struct bytes){ 0 }, take_number, c->inodes, e);
        if (r < 0)
            return r;
    }
    n->ino = census_number(c->inodes, n->ino);
    return 0;
}

int compare_change(void *compare, const struct change *change, struct error *e)
{
    struct compare *c = compare;
    const struct entry *raw = NULL;
    int r = delete_before(c, change->key, &raw, e);
    if (r < 0)
        return r;
    buf_clear(&c->last);
    buf_add(&c->last, change->key.data, change->key.len);
    r = 0;
    if (!raw || !compare_same(raw, change)) {
        struct change put = *change;
        struct entry n = *change->entry; /* borrows what it points to */
        put.entry = &n;
        r = number(c, raw, &n, e);
        if (r == 0)
            r = compare_put(c->base, raw, &put, c->each, c->arg, e);
    }
    if (raw)
        cursor_next(c->cursor);
    return r;
}

int compare_finish(struct compare *c, struct error *e)
{
    const struct entry *none;
    int r = delete_before(c, (struct bytes){ 0 }, &none, e);
    return r < 0 ? r : 0;
}
