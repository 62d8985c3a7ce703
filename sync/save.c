/* SPDX-License-Identifier: MIT */
#include "sync/save.h"

#include "index/access.h"
#include "index/base/clock.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/content.h"
#include "index/grow.h"
#include "index/inline.h"
#include "index/links.h"
#include "index/linkset.h"
#include "index/stat-cache.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* So many changes may wait for the frames their content goes into. */
#define QUEUE_MAX 8192
#define CONTENT_TRIES 2

struct pending {
    struct pending *next;
    enum change_kind kind;
    struct buf key;
    struct entry entry;
    struct push_ticket *ticket; /* NULL: the entry is complete */
    struct change seen;         /* for the stat cache: of its pointers only entry is ours */
};

struct totals {
    int64_t files, directories, bytes;
};

struct save {
    struct save_config config;
    struct push *push;
    struct grow *grow;
    struct linkset *links;
    struct link_group *groups; /* of links, once all changes are known */
    size_t group_count;
    struct buf base_links; /* the encoded groups of the base, to see whether they changed */
    struct pending *first, **last;
    size_t queued;
    bool sent; /* content was read */
    struct totals totals;
};

static void pending_free(struct pending *p)
{
    buf_release(&p->key);
    entry_release(&p->entry);
    push_ticket_free(p->ticket);
    free(p);
}

void save_free(struct save *s)
{
    if (!s)
        return;
    while (s->first) {
        struct pending *p = s->first;
        s->first = p->next;
        pending_free(p);
    }
    grow_free(s->grow);
    push_free(s->push);
    linkset_free(s->links);
    links_free(s->groups, s->group_count);
    buf_release(&s->base_links);
    free(s);
}

void save_freep(struct save **s)
{
    save_free(*s);
}

static int emit_page(void *arg, struct bytes page, uint8_t level, struct locator *ret, struct error *e)
{
    (void)level;
    struct save *s = arg;
    return push_meta(s->push, FRAME_PAGE, page, ret, e);
}

static int load_base_links(struct save *s, struct error *e)
{
    const struct snapshot *base = s->config.base;
    if (!base || base->links.count == 0)
        return 0;
    int r =
        source_join(s->config.source, base->links.frames, base->links.count, FRAME_LINKS, LINKS_MAX, &s->base_links, e);
    if (r < 0)
        return r;
    struct link_group *groups = NULL;
    size_t count = 0;
    r = links_decode(buf_bytes(&s->base_links), &groups, &count, e);
    if (r < 0)
        return r;
    linkset_load(s->links, groups, count);
    links_free(groups, count);
    return 0;
}

