/* SPDX-License-Identifier: MIT */
#include "index/grow.h"

#include "index/base/mem.h"

#include <errno.h>

/*
 * Every level of pages runs the same way. Changes to its items come in rising order; the base's pages of that level are
 * read where a change falls and from there on until a new page ends where a base page ends: from that point the base's
 * pages are right as they are. What happened to pages is in turn a rising stream of changes to the level above, whose
 * items they are, keyed by their last key.
 */
struct level {
    uint8_t level;
    struct page_builder page; /* being written */
    struct page_ref first;    /* its first child (level > 0) */
    bool pristine;            /* it holds what the open base page has up to the cursor, and nothing else */

    uint64_t count;            /* entries of the base; 0: no page of this level */
    uint64_t next;             /* entries of the base that lie before what was not looked at yet */
    struct page *base;         /* the open base page */
    bool base_stays;           /* its items came out as the same page again */
    struct tree_spot spot;     /* of it */
    struct page_cursor cursor; /* its next item */
    bool kept;                 /* some base pages stay */

    struct buf
        gone; /* last keys of base pages that are no more, behind the newest item; the level above is not told yet */
    struct buf newest_key;
    struct page_ref newest, newest_first; /* the page told last, and its first child */
    uint32_t newest_count;
    uint64_t emitted; /* pages told to the level above */
};

struct grow {
    struct tree *base;
    struct hash_key cut_key;
    grow_emit emit;
    void *arg;
    struct level *levels[TREE_DEPTH_MAX + 1];
    struct buf change; /* key of the newest change */
    bool changed;      /* there was one */
    bool dropping;     /* base entries that start with prefix are left out */
    struct buf prefix, scratch;
};

/* An entry of level 0, a page of the level below, or (both NULL) nothing: the item goes. */
struct item {
    const struct entry *entry;
    const struct page_ref *child;
};

static int change_level(struct grow *g, unsigned level, struct bytes key, struct item item, struct error *e);

int grow_new(struct tree *base, const struct hash_key *cut_key, grow_emit emit, void *arg, struct grow **ret,
             struct error *e)
{
    struct grow *g = mem_new(1, sizeof(*g));
    g->base = base && tree_count(base) > 0 ? base : NULL;
    g->cut_key = *cut_key;
    g->emit = emit;
    g->arg = arg;
    *ret = g;
    return 0;
}

void grow_free(struct grow *g)
{
    if (!g)
        return;
    for (unsigned i = 0; i <= TREE_DEPTH_MAX; i++) {
        struct level *l = g->levels[i];
        if (!l)
            continue;
        page_builder_release(&l->page);
        page_drop(l->base);
        buf_release(&l->gone);
        buf_release(&l->newest_key);
        free(l);
    }
    buf_release(&g->change);
    buf_release(&g->prefix);
    buf_release(&g->scratch);
    free(g);
}

static struct level *get_level(struct grow *g, unsigned level)
{
    if (!g->levels[level]) {
        struct level *l = mem_new(1, sizeof(*l));
        l->level = l->page.level = (uint8_t)level;
        if (g->base && level <= tree_get_root(g->base)->depth)
            l->count = tree_count(g->base);
        g->levels[level] = l;
    }
    return g->levels[level];
}

static bool dropped(const struct grow *g, const struct level *l, struct bytes key)
{
    return l->level == 0 && g->dropping && key_starts_with(key, buf_bytes(&g->prefix));
}

static void set(struct buf *b, struct bytes to)
{
    buf_clear(b);
    buf_add(b, to.data, to.len);
}

/* Gives the page being written away. It is read back first: what could not be read later must not become a snapshot. */
static int emit_page(struct grow *g, struct level *l, struct locator *ret, struct error *e)
{
    buf_clear(&g->scratch);
    page_builder_put(&l->page, &g->scratch);
    _cleanup_(frame_dropp) struct frame *f = frame_new(g->scratch.len);
    memcpy(f->data, g->scratch.data, g->scratch.len);
    _cleanup_(page_dropp) struct page *p = NULL;
    int r = page_decode(f, &p, e);
    if (r < 0) {
        error_prefix(e, "a page that was just written");
        return r;
    }
    return g->emit(g->arg, buf_bytes(&g->scratch), l->level, ret, e);
}

/* The page being written is complete. */
static int end_page(struct grow *g, struct level *l, struct error *e)
{
    bool same = l->pristine && page_at_end(&l->cursor);
    l->pristine = false;
    if (same && !l->spot.root) {
        l->base_stays = l->kept = true;
        page_builder_clear(&l->page);
        return 0;
    }

    /* The base's root is no item of a page: even if it stays, the level above learns of it here. */
    struct page_ref ref = { .frame = l->spot.ref.frame, .count = l->page.total };
    int r = same ? 0 : emit_page(g, l, &ref.frame, e);
    if (r < 0)
        return r;
    set(&l->newest_key, buf_bytes(&l->page.last));
    l->newest = ref;
    l->newest_first = l->first;
    l->newest_count = l->page.count;
    l->emitted++;
    page_builder_clear(&l->page);
    return change_level(g, l->level + 1u, buf_bytes(&l->newest_key), (struct item){ .child = &ref }, e);
}

