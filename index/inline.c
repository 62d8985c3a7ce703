/* SPDX-License-Identifier: MIT */
#include "index/inline.h"

#include "index/base/mem.h"
#include "index/ways.h"

#include <errno.h>

/* Of a level that is carried whole: every commit sends it again, so no more than a small park may cost. */
#define LEVEL_PAGES WAYS_BEGIN_PAGES /* a reader asks for what does not fit of them, at once */
#define LEVEL_BYTES (96u * 1024)     /* of the ways to hard links, too */
#define TOO_MANY 1

struct chosen {
    struct snapshot_page *pages;
    size_t count, bytes;
};

static bool same_place(const struct locator *a, const struct locator *b)
{
    return a->offset == b->offset && pack_equal(&a->pack, &b->pack);
}

static const struct snapshot_page *find_page(const struct snapshot_page *pages, size_t count, const struct locator *l)
{
    for (size_t i = 0; i < count; i++)
        if (same_place(&pages[i].frame, l))
            return &pages[i];
    return NULL;
}

static int choose_page(struct source *source, struct chosen *c, const struct locator *l, struct error *e)
{
    if (find_page(c->pages, c->count, l) || c->count == SNAPSHOT_PAGES_MAX)
        return 0;
    _cleanup_(frame_dropp) struct frame *f = NULL;
    int r = source_get(source, l, FRAME_PAGE, &f, e);
    if (r < 0 || f->len > SNAPSHOT_INLINE_MAX - c->bytes)
        return r;
    c->pages = mem_grow(c->pages, c->count + 1, sizeof(*c->pages));
    struct snapshot_page *p = &c->pages[c->count++];
    *p = (struct snapshot_page){ .frame = *l };
    buf_add(&p->bytes, f->data, f->len);
    c->bytes += f->len;
    return 0;
}

/* The pages from the root to the one of the lowest level that holds, or would hold, key. */
static int choose_way(struct source *source, struct tree *t, struct bytes key, int lowest, struct chosen *c,
                      struct error *e)
{
    int r = 0;
    for (int level = tree_get_root(t)->depth; level >= lowest && r == 0; level--) {
        struct tree_spot spot;
        r = tree_spot_of(t, (uint8_t)level, key, &spot, e);
        if (r == 0)
            r = choose_page(source, c, &spot.ref.frame, e);
    }
    return r;
}

/* The way to the first own entry of dir; and the inner pages to the last, which say where all its leaves are, so that
 * those can be asked for at once (tree_warm). */
static int choose_directory(struct source *source, struct tree *t, const char *dir, struct chosen *c, struct error *e)
{
    _cleanup_(buf_release) struct buf own = { 0 }, below = { 0 };
    struct bytes path = { (const uint8_t *)dir, strlen(dir) };
    if (key_directory_prefix(path, &own) < 0 || key_subtree_prefix(path, &below) < 0)
        return error_say(e, ERROR_FAILED, -EINVAL, "no directory: %s", dir);
    buf_add(&below, "\2", 1); /* its subdirectories' entries come behind its own */
    int r = choose_way(source, t, buf_bytes(&own), 0, c, e);
    return r < 0 ? r : choose_way(source, t, buf_bytes(&below), 1, c, e);
}

/* The pages of an inner level, if they are few: ret_few. */
static int choose_level(struct source *source, struct tree *t, uint8_t level, struct chosen *c, bool *ret_few,
                        struct error *e)
{
    struct locator pages[LEVEL_PAGES];
    size_t count = 0, bytes = 0;
    int r = 0;
    *ret_few = false;
    for (uint64_t at = 0; r == 0 && at < tree_count(t);) {
        struct tree_spot spot;
        r = tree_spot_at(t, level, at, &spot, e);
        if (r < 0 || count == LEVEL_PAGES || (bytes += spot.ref.frame.raw) > LEVEL_BYTES)
            return r;
        pages[count++] = spot.ref.frame;
        at += spot.ref.count;
    }
    *ret_few = true;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = choose_page(source, c, &pages[i], e);
    return r;
}

/* Whole levels from the top: then only the leaf itself is missing of any way. */
static int choose_levels(struct source *source, struct tree *t, struct chosen *c, struct error *e)
{
    bool few = true;
    int r = 0;
    for (uint8_t level = tree_get_root(t)->depth; level > 0 && few && r == 0; level--)
        r = choose_level(source, t, level, c, &few, e);
    return r;
}

/* What is not carried yet of some ways, as long as it is little. */
struct lacking {
    const struct chosen *chosen;
    struct locator pages[SNAPSHOT_PAGES_MAX];
    size_t count, bytes;
};