int save_new(const struct save_config *c, struct save **ret, struct error *e)
{
    struct save *s = mem_new(1, sizeof(*s));
    s->config = *c;
    s->last = &s->first;
    s->links = linkset_new();
    if (c->base)
        s->totals = (struct totals){ (int64_t)c->base->files, (int64_t)c->base->directories, (int64_t)c->base->bytes };
    int r = push_new(&c->push, &s->push, e);
    if (r == 0)
        r = grow_new(c->all_metadata ? NULL : c->base_tree, &c->cut_key, emit_page, s, &s->grow, e);
    if (r == 0)
        r = load_base_links(s, e);
    if (r < 0) {
        save_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

/* sign: +1 an entry came, -1 one went. */
static void count(struct totals *t, const struct entry *n, int sign)
{
    if (n->type == ENTRY_DIRECTORY)
        t->directories += sign;
    else
        t->files += sign;
    if (n->type == ENTRY_FILE)
        t->bytes += sign * (int64_t)n->size;
}

/* Takes the base's entry out of the totals. same: one to compare with it, or NULL; 1 if they are equal: nothing was
 * taken out, and same has the base's content now. */
static int count_base_entry(struct save *s, struct bytes key, struct entry *same, struct error *e)
{
    if (!s->config.base_tree)
        return 0;
    _cleanup_(entry_release) struct entry old = { 0 };
    int r = tree_find(s->config.base_tree, key, NULL, &old, e);
    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return r;
    if (same && entry_same(same, &old)) {
        old.ctime_ns = same->ctime_ns; /* of the inode that was read */
        entry_release(same);
        entry_copy(&old, same);
        return 1;
    }
    count(&s->totals, &old, -1);
    return 0;
}

static int count_deleted(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    (void)position;
    (void)key;
    (void)e;
    struct save *s = arg;
    count(&s->totals, n, -1);
    return 0;
}

/* What was read, for the next walk. Where the base's record stays, that is it: of a tree that did not change nothing is
 * sent. */
static int remember(struct save *s, struct pending *p, struct bytes path, struct error *e)
{
    struct journal *j = s->config.push.journal;
    return j ? stat_cache_put(j, path, &p->seen, &p->entry, e) : 0;
}

/* 1: number is what the base has under this key; any other one may be another entry's by now (rule O9). */
static int is_of_base(struct save *s, struct bytes key, uint32_t number, struct error *e)
{
    struct entry base = { 0 };
    int r = s->config.base_tree ? tree_find(s->config.base_tree, key, NULL, &base, e) : -ENOENT;
    bool is = r == 0 && base.type != ENTRY_LINK && base.ino == number;
    entry_release(&base);
    return r == 0 || r == -ENOENT ? is : r;
}

/*
 * What is as the parent has it stays the parent's record, inode number and ctime included: the overlay shows another
 * number for a written file of the base's once the kernel has forgotten it, and that alone is no change.
 */
static int keep_parents(struct save *s, struct pending *p, struct error *e)
{
    struct entry old = { 0 };
    int r = tree_find(s->config.parent_tree, buf_bytes(&p->key), NULL, &old, e);
    bool same = r == 0 && entry_same(&old, &p->entry);
    int may = same && old.ino != p->entry.ino ? is_of_base(s, buf_bytes(&p->key), old.ino, e) : same;
    if (may < 0)
        r = may;
    if (may > 0) {
        struct entry replaced = p->entry;
        p->entry = old;
        old = replaced;
    }
    entry_release(&old);
    return r == -ENOENT ? 0 : r;
}

static int rely_on_extent(void *arg, const struct extent *x, struct error *e)
{
    (void)e;
    struct save *s = arg;
    push_rely(s->push, &x->frame.pack, false);
    return 0;
}

/*
 * Content that only the stat cache told of: what an earlier save sent is in no commit yet if that was cut off, and gone
 * if our hold was (P5).
 */
static int rely_on_content(struct save *s, const struct entry *n, struct error *e)
{
    struct error why = { 0 };
    bool ours = n->list_count == 0;
    for (size_t i = 0; i < n->list_count; i++)
        ours |= push_rely(s->push, &n->list[i].pack, true);
    int r = ours ? content_each(n, s->config.source, rely_on_extent, s, &why) : 0;
    if (r == 0 || r == -ENOENT) /* a list that is gone: so is its pack, which is told at the end */
        return 0;
    return error_pass(e, &why);
}

static int apply_put(struct save *s, struct pending *p, struct bytes path, struct error *e)
{
    /* What had to be read may turn out to be what the base has: then its record stays (a walk leaves out what it knows
     * to be equal), unless it is to lie elsewhere. */
    const struct tidy_plan *avoid = s->config.push.avoid;
    bool was_read = p->ticket != NULL, may_stay = was_read && !p->seen.other_inode && !(avoid && avoid->avoid_count);
    int r = was_read ? push_ticket_redeem(s->push, mem_steal(p->ticket), &p->entry, e)
                     : push_extents(s->push, &p->entry, e);
    if (r < 0)
        return r;
    int stays = count_base_entry(s, buf_bytes(&p->key), may_stay ? &p->entry : NULL, e);
    if (stays < 0)
        return stays;
    r = was_read ? remember(s, p, path, e) : 0;
    if (r < 0 || stays || s->config.content_only)
        return r;
    if (s->config.parent_tree && !p->seen.other_inode && !(avoid && avoid->avoid_count))
        r = keep_parents(s, p, e);
    if (r == 0 && !was_read && p->entry.type == ENTRY_FILE)
        r = rely_on_content(s, &p->entry, e);
    if (r < 0)
        return r;
    count(&s->totals, &p->entry, 1);
    if (p->entry.type == ENTRY_LINK)
        linkset_put(s->links, path, p->entry.target);
    else
        linkset_remove(s->links, path);
    return grow_put(s->grow, buf_bytes(&p->key), &p->entry, e);
}

static int apply(struct save *s, struct pending *p, struct error *e)
{
    _cleanup_(buf_release) struct buf path = { 0 };
    struct bytes key = buf_bytes(&p->key);
    int r = 0;
    if (p->kind != CHANGE_DELETE_PREFIX)
        r = key_to_path(key, &path);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "a walker's key");

    if (s->config.content_only && p->kind != CHANGE_PUT)
        return 0;
    switch (p->kind) {
    case CHANGE_PUT:
        return apply_put(s, p, buf_bytes(&path), e);
    case CHANGE_DELETE:
        linkset_remove(s->links, buf_bytes(&path));
        r = count_base_entry(s, key, NULL, e);
        return r < 0 ? r : grow_delete(s->grow, key, e);
    case CHANGE_DELETE_PREFIX:
        linkset_remove_below(s->links, key);
        r = s->config.base_tree ? tree_scan(s->config.base_tree, key, (struct bytes){ 0 }, count_deleted, s, e) : 0;
        return r < 0 ? r : grow_delete_prefix(s->grow, key, e);
    }
    return -EINVAL;
}

/* Applies what is ready, in order; all: waits for the rest too. */
static int drain(struct save *s, bool all, struct error *e)
{
    while (s->first && (all || s->queued > QUEUE_MAX || !s->first->ticket || push_ticket_ready(s->first->ticket))) {
        struct pending *p = s->first;
        if (p->ticket && !push_ticket_ready(p->ticket)) {
            int r = push_close_frames(s->push, e);
            if (r < 0)
                return r;
        }
        s->first = p->next;
        if (!s->first)
            s->last = &s->first;
        s->queued--;
        int r = apply(s, p, e);
        pending_free(p);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Rule V1: all else is saved, and this file is read again by the next walk. */
static int take_as_it_is(struct save *s, const struct change *c, struct pending *p, const char *path,
                         struct bytes directory, struct error *e)
{
    bool torn = false;
    p->seen.settled = false;
    int r = push_as_it_is(s->push, c->fd, &p->entry, directory, &p->ticket, &torn, e);
    if (r == 0 && torn)
        s->config.unsettled(s->config.unsettled_arg, path);
    return r;
}

/* If that cannot be read it is not needed: the file is sent. */
static void tell_base(struct save *s, const struct change *c)
{
    struct extent *x = NULL;
    size_t count = 0;
    if (c->base && c->base->type == ENTRY_FILE)
        content_extents(c->base, s->config.source, &x, &count, NULL);
    push_before(s->push, x, count);
}

static int begin_content(struct save *s, const struct change *c, struct pending *p, struct error *e)
{
    _cleanup_(buf_release) struct buf path = { 0 };
    struct error why = { 0 };
    int r = key_to_path(c->key, &path);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "a walker's key");
    const uint8_t *slash = memrchr(path.data, '/', path.len);
    struct bytes directory = { path.data, slash ? (size_t)(slash - path.data) : 0 };
    tell_base(s, c);
    for (int i = 0; i < CONTENT_TRIES; i++) { /* what is written to now and then (rule V1) */
        r = push_content(s->push, c->fd, c->entry, directory, &p->ticket, &why);
        if (r != -EAGAIN)
            break;
    }
    if (r == -EAGAIN && s->config.unsettled) {
        why = (struct error){ 0 };
        r = take_as_it_is(s, c, p, buf_string(&path), directory, &why);
    }
    if (r < 0)
        error_pass(e, &why);
    return r < 0 ? error_prefix(e, "%s", buf_string(&path)), r : 0;
}

int save_change(void *save, const struct change *c, struct error *e)
{
    struct save *s = save;
    struct pending *p = mem_new(1, sizeof(*p));
    p->kind = c->kind;
    p->seen = *c;
    buf_add(&p->key, c->key.data, c->key.len);
    if (c->kind == CHANGE_PUT) {
        entry_copy(c->entry, &p->entry);
        p->seen.entry = &p->entry; /* the walker's own is gone when the ticket is redeemed */
        if (c->entry->type == ENTRY_FILE && !c->content_known) {
            int r = begin_content(s, c, p, e);
            s->sent |= r == 0;
            if (r < 0) {
                pending_free(p);
                return r == -EAGAIN && s->config.content_only ? 0 : r; /* it is for the walk that counts */
            }
        }
    }
    *s->last = p;
    s->last = &p->next;
    s->queued++;
    return drain(s, false, e);
}

/* A string of bytes as frames. */
static int put_frames(struct save *s, enum frame_kind kind, struct bytes raw, struct snapshot_frames *ret,
                      struct error *e)
{
    ret->frames = mem_new(raw.len / FRAME_RAW_MAX + 1, sizeof(*ret->frames));
    for (size_t at = 0; at < raw.len; at += FRAME_RAW_MAX) {
        size_t n = raw.len - at < FRAME_RAW_MAX ? raw.len - at : FRAME_RAW_MAX;
        int r = push_meta(s->push, kind, (struct bytes){ raw.data + at, n }, &ret->frames[ret->count], e);
        if (r < 0)
            return r;
        ret->count++;
    }
    return 0;
}

static void copy_frames(const struct snapshot_frames *from, struct snapshot_frames *to)
{
    to->frames = mem_copy(from->frames, from->count * sizeof(*from->frames));
    to->count = from->count;
}

/* Too many names, of a package manager's store most often. */
static int refuse_links(const struct save *s, size_t bytes, struct error *e)
{
    const char *box = s->config.push.seal.box;
    char takes[16], limit[16];
    size_t names = 0;
    for (size_t i = 0; i < s->group_count; i++)
        names += s->groups[i].count;
    text_size(takes, bytes);
    text_size(limit, LINKS_MAX);
    _cleanup_(buf_release) struct buf where = { 0 }, shown = { 0 };
    links_where(s->groups, s->group_count, &where);
    text_escape(&shown, where.data, where.len);
    error_say(e, ERROR_FAILED, -E2BIG,
              "box %s has %s of files that have several (hard links), and their paths take %s: more than the %s that a "
              "snapshot has room for. Most lie in %s",
              box, TEXT_COUNT(names, "name"), takes, limit, shown.len ? buf_string(&shown) : "no one directory");
    if (!s->config.base)
        return error_hint(e, "have copies made there instead (pnpm: package-import-method=copy), or remove them");
    return error_hint(e,
                      "have copies made there instead (pnpm: package-import-method=copy), or leave out every directory "
                      "that has names of them: ag-box set %s exclude+=RULE",
                      box);
}

static int put_links(struct save *s, struct snapshot *n, struct error *e)
{
    linkset_groups(s->links, &s->groups, &s->group_count);
    _cleanup_(buf_release) struct buf raw = { 0 };
    if (s->group_count)
        links_encode(s->groups, s->group_count, &raw);
    if (raw.len > LINKS_MAX)
        return refuse_links(s, raw.len, e);
    if (raw.len && !s->config.all_metadata && bytes_compare(buf_bytes(&raw), buf_bytes(&s->base_links)) == 0) {
        copy_frames(&s->config.base->links, &n->links);
        return 0;
    }
    return put_frames(s, FRAME_LINKS, buf_bytes(&raw), &n->links, e);
}

static int put_access(struct save *s, struct bytes access, struct snapshot *n, struct error *e)
{
    const struct snapshot *base = s->config.base;
    _cleanup_(buf_release) struct buf old = { 0 };
    if (access.len)
        return put_frames(s, FRAME_ACCESS, access, &n->access, e);
    if (!base || !base->access.count)
        return 0;
    if (!s->config.all_metadata) {
        copy_frames(&base->access, &n->access);
        return 0;
    }
    int r = source_join(s->config.source, base->access.frames, base->access.count, FRAME_ACCESS, ACCESS_MAX, &old, e);
    return r < 0 ? r : put_frames(s, FRAME_ACCESS, buf_bytes(&old), &n->access, e);
}

static bool root_equal(const struct tree_root *a, const struct tree_root *b)
{
    if (a->empty || b->empty)
        return a->empty == b->empty;
    const struct locator *x = &a->page.frame, *y = &b->page.frame;
    return a->depth == b->depth && pack_equal(&x->pack, &y->pack) && x->offset == y->offset;
}

/* The metadata packs of the new tree: this run's, then the base's, newest first. */
static void list_packs(const struct save *s, struct snapshot_pack *packs, size_t pack_count, struct snapshot *n)
{
    const struct snapshot *base = s->config.base;
    size_t base_count = base && !s->config.all_metadata ? base->pack_count : 0;
    n->packs = mem_grow(packs, pack_count + base_count + 1, sizeof(*packs));
    n->pack_count = pack_count < SNAPSHOT_PACKS_MAX ? pack_count : SNAPSHOT_PACKS_MAX;
    for (size_t i = 0; i < base_count && n->pack_count < SNAPSHOT_PACKS_MAX; i++)
        n->packs[n->pack_count++] = base->packs[i];
}

static void describe(const struct save *s, const struct save_end *end, struct snapshot *n)
{
    const struct save_config *c = &s->config;
    snapshots_new_id(&n->id);
    if (c->parent)
        n->parent = c->parent->id;
    memcpy(n->incarnation, c->incarnation, sizeof(n->incarnation));
    snprintf(n->box, sizeof(n->box), "%s", c->push.seal.box);
    snprintf(n->node, sizeof(n->node), "%s", c->node);
    n->epoch = c->epoch;
    n->time_ns = clock_wall_ns();
    n->files = (uint64_t)s->totals.files;
    n->directories = (uint64_t)s->totals.directories;
    n->bytes = (uint64_t)s->totals.bytes;
    n->skipped_sockets = end->sockets;
    n->one_instant = end->one_instant;
    n->meta = mem_strdup(end->meta_then ? end->meta_then : end->meta);
}

/* A commit would make it the line: what no reader takes never gets so far. */
static int check_readable(struct bytes sealed, const struct seal_context *c, const struct snapshot *n, struct error *e)
{
    struct snapshot again = { 0 };
    int r = snapshots_open(sealed, c, &n->id, &again, e);
    snapshot_release(&again);
    return r;
}

static int put_snapshot(struct save *s, struct snapshot *n, struct error *e)
{
    int r = inline_pages(s->config.source, &n->root, s->groups, s->group_count, &n->pages, &n->page_count, e);
    if (r < 0)
        return r;
    char key[STORE_KEY_MAX];
    _cleanup_(buf_release) struct buf sealed = { 0 };
    snapshots_seal(n, &s->config.push.seal, &sealed);
    snapshots_key(n->box, &n->id, key);
    r = check_readable(buf_bytes(&sealed), &s->config.push.seal, n, e);
    return r < 0 ? r : store_put(s->config.push.store, key, buf_bytes(&sealed), STORE_ALWAYS, NULL, NULL, e);
}

static int finish(struct save *s, const struct save_end *end, struct snapshot *n, bool *changed,
                  struct push_stats *stats, struct error *e)
{
    int r = drain(s, true, e);
    if (r == 0)
        r = grow_finish(s->grow, &n->root, e);
    if (r < 0)
        return r;

    const struct snapshot *parent = s->config.parent;
    if (parent && root_equal(&n->root, &parent->root) && strcmp(parent->meta, end->meta) == 0) {
        n->id = parent->id;
        *changed = false;
        return 0;
    }
    *changed = true;
    describe(s, end, n);
    r = put_links(s, n, e);
    if (r == 0)
        r = put_access(s, end->access, n, e);
    if (r < 0)
        return r;

    struct snapshot_pack *packs = NULL;
    size_t pack_count = 0;
    r = push_finish(s->push, &packs, &pack_count, stats, e);
    if (r < 0)
        return r;
    list_packs(s, packs, pack_count, n);
    return put_snapshot(s, n, e);
}

int save_content_end(struct save *s, struct push_stats *ret_stats, struct error *e)
{
    struct snapshot_pack *packs = NULL;
    size_t pack_count = 0;
    struct push_stats stats = { 0 };
    int r = drain(s, true, e);
    if (r == 0 && s->sent)
        r = push_finish(s->push, &packs, &pack_count, &stats, e);
    free(packs);
    if (r < 0)
        return error_prefix(e, "send what %s has new", s->config.push.seal.box), r;
    *ret_stats = stats;
    return 0;
}

int save_finish(struct save *s, const struct save_end *end, struct snapshot *ret, bool *ret_changed,
                struct push_stats *ret_stats, struct error *e)
{
    struct snapshot n = { 0 };
    struct push_stats stats = { 0 };
    bool changed = false;
    int r = finish(s, end, &n, &changed, &stats, e);
    if (r < 0) {
        snapshot_release(&n);
        return error_prefix(e, "save a snapshot of %s", s->config.push.seal.box), r;
    }
    *ret = n;
    *ret_changed = changed;
    *ret_stats = stats;
    return 0;
}