static int tell_gone(struct grow *g, struct level *l, struct error *e)
{
    int r = 0;
    struct wire w = wire_reader(l->gone.data, l->gone.len);
    while (w.at < w.end && r == 0) {
        struct bytes key = wire_string(&w, KEY_LEN_MAX);
        /* A page that ends there again has replaced it. */
        if (l->emitted == 0 || bytes_compare(key, buf_bytes(&l->newest_key)) != 0)
            r = change_level(g, l->level + 1u, key, (struct item){ 0 }, e);
    }
    buf_clear(&l->gone);
    return r;
}

static int add_item(struct grow *g, struct level *l, struct bytes key, struct item item, struct error *e)
{
    int r = tell_gone(g, l, e);
    if (r < 0)
        return r;
    if (item.child && l->page.count == 0)
        l->first = *item.child;
    if (item.child)
        page_builder_child(&l->page, key, item.child);
    else
        page_builder_entry(&l->page, key, item.entry);
    if (page_cut(&g->cut_key, l->level, key) || page_builder_full(&l->page))
        return end_page(g, l, e);
    return 0;
}

/* Takes the base's next item over into the page being written. */
static int take_item(struct grow *g, struct level *l, struct error *e)
{
    _cleanup_(entry_release) struct entry n = { 0 };
    uint8_t key[KEY_LEN_MAX];
    struct bytes k = { key, l->cursor.key_len };
    memcpy(key, l->cursor.key, l->cursor.key_len);
    uint32_t index = l->cursor.index;
    page_next(&l->cursor);

    if (l->level == 0) {
        page_entry(l->base, index, &n);
        return add_item(g, l, k, (struct item){ .entry = &n }, e);
    }
    struct page_ref child = page_child(l->base, index);
    return add_item(g, l, k, (struct item){ .child = &child }, e);
}

static void skip_item(struct level *l)
{
    l->pristine = false;
    page_next(&l->cursor);
}

/* The base page at spot ends here; what came out of it may be anything. */
static void leave_spot(struct grow *g, struct level *l, struct bytes last)
{
    if (!l->base_stays && (l->emitted == 0 || bytes_compare(last, buf_bytes(&l->newest_key)) != 0))
        wire_put_string(&l->gone, last.data, last.len);
    l->next = l->spot.start + l->spot.ref.count;
    if (l->level == 0 && !dropped(g, l, last) && bytes_compare(last, buf_bytes(&g->prefix)) > 0)
        g->dropping = false;
    l->base_stays = false;
}

static void close_base(struct grow *g, struct level *l)
{
    leave_spot(g, l, page_last_key(l->base));
    page_drop(mem_steal(l->base));
    l->pristine = false;
}

/* Opens the base page at l->spot, unless all of it goes anyway; key: where the next change is, NULL: nowhere. */
static int open_base(struct grow *g, struct level *l, const struct bytes *key, struct error *e)
{
    struct bytes after = { l->spot.after, l->spot.after_len }, last = { l->spot.last, l->spot.last_len };
    if (!l->spot.root && dropped(g, l, after) && dropped(g, l, last) && (!key || bytes_compare(last, *key) < 0)) {
        leave_spot(g, l, last);
        return 0;
    }
    int r = tree_spot_load(g->base, &l->spot, &l->base, e);
    if (r < 0)
        return r;
    page_first(l->base, &l->cursor);
    l->pristine = l->page.count == 0;
    return 0;
}

/* Goes on to the next base page that concerns us: the one of key when everything before it is right as it is. */
static int next_base(struct grow *g, struct level *l, const struct bytes *key, struct error *e)
{
    bool aligned = l->page.count == 0 && !(l->level == 0 && g->dropping);
    if (aligned && !key) {
        l->kept = true;
        l->next = l->count;
        return 0;
    }
    int r = aligned ? tree_spot_of(g->base, l->level, *key, &l->spot, e)
                    : tree_spot_at(g->base, l->level, l->next, &l->spot, e);
    if (r < 0)
        return r;
    if (l->spot.start > l->next)
        l->kept = true;
    return open_base(g, l, key, e);
}

/* Takes over or skips the base's items before key (NULL: all). Leaves the page open that holds key or would hold it. */
static int go_to(struct grow *g, struct level *l, const struct bytes *key, struct error *e)
{
    int r = 0;
    while (r == 0) {
        while (l->base && !page_at_end(&l->cursor) && r == 0) {
            struct bytes k = page_key(&l->cursor);
            if (key && bytes_compare(k, *key) >= 0)
                return 0;
            if (dropped(g, l, k))
                skip_item(l);
            else
                r = take_item(g, l, e);
        }
        if (r < 0)
            return r;
        bool last = l->base && l->spot.start + l->spot.ref.count == l->count;
        if (last && key)
            return 0; /* what comes behind all others belongs to the last page */
        if (last && l->pristine && l->page.count > 0)
            r = end_page(g, l, e);
        if (l->base)
            close_base(g, l);
        if (l->next >= l->count)
            return r;
        if (r == 0)
            r = next_base(g, l, key, e);
    }
    return r;
}

