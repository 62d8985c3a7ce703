/* SPDX-License-Identifier: MIT */
#include "index/cursor.h"

#include "index/base/mem.h"

#include <string.h>

#define BATCH 128

struct item {
    struct buf key;
    struct entry entry;
};

struct cursor {
    struct tree *tree;
    struct buf prefix, from;
    struct item items[BATCH];
    size_t count, at;
    bool ended; /* nothing behind the batch */
};

struct cursor *cursor_new(struct tree *t, struct bytes prefix)
{
    struct cursor *c = mem_new(1, sizeof(*c));
    c->tree = t;
    c->ended = t == NULL;
    buf_add(&c->prefix, prefix.data, prefix.len);
    return c;
}

static void drop_batch(struct cursor *c)
{
    for (size_t i = 0; i < c->count; i++)
        entry_release(&c->items[i].entry);
    c->count = c->at = 0;
}

void cursor_free(struct cursor *c)
{
    if (!c)
        return;
    drop_batch(c);
    for (size_t i = 0; i < BATCH; i++)
        buf_release(&c->items[i].key);
    buf_release(&c->prefix);
    buf_release(&c->from);
    free(c);
}

static int take(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    (void)position;
    (void)e;
    struct cursor *c = arg;
    struct item *i = &c->items[c->count++];
    buf_clear(&i->key);
    buf_add(&i->key, key.data, key.len);
    entry_copy(n, &i->entry);
    return c->count == BATCH;
}

static int fill(struct cursor *c, struct error *e)
{
    drop_batch(c);
    int r = tree_scan(c->tree, buf_bytes(&c->prefix), buf_bytes(&c->from), take, c, e);
    if (r < 0)
        return r;
    c->ended = r == 0;
    if (c->count > 0) { /* the least key behind the last one is that key and a zero byte */
        buf_clear(&c->from);
        buf_add(&c->from, c->items[c->count - 1].key.data, c->items[c->count - 1].key.len);
        buf_fill(&c->from, 0, 1);
    }
    return 0;
}

int cursor_peek(struct cursor *c, struct bytes *ret_key, const struct entry **ret_entry, struct error *e)
{
    if (c->at == c->count && !c->ended) {
        int r = fill(c, e);
        if (r < 0)
            return r;
    }
    if (c->at == c->count)
        return 0;
    *ret_key = buf_bytes(&c->items[c->at].key);
    *ret_entry = &c->items[c->at].entry;
    return 1;
}

void cursor_next(struct cursor *c)
{
    if (c->at < c->count)
        c->at++;
}

static bool starts_with(struct bytes b, struct bytes prefix)
{
    return b.len >= prefix.len && memcmp(b.data, prefix.data, prefix.len) == 0;
}

void cursor_skip(struct cursor *c, struct bytes prefix)
{
    while (c->at < c->count && starts_with(buf_bytes(&c->items[c->at].key), prefix))
        c->at++;
    if (c->at < c->count || c->ended)
        return;
    /* 0xff is no byte a key goes on with after a prefix of whole components. */
    buf_clear(&c->from);
    buf_add(&c->from, prefix.data, prefix.len);
    buf_fill(&c->from, 0xff, 1);
}
