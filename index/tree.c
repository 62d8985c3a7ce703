/* SPDX-License-Identifier: MIT */
#include "index/tree.h"

#include "index/base/mem.h"
#include "index/pagecache.h"

#include <errno.h>

#define PAGE_ROOM_DEFAULT (8u * 1024 * 1024)
#define WARM_BATCH 512

struct tree {
    struct source *source;
    struct tree_root root;
    struct pagecache *pages;
};

int tree_open(struct source *source, const struct tree_root *root, size_t page_room, struct tree **ret, struct error *e)
{
    if (!root->empty && (root->depth > TREE_DEPTH_MAX || !locator_plausible(&root->page.frame) ||
                         root->page.count == 0 || root->page.count > PAGE_COUNT_MAX))
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the tree's root is not one");

    struct tree *t = mem_new(1, sizeof(*t));
    t->source = source;
    t->root = *root;
    t->pages = pagecache_new(page_room ? page_room : PAGE_ROOM_DEFAULT);
    *ret = t;
    return 0;
}

void tree_close(struct tree *t)
{
    if (!t)
        return;
    pagecache_free(t->pages);
    free(t);
}

void tree_closep(struct tree **t)
{
    tree_close(*t);
}

uint64_t tree_count(const struct tree *t)
{
    return t->root.empty ? 0 : t->root.page.count;
}

const struct tree_root *tree_get_root(const struct tree *t)
{
    return &t->root;
}

static int no_entry(struct error *e)
{
    error_say(e, ERROR_UNKNOWN, -ENOENT, "no such entry");
    return -ENOENT;
}

static int damaged(const struct locator *l, const char *why, struct error *e)
{
    char pack[PACK_TEXT];
    pack_text(&l->pack, pack);
    error_say(e, ERROR_DAMAGED, -EBADMSG, "page at %u of pack %s: %s", l->offset, pack, why);
    return -EBADMSG;
}

static int read_page(struct tree *t, const struct locator *l, struct page **ret, struct error *e)
{
    *ret = pagecache_get(t->pages, l);
    if (*ret)
        return 0;

    _cleanup_(frame_dropp) struct frame *f = NULL;
    int r = source_get(t->source, l, FRAME_PAGE, &f, e);
    if (r < 0)
        return r;
    r = page_decode(f, ret, e);
    if (r < 0) {
        char pack[PACK_TEXT];
        pack_text(&l->pack, pack);
        error_prefix(e, "page at %u of pack %s", l->offset, pack);
        return r;
    }
    pagecache_put(t->pages, l, *ret);
    return 0;
}

int tree_spot_load(struct tree *t, const struct tree_spot *s, struct page **ret, struct error *e)
{
    _cleanup_(page_dropp) struct page *p = NULL;
    int r = read_page(t, &s->ref.frame, &p, e);
    if (r < 0)
        return r;

    struct page_face f = page_face(p);
    struct page_promise said = { s->level, s->ref.count, { s->after, s->after_len }, { s->last, s->last_len } };
    const char *wrong = page_breaks(&f, &said);
    if (wrong)
        return damaged(&s->ref.frame, wrong, e);
    *ret = mem_steal(p);
    return 0;
}

static void spot_root(const struct tree *t, struct tree_spot *s)
{
    s->ref = t->root.page;
    s->level = t->root.depth;
    s->root = true;
    s->start = 0;
    s->after_len = s->last_len = 0;
}

/* Moves s from page p to its child at index. */
static void spot_child(struct tree_spot *s, const struct page *p, uint32_t index)
{
    struct page_cursor c;
    page_first(p, &c);
    while (c.index < index) {
        if (c.index + 1 == index) {
            memcpy(s->after, c.key, c.key_len);
            s->after_len = c.key_len;
        }
        page_next(&c);
    }
    memcpy(s->last, c.key, c.key_len);
    s->last_len = c.key_len;
    s->ref = page_child(p, index);
    s->start += p->items[index].before;
    s->level--;
    s->root = false;
}

static uint32_t index_of_key(const struct page *p, struct bytes key)
{
    struct page_cursor c;
    page_first(p, &c);
    page_seek(&c, key);
    return c.index < p->count ? c.index : p->count - 1;
}

