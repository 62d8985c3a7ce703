/* SPDX-License-Identifier: MIT */
#include "sync/tidy.h"

#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/content.h"
#include "index/cursor.h"
#include "index/reached.h"
#include "sync/inventory.h"

#include <errno.h>
#include <unistd.h>

/* --- the plan */

void tidy_plan_release(struct tidy_plan *p)
{
    free(p->avoid);
    *p = (struct tidy_plan){ 0 };
}

static int by_name(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct pack_name));
}

bool tidy_avoids(const struct tidy_plan *p, const struct pack_name *pack)
{
    return p && p->avoid_count && bsearch(pack, p->avoid, p->avoid_count, sizeof(*pack), by_name);
}

static void choose(const struct inventory *v, const struct reached_pack *packs, size_t count, struct tidy_plan *p)
{
    p->avoid = mem_new(count + 1, sizeof(*p->avoid));
    for (size_t i = 0; i < count; i++) {
        const struct inventory_pack *n = inventory_find_pack(v, &packs[i].name);
        bool thin = !packs[i].metadata && n && n->size >= TIDY_SIZE_MIN && packs[i].live < n->size / 4;
        p->thin_count += thin;
        if (thin || (packs[i].metadata && p->metadata))
            p->avoid[p->avoid_count++] = packs[i].name; /* sorted, as they come */
    }
}

int tidy_plan_make(struct store *s, const char *box, const struct snapshot *base, struct tree *tree,
                   struct source *source, struct tidy_plan *ret, struct error *e)
{
    _cleanup_(reached_freep) struct reached *reached = reached_new();
    _cleanup_(inventory_release) struct inventory v = { 0 };
    struct tidy_plan p = { .metadata = base->pack_count > TIDY_PACKS };
    int r = reached_add(reached, base, tree, source, e);
    if (r == 0)
        r = inventory_list_packs(&v, s, box, e);
    if (r < 0)
        return r;
    _cleanup_free_ struct reached_pack *packs = NULL;
    size_t count = 0;
    reached_list(reached, &packs, &count);
    choose(&v, packs, count, &p);
    *ret = p;
    return 0;
}

/* --- between walker and save */

struct tidy {
    struct tidy_config config;
    struct cursor *cursor;
};

struct tidy *tidy_new(const struct tidy_config *c)
{
    struct tidy *t = mem_new(1, sizeof(*t));
    t->config = *c;
    t->cursor = cursor_new(c->tree, (struct bytes){ 0 });
    return t;
}

void tidy_free(struct tidy *t)
{
    if (!t)
        return;
    cursor_free(t->cursor);
    free(t);
}

/* The extents of a list go into the entry. */
static int load_extents(struct tidy *t, struct entry *n, struct error *e)
{
    int r = n->list_count ? content_extents(n, t->config.source, &n->extents, &n->extent_count, e) : 0;
    if (r < 0)
        return r;
    free(mem_steal(n->list));
    n->list_count = 0;
    return 0;
}

static bool lies_thin(const struct tidy *t, const struct entry *n)
{
    for (size_t i = 0; i < n->extent_count; i++)
        if (tidy_avoids(t->config.plan, &n->extents[i].frame.pack))
            return true;
    return false;
}

static int pass_content(struct tidy *t, struct change *c, struct entry *n, struct error *e)
{
    _cleanup_(buf_release) struct buf path = { 0 };
    int r = key_to_path(c->key, &path);
    _cleanup_close_ int fd = r < 0 ? r : t->config.open(t->config.open_arg, buf_string(&path));
    if (fd < 0) {
        log_warn("%s cannot be read, and stays where it is in the store", buf_string(&path));
        return t->config.each(t->config.each_arg, c, e);
    }
    free(mem_steal(n->extents));
    n->extent_count = 0;
    c->content_known = false;
    c->fd = fd;
    return t->config.each(t->config.each_arg, c, e);
}

/* A file whose content is known. changed: for another reason, too. */
static int pass_file(struct tidy *t, const struct change *known, bool changed, struct error *e)
{
    struct entry n;
    struct change c = *known;
    entry_copy(known->entry, &n);
    c.entry = &n;
    int r = load_extents(t, &n, e);
    if (r == 0 && lies_thin(t, &n))
        r = pass_content(t, &c, &n, e);
    else if (r == 0 && (t->config.plan->metadata || changed))
        r = t->config.each(t->config.each_arg, t->config.plan->metadata ? &c : known, e);
    entry_release(&n);
    return r;
}

/* An entry of the base that the walker passes over. */
static int pass(struct tidy *t, struct bytes key, const struct entry *base, struct error *e)
{
    struct change c = { .kind = CHANGE_PUT, .key = key, .entry = base, .base = base, .content_known = true, .fd = -1 };
    if (base->type == ENTRY_FILE)
        return pass_file(t, &c, false, e);
    return t->config.plan->metadata ? t->config.each(t->config.each_arg, &c, e) : 0;
}

/* What the base has before key; end: all of it. */
static int advance(struct tidy *t, struct bytes key, bool end, struct error *e)
{
    for (;;) {
        struct bytes at;
        const struct entry *n;
        int r = cursor_peek(t->cursor, &at, &n, e);
        if (r <= 0 || (!end && bytes_compare(at, key) >= 0))
            return r < 0 ? r : 0;
        r = pass(t, at, n, e);
        if (r != 0)
            return r;
        cursor_next(t->cursor);
    }
}

int tidy_change(void *tidy, const struct change *c, struct error *e)
{
    struct tidy *t = tidy;
    struct bytes at;
    const struct entry *n;
    int r = advance(t, c->key, false, e);
    if (r == 0 && c->kind == CHANGE_DELETE_PREFIX)
        cursor_skip(t->cursor, c->key);
    else if (r == 0 && (r = cursor_peek(t->cursor, &at, &n, e)) > 0 && bytes_compare(at, c->key) == 0)
        cursor_next(t->cursor);
    if (r < 0)
        return r;
    if (c->kind == CHANGE_PUT && c->entry->type == ENTRY_FILE && c->content_known)
        return pass_file(t, c, true, e);
    return t->config.each(t->config.each_arg, c, e);
}

int tidy_finish(struct tidy *t, struct error *e)
{
    return advance(t, (struct bytes){ 0 }, true, e);
}
