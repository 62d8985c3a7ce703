/* SPDX-License-Identifier: MIT */
#include "index/ways.h"

#include "index/base/mem.h"
#include "index/key.h"

#include <errno.h>

struct keys {
    struct buf *items;
    size_t count;
};

struct pages {
    struct locator *items;
    size_t count;
};

static void release(struct keys *k)
{
    for (size_t i = 0; i < k->count; i++)
        buf_release(&k->items[i]);
    free(k->items);
}

static int add_path(struct keys *k, const char *path, size_t len, struct error *e)
{
    struct buf key = { 0 };
    if (key_from_path((struct bytes){ (const uint8_t *)path, len }, &key) < 0) {
        buf_release(&key);
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "a name of a linked file is not a path");
    }
    k->items = mem_grow(k->items, k->count + 1, sizeof(*k->items));
    k->items[k->count++] = key;
    return 0;
}

/* before: the path that was added last; the directories that it is in are known already. */
static int add_name(struct keys *k, const char *path, const char *before, struct error *e)
{
    size_t common = 0;
    while (before[common] && before[common] == path[common])
        common++;
    int r = 0;
    for (const char *slash = strchr(path, '/'); slash && r == 0; slash = strchr(slash + 1, '/'))
        if ((size_t)(slash - path) >= common)
            r = add_path(k, path, (size_t)(slash - path), e);
    return r < 0 ? r : add_path(k, path, strlen(path), e);
}

static int by_bytes(const void *a, const void *b)
{
    return bytes_compare(buf_bytes(a), buf_bytes(b));
}

static int collect(const struct link_group *groups, size_t count, struct keys *k, struct error *e)
{
    const char *before = "";
    int r = 0;
    for (size_t g = 0; g < count && r == 0; g++)
        for (size_t i = 0; i < groups[g].count && r == 0; i++) {
            r = add_name(k, groups[g].paths[i], before, e);
            before = groups[g].paths[i];
        }
    if (k->count > 0)
        qsort(k->items, k->count, sizeof(*k->items), by_bytes);
    return r;
}

/* The pages of a level that hold the keys, or would; those above are here. */
static int find_pages(struct tree *t, uint8_t level, const struct keys *k, struct pages *ret, struct error *e)
{
    size_t i = 0;
    while (i < k->count) {
        struct tree_spot s;
        int r = tree_spot_of(t, level, buf_bytes(&k->items[i]), &s, e);
        if (r < 0)
            return r;
        ret->items = mem_grow(ret->items, ret->count + 1, sizeof(*ret->items));
        ret->items[ret->count++] = s.ref.frame;
        struct bytes last = { s.last, s.last_len };
        do
            i++;
        while (i < k->count && (s.root || bytes_compare(buf_bytes(&k->items[i]), last) <= 0));
    }
    return 0;
}

int ways_each(struct tree *t, const struct link_group *groups, size_t count, int lowest, ways_level each, void *arg,
              struct error *e)
{
    _cleanup_(release) struct keys k = { 0 };
    const struct tree_root *root = tree_get_root(t);
    if (root->empty)
        return 0;
    int r = collect(groups, count, &k, e);
    for (int level = root->depth - 1; level >= lowest && r == 0; level--) {
        struct pages p = { 0 };
        r = find_pages(t, (uint8_t)level, &k, &p, e);
        if (r == 0)
            r = each(arg, p.items, p.count, e);
        free(p.items);
    }
    return r;
}

static int warm(void *arg, const struct locator *pages, size_t count, struct error *e)
{
    int r = source_prepare(arg, pages, count, SOURCE_DEMAND, e);
    return r < 0 ? r : 0;
}

int ways_to_links(struct tree *t, struct source *s, const struct link_group *groups, size_t count, struct error *e)
{
    return ways_each(t, groups, count, 0, warm, s, e);
}

/* All pages of a level, whose parents are here. False: there are more than WAYS_BEGIN_PAGES. */
static bool find_level(struct tree *t, uint8_t level, struct pages *ret)
{
    struct tree_spot s;
    for (uint64_t at = 0; at < tree_count(t); at += s.ref.count) {
        if (ret->count == WAYS_BEGIN_PAGES || tree_spot_at(t, level, at, &s, NULL) < 0)
            return false;
        ret->items[ret->count++] = s.ref.frame;
    }
    return true;
}

void ways_begin(struct tree *t, struct source *s)
{
    struct locator items[WAYS_BEGIN_PAGES];
    struct pages p = { .items = items };
    int r = 0;
    for (int level = tree_get_root(t)->depth - 1; level > 0 && r == 0; level--) {
        p.count = 0;
        r = find_level(t, (uint8_t)level, &p) ? source_warm(s, p.items, p.count, SOURCE_DEMAND, NULL) : -ENOENT;
    }
}