/* From the root to a level: towards key if there is one, else towards position. */
static int descend(struct tree *t, uint8_t level, const struct bytes *key, uint64_t position, struct tree_spot *s,
                   struct error *e)
{
    spot_root(t, s);
    while (s->level > level) {
        _cleanup_(page_dropp) struct page *p = NULL;
        int r = tree_spot_load(t, s, &p, e);
        if (r < 0)
            return r;
        spot_child(s, p, key ? index_of_key(p, *key) : page_index_of(p, position - s->start));
    }
    return 0;
}

int tree_spot_at(struct tree *t, uint8_t level, uint64_t position, struct tree_spot *ret, struct error *e)
{
    if (position >= tree_count(t))
        return no_entry(e);
    return descend(t, level, NULL, position, ret, e);
}

int tree_spot_of(struct tree *t, uint8_t level, struct bytes key, struct tree_spot *ret, struct error *e)
{
    if (t->root.empty)
        return no_entry(e);
    return descend(t, level, &key, 0, ret, e);
}

int tree_find(struct tree *t, struct bytes key, uint64_t *ret_position, struct entry *ret, struct error *e)
{
    struct tree_spot s;
    _cleanup_(page_dropp) struct page *p = NULL;
    int r = tree_spot_of(t, 0, key, &s, e);
    if (r < 0)
        return r;
    /* A key behind all others needs no leaf to be refused. */
    if (!s.root && bytes_compare((struct bytes){ s.last, s.last_len }, key) < 0)
        return no_entry(e);
    r = tree_spot_load(t, &s, &p, e);
    if (r < 0)
        return r;

    struct page_cursor c;
    page_first(p, &c);
    page_seek(&c, key);
    if (page_at_end(&c) || bytes_compare(page_key(&c), key) != 0)
        return no_entry(e);
    if (ret)
        page_entry(p, c.index, ret);
    if (ret_position)
        *ret_position = s.start + c.index;
    return 0;
}

int tree_at(struct tree *t, uint64_t position, struct buf *ret_key, struct entry *ret, struct error *e)
{
    struct tree_spot s;
    _cleanup_(page_dropp) struct page *p = NULL;
    int r = tree_spot_at(t, 0, position, &s, e);
    if (r < 0)
        return r;
    r = tree_spot_load(t, &s, &p, e);
    if (r < 0)
        return r;

    uint32_t index = (uint32_t)(position - s.start);
    if (ret)
        page_entry(p, index, ret);
    if (ret_key) {
        struct page_cursor c;
        page_first(p, &c);
        while (c.index < index)
            page_next(&c);
        buf_clear(ret_key);
        buf_add(ret_key, c.key, c.key_len);
    }
    return 0;
}

int tree_resolve(struct tree *t, struct entry *n, struct error *e)
{
    if (n->type != ENTRY_LINK)
        return 0;

    _cleanup_(buf_release) struct buf key = { 0 };
    _cleanup_(entry_release) struct entry first = { 0 };
    int r = key_from_path((struct bytes){ (const uint8_t *)n->target, strlen(n->target) }, &key);
    if (r == 0)
        r = tree_find(t, buf_bytes(&key), NULL, &first, e);
    if (r < 0 && r != -ENOENT && r != -EINVAL)
        return r;
    if (r < 0 || first.type == ENTRY_LINK || first.type == ENTRY_DIRECTORY)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "a link's first name %s is no inode", n->target);
    entry_release(n);
    *n = first;
    first = (struct entry){ 0 };
    return 0;
}

/* The entries of one leaf, the first at position start; ret_over: the prefix's run ends in it. */
static int scan_leaf(const struct page *p, uint64_t start, struct bytes prefix, struct bytes from, tree_each each,
                     void *arg, struct error *e, bool *ret_over)
{
    struct page_cursor c;
    page_first(p, &c);
    page_seek(&c, from);
    for (; !page_at_end(&c); page_next(&c)) {
        if (!key_starts_with(page_key(&c), prefix)) {
            *ret_over = true;
            return 0;
        }
        _cleanup_(entry_release) struct entry n = { 0 };
        page_entry(p, c.index, &n);
        int r = each(arg, start + c.index, page_key(&c), &n, e);
        if (r != 0)
            return r;
    }
    return 0;
}