static bool equal_item(struct grow *g, struct level *l, struct item item)
{
    if (item.child) {
        struct page_ref child = page_child(l->base, l->cursor.index);
        return memcmp(&child.frame, &item.child->frame, sizeof(child.frame)) == 0 && child.count == item.child->count;
    }
    _cleanup_(entry_release) struct entry n = { 0 };
    _cleanup_(buf_release) struct buf a = { 0 }, b = { 0 };
    page_entry(l->base, l->cursor.index, &n);
    entry_pack(&n, &a);
    entry_pack(item.entry, &b);
    return bytes_compare(buf_bytes(&a), buf_bytes(&b)) == 0;
}

static int change_level(struct grow *g, unsigned level, struct bytes key, struct item item, struct error *e)
{
    if (level > TREE_DEPTH_MAX)
        return error_say(e, ERROR_FAILED, -EFBIG, "the tree would be too deep");
    struct level *l = get_level(g, level);
    int r = go_to(g, l, &key, e);
    if (r < 0)
        return r;

    bool behind = l->base && page_at_end(&l->cursor); /* the last page's last */
    bool there = l->base && !behind && bytes_compare(page_key(&l->cursor), key) == 0;
    if (there && (item.entry || item.child) && equal_item(g, l, item))
        return take_item(g, l, e);
    if (there)
        skip_item(l);
    if (!item.entry && !item.child)
        return 0;
    if (behind)
        close_base(g, l); /* that it goes must be told before what comes behind it */
    l->pristine = false;
    return add_item(g, l, key, item, e);
}

/* Changes must rise: the whole way through a level is one way. */
static int accept_change(struct grow *g, struct bytes key, struct error *e)
{
    if (g->changed && bytes_compare(key, buf_bytes(&g->change)) <= 0)
        return error_say(e, ERROR_FAILED, -EINVAL, "changes to the tree do not rise");
    g->changed = true;
    set(&g->change, key);
    return 0;
}

int grow_put(struct grow *g, struct bytes key, const struct entry *n, struct error *e)
{
    if (entry_size_bound(n) > ENTRY_RECORD_MAX)
        return error_say(e, ERROR_FAILED, -E2BIG, "the file's attributes are too large to be stored");
    if (!key_valid(key))
        return error_say(e, ERROR_FAILED, -EINVAL, "the entry's key is not one");
    int r = accept_change(g, key, e);
    if (r < 0)
        return r;
    return change_level(g, 0, key, (struct item){ .entry = n }, e);
}

int grow_delete(struct grow *g, struct bytes key, struct error *e)
{
    int r = accept_change(g, key, e);
    if (r < 0 || !g->base)
        return r;
    return change_level(g, 0, key, (struct item){ 0 }, e);
}

int grow_delete_prefix(struct grow *g, struct bytes prefix, struct error *e)
{
    int r = accept_change(g, prefix, e);
    if (r < 0 || !g->base || (g->dropping && key_starts_with(prefix, buf_bytes(&g->prefix))))
        return r;
    r = go_to(g, get_level(g, 0), &prefix, e);
    if (r < 0)
        return r;
    g->dropping = true;
    set(&g->prefix, prefix);
    return 0;
}

/* While the root has one child only, that child is the root: so a tree's depth does not depend on its history. */
static int settle_root(struct grow *g, struct page_ref ref, uint8_t level, struct tree_root *ret, struct error *e)
{
    while (level > 0) {
        const struct level *l = g->levels[level];
        if (l && l->emitted > 0 && memcmp(&l->newest.frame, &ref.frame, sizeof(ref.frame)) == 0) {
            if (l->newest_count > 1)
                break;
            ref = l->newest_first;
        } else {
            const struct tree_spot spot = { .ref = ref, .level = level, .root = true };
            _cleanup_(page_dropp) struct page *p = NULL;
            int r = tree_spot_load(g->base, &spot, &p, e);
            if (r < 0)
                return r;
            if (p->count > 1)
                break;
            ref = page_child(p, 0);
        }
        level--;
    }
    *ret = (struct tree_root){ .page = ref, .depth = level };
    return 0;
}

int grow_finish(struct grow *g, struct tree_root *ret, struct error *e)
{
    for (uint8_t i = 0; i <= TREE_DEPTH_MAX && g->levels[i]; i++) {
        struct level *l = g->levels[i];
        int r = go_to(g, l, NULL, e);
        if (r < 0)
            return r;
        if (i > 0 && l->page.count == 1 && l->emitted == 0 && !l->kept)
            return settle_root(g, l->first, (uint8_t)(i - 1), ret, e);
        if (l->page.count > 0)
            r = end_page(g, l, e);
        if (r == 0)
            r = tell_gone(g, l, e);
        if (r < 0)
            return r;
        if (!l->kept && l->emitted == 0) {
            *ret = (struct tree_root){ .empty = true };
            return 0;
        }
        if (!l->kept && l->emitted == 1)
            return settle_root(g, l->newest, i, ret, e);
    }
    *ret = g->base ? *tree_get_root(g->base) : (struct tree_root){ .empty = true };
    return 0;
}