static int find_lacking(void *arg, const struct locator *pages, size_t count, struct error *e)
{
    (void)e;
    struct lacking *l = arg;
    for (size_t i = 0; i < count; i++) {
        if (find_page(l->chosen->pages, l->chosen->count, &pages[i]))
            continue;
        l->bytes += pages[i].raw;
        if (l->chosen->count + l->count == SNAPSHOT_PAGES_MAX || l->bytes > LEVEL_BYTES)
            return TOO_MANY;
        l->pages[l->count++] = pages[i];
    }
    return 0;
}

/* All that is lacking, or nothing: a page that is still to be asked for costs as much as many. */
static int choose_links(struct source *source, struct tree *t, const struct link_group *groups, size_t group_count,
                        struct chosen *c, struct error *e)
{
    struct lacking l = { .chosen = c };
    int r = group_count ? ways_each(t, groups, group_count, 1, find_lacking, &l, e) : 0;
    for (size_t i = 0; r == 0 && i < l.count; i++)
        r = choose_page(source, c, &l.pages[i], e);
    return r == TOO_MANY ? 0 : r;
}

/* What only saves a reader requests, and is there without that. */
static int choose_more(struct source *source, struct tree *t, const struct link_group *groups, size_t group_count,
                       struct chosen *c, struct error *e)
{
    struct error why = { 0 };
    int r = choose_links(source, t, groups, group_count, c, &why);
    if (r == 0) /* what has no room there costs only who looks just there */
        r = choose_levels(source, t, c, &why);
    if (r == 0 || (why.kind != ERROR_STORE && why.kind != ERROR_INTERRUPTED))
        return 0;
    error_pass(e, &why);
    return r;
}

int inline_pages(struct source *source, const struct tree_root *root, const struct link_group *groups,
                 size_t group_count, struct snapshot_page **ret, size_t *ret_count, struct error *e)
{
    static const char *const directories[] = { "", "project", "home" };
    struct chosen c = { 0 };
    _cleanup_(tree_closep) struct tree *t = NULL;
    int r = tree_open(source, root, 0, &t, e);
    for (size_t i = 0; r == 0 && !root->empty && i < sizeof(directories) / sizeof(*directories); i++)
        r = choose_directory(source, t, directories[i], &c, e);
    if (r == 0 && !root->empty)
        r = choose_more(source, t, groups, group_count, &c, e);
    if (r < 0) {
        snapshot_pages_free(c.pages, c.count);
        return r;
    }
    *ret = c.pages;
    *ret_count = c.count;
    return 0;
}

struct snapshot_source {
    struct source source; /* first: the source is the snapshot_source */
    const struct snapshot *snapshot;
    struct source *below;
};

static const struct snapshot_page *find_inlined(const struct snapshot_source *s, const struct locator *l)
{
    return find_page(s->snapshot->pages, s->snapshot->page_count, l);
}

static int get(struct source *source, const struct locator *l, enum frame_kind kind, struct frame **ret,
               struct error *e)
{
    struct snapshot_source *s = (struct snapshot_source *)source;
    const struct snapshot_page *p = kind == FRAME_PAGE ? find_inlined(s, l) : NULL;
    if (!p)
        return source_get(s->below, l, kind, ret, e);
    struct frame *f = frame_new(p->bytes.len);
    memcpy(f->data, p->bytes.data, p->bytes.len);
    *ret = f;
    return 0;
}

static int warm(struct source *source, const struct locator *l, size_t count, enum source_urgency urgency,
                struct error *e)
{
    struct snapshot_source *s = (struct snapshot_source *)source;
    _cleanup_free_ struct locator *absent = mem_new(count, sizeof(*absent));
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (!find_inlined(s, &l[i]))
            absent[n++] = l[i];
    return n > 0 ? source_warm(s->below, absent, n, urgency, e) : 0;
}

static bool opens(struct source *source, const struct locator *l, enum frame_kind kind)
{
    struct snapshot_source *s = (struct snapshot_source *)source;
    return (kind == FRAME_PAGE && find_inlined(s, l)) || source_opens(s->below, l, kind);
}

int snapshot_source_new(const struct snapshot *s, struct source *below, struct snapshot_source **ret, struct error *e)
{
    struct snapshot_source *n = mem_new(1, sizeof(*n));
    n->source = (struct source){ .get = get, .warm = warm, .opens = opens };
    n->snapshot = s;
    n->below = below;
    *ret = n;
    return 0;
}

struct source *snapshot_source_get(struct snapshot_source *s)
{
    return &s->source;
}

void snapshot_source_free(struct snapshot_source *s)
{
    free(s);
}