int tree_scan(struct tree *t, struct bytes prefix, struct bytes from, tree_each each, void *arg, struct error *e)
{
    if (t->root.empty)
        return 0;
    if (bytes_compare(from, prefix) < 0)
        from = prefix;

    struct tree_spot s;
    int r = tree_spot_of(t, 0, from, &s, e);
    bool over = r == 0 && !s.root && bytes_compare((struct bytes){ s.last, s.last_len }, from) < 0;
    while (r == 0 && !over) {
        _cleanup_(page_dropp) struct page *p = NULL;
        r = tree_spot_load(t, &s, &p, e);
        if (r == 0)
            r = scan_leaf(p, s.start, prefix, from, each, arg, e, &over);

        uint64_t next = s.start + s.ref.count;
        if (r != 0 || over || next >= tree_count(t))
            return r;
        r = tree_spot_at(t, 0, next, &s, e);
    }
    return r;
}

/* Behind the page there are no more keys that start with prefix. */
static bool ends_run(const struct tree *t, const struct tree_spot *s, struct bytes prefix)
{
    struct bytes last = { s->last, s->last_len };
    return s->start + s->ref.count >= tree_count(t) ||
           (bytes_compare(last, prefix) > 0 && !key_starts_with(last, prefix));
}

static int warm_level(struct tree *t, uint8_t level, struct bytes prefix)
{
    struct locator pages[TREE_WARM_PAGES];
    size_t count = 0;
    struct tree_spot s;
    int r = tree_spot_of(t, level, prefix, &s, NULL);
    while (r == 0) {
        pages[count++] = s.ref.frame;
        if (count == TREE_WARM_PAGES || ends_run(t, &s, prefix))
            break;
        r = tree_spot_at(t, level, s.start + s.ref.count, &s, NULL);
    }
    return r == 0 && count > 1 ? source_warm(t->source, pages, count, SOURCE_DEMAND, NULL) : r;
}

void tree_warm(struct tree *t, struct bytes prefix)
{
    int r = 0;
    for (int level = t->root.depth - 1; level >= 0 && r == 0 && !t->root.empty; level--)
        r = warm_level(t, (uint8_t)level, prefix);
}

struct pages {
    struct tree *tree;
    bool stay, no_room; /* no_room: the cache took no more, and is not asked again */
    tree_each_page each;
    void *arg;
    struct locator batch[WARM_BATCH];
    size_t count;
};

static int warm_batch(struct pages *s, struct error *e)
{
    if (s->stay)
        return source_warm(s->tree->source, s->batch, s->count, SOURCE_BACKGROUND, e);
    int r = s->no_room ? 1 : source_prepare(s->tree->source, s->batch, s->count, SOURCE_BACKGROUND, e);
    s->no_room = r > 0;
    return r < 0 ? r : 0;
}

static int tell_batch(struct pages *s, uint8_t level, struct error *e)
{
    int r = warm_batch(s, e);
    for (size_t i = 0; i < s->count && r == 0; i++)
        r = s->each(s->arg, &s->batch[i], level, e);
    s->count = 0;
    return r;
}

/* Tells all pages of a level: the children of the level above, which was told, and so warmed, before. */
static int tell_level(struct pages *s, uint8_t level, struct error *e)
{
    uint64_t at = 0;
    while (at < tree_count(s->tree)) {
        struct tree_spot spot;
        _cleanup_(page_dropp) struct page *p = NULL;
        int r = tree_spot_at(s->tree, level + 1, at, &spot, e);
        if (r == 0)
            r = tree_spot_load(s->tree, &spot, &p, e);
        for (uint32_t i = 0; r == 0 && i < p->count; i++) {
            s->batch[s->count++] = page_child(p, i).frame;
            if (s->count == WARM_BATCH)
                r = tell_batch(s, level, e);
        }
        if (r != 0)
            return r;
        at += spot.ref.count;
    }
    return tell_batch(s, level, e);
}

int tree_pages(struct tree *t, bool stay, tree_each_page each, void *arg, struct error *e)
{
    if (t->root.empty)
        return 0;

    _cleanup_free_ struct pages *s = mem_new(1, sizeof(*s));
    *s = (struct pages){ .tree = t, .stay = stay, .each = each, .arg = arg };
    s->batch[s->count++] = t->root.page.frame;
    int r = tell_batch(s, t->root.depth, e);
    for (uint8_t level = t->root.depth; level > 0 && r == 0; level--)
        r = tell_level(s, (uint8_t)(level - 1), e);
    return r;
}
