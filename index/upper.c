/* SPDX-License-Identifier: MIT */
#include "index/upper.h"

#include "index/base/clock.h"
#include "index/base/mem.h"
#include "index/compare.h"
#include "index/lookup.h"
#include "index/names.h"
#include "index/stat-cache.h"
#include "index/upper-entry.h"
#include "index/upper-moved.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* What goes out to the caller, last of all. */
struct delivery {
    struct upper_view *view;
    change_each each;
    void *arg;
};

static int deliver(void *arg, const struct change *c, struct error *e)
{
    struct delivery *d = arg;
    struct walk_stats *s = &d->view->stats;
    if (c->kind == CHANGE_PUT) {
        *(c->entry->type == ENTRY_DIRECTORY ? &s->directories : &s->files) += 1;
        s->bytes += c->entry->type == ENTRY_FILE ? c->entry->size : 0;
    }
    int r = d->each(d->arg, c, e);
    d->view->stopped |= r < 0;
    return r;
}

/* A directory that stands where the base has it. */
struct standing {
    int upper;
    const char *path;
    bool passage;
    struct upper_merged merged;
    struct upper_belows belows;
};

static int make_key(struct upper_view *v, struct error *e)
{
    int r = key_from_path(buf_bytes(&v->path), &v->key);
    return r < 0 ? error_set(e, ERROR_FAILED, r, "make a key of %s", buf_string(&v->path)) : 0;
}

static int delete_entry(struct upper_view *v, struct error *e)
{
    int r = make_key(v, e);
    struct change c = { .kind = CHANGE_DELETE, .key = buf_bytes(&v->key), .fd = -1 };
    return r < 0 ? r : withdrawn_change(v->out, &c, e);
}

static int delete_subtree(struct upper_view *v, struct error *e)
{
    int r = key_subtree_prefix(buf_bytes(&v->path), &v->key);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "make a key of %s", buf_string(&v->path));
    struct change c = { .kind = CHANGE_DELETE_PREFIX, .key = buf_bytes(&v->key), .fd = -1 };
    return withdrawn_change(v->out, &c, e);
}

/* raw: what the base has there, NULL nothing. */
static int put_if_changed(struct upper_view *v, struct standing *s, const struct upper_place *p, struct upper_found *f,
                          const struct entry *raw, struct error *e)
{
    struct change c = upper_entry_change(v, p, f);
    if (raw && compare_same(raw, &c))
        return 0;
    int merged = -1;
    int r = upper_merged_open(v, &s->merged, &merged, e);
    if (r == 0)
        r = upper_entry_number(v, p, merged, raw, f, e);
    if (r == 0)
        r = make_key(v, e);
    if (r < 0)
        return r;
    c = upper_entry_change(v, p, f);
    c.key = buf_bytes(&v->key);
    return compare_put(v->config->base, raw, &c, withdrawn_change, v->out, e);
}

static int compare_name(struct upper_view *v, struct standing *s, const struct upper_place *p, struct upper_found *f,
                        struct error *e)
{
    const char *path = (const char *)p->path.data;
    _cleanup_(entry_release) struct entry raw = { 0 };
    int had = lookup_path(v->config->base, path, &raw, e);
    if (had < 0)
        return had;
    int r = 0;
    if (!f->nothing)
        r = put_if_changed(v, s, p, f, had ? &raw : NULL, e);
    else if (had)
        r = delete_entry(v, e);
    if (r < 0)
        return r;

    struct upper_below b = { .in_upper = true, .passage = f->passage };
    if (!f->nothing && f->entry.type == ENTRY_DIRECTORY) {
        b.in_place = f->lower && strcmp(f->lower, path) == 0;
        b.lower = mem_steal(f->lower);
    } else if (had && raw.type == ENTRY_DIRECTORY) {
        b.gone = true;
    } else {
        return 0;
    }
    b.name = mem_strdup(p->name);
    upper_belows_add(&s->belows, b);
    return 0;
}

static int look_at(struct upper_view *v, struct standing *s, const char *name, struct error *e)
{
    ssize_t up = reach_down(&v->path, name, e);
    if (up < 0)
        return (int)up;
    struct bytes path = { (const uint8_t *)buf_string(&v->path), v->path.len };
    struct upper_place p = { s->upper, name, path, s->path, s->passage };
    int r = -ENOENT;
    for (int i = 0; i < REACH_TRIES; i++) {
        struct upper_found f = { .fd = -1 };
        r = upper_entry(v, &p, &f, e);
        if (r == 0)
            r = compare_name(v, s, &p, &f, e);
        upper_found_release(&f);
        if (r == 0 || !upper_passed_over(v, r, e))
            break;
    }
    if (r < 0 && upper_passed_over(v, r, e))
        r = 0;
    if (r < 0)
        error_prefix(e, "%s", buf_string(&v->path));
    reach_up(&v->path, up);
    return r;
}

static int walk_standing(struct upper_view *v, int upper, unsigned depth, bool passage, struct error *e);

static int go_down(struct upper_view *v, int upper, unsigned depth, const struct upper_below *b, struct error *e)
{
    ssize_t up = reach_down(&v->path, b->name, e);
    if (up < 0)
        return (int)up;
    int r = 0;
    if (b->gone) {
        r = delete_subtree(v, e);
    } else {
        int fd = reach_directory(&v->upper, upper, buf_string(&v->path), b->name);
        if (fd >= 0)
            r = b->in_place ? walk_standing(v, fd, depth + 1, b->passage, e) : upper_moved(v, fd, depth + 1, b, e);
        else if (!(v->config->live && reach_vanished(fd)))
            r = error_set(e, ERROR_FAILED, fd, "open %s", buf_string(&v->path));
    }
    reach_up(&v->path, up);
    return r;
}

static int own_entries(struct upper_view *v, struct standing *s, struct error *e)
{
    _cleanup_(names_release) struct names l = { 0 };
    int r = names_read(s->upper, &l, e);
    if (r < 0 && upper_passed_over(v, r, e))
        return 0; /* the directory itself is gone */
    for (size_t i = 0; r == 0 && i < l.count; i++)
        r = look_at(v, s, names_get(&l, i), e);
    return r;
}

/* The directory v->path. Takes upper. */
static int walk_standing(struct upper_view *v, int upper, unsigned depth, bool passage, struct error *e)
{
    _cleanup_close_ int dir = upper;
    _cleanup_free_ char *path = mem_strdup(buf_string(&v->path));
    struct standing s = { .upper = dir, .path = path, .passage = passage, .merged = { .path = path, .fd = -1 } };
    int r = own_entries(v, &s, e);
    if (s.merged.fd >= 0)
        close(s.merged.fd);
    if (depth > REACH_OPEN_MAX)
        close(mem_steal_fd(&dir));
    for (size_t i = 0; r == 0 && i < s.belows.count; i++)
        r = go_down(v, dir, depth, &s.belows.items[i], e);
    upper_belows_release(&s.belows);
    return r;
}

static int find_excluded(struct upper_view *v, struct error *e)
{
    const char *const names[] = { "home", "project" };
    struct reach_root roots[2];
    size_t count = 0;
    int r = 0;
    for (size_t i = 0; i < 2 && r == 0; i++) {
        int fd = reach_directory(&v->upper, v->upper.fd, names[i], names[i]);
        if (fd >= 0)
            roots[count++] = (struct reach_root){ names[i], fd };
        else if (!reach_vanished(fd))
            r = error_set(e, ERROR_FAILED, fd, "open %s in the upper layer", names[i]);
    }
    if (r == 0)
        r = excluded_new(v->config->rules, roots, count, v->config->live, &v->excluded, e);
    while (count > 0)
        close(roots[--count].fd);
    return r;
}

static int tell_withdrawn(void *arg, const char *path, bool directory, struct error *e)
{
    struct upper_view *v = arg;
    v->stats.excluded++;
    return v->config->excluded ? v->config->excluded(v->config->excluded_arg, path, directory, e) : 0;
}

static int run(struct upper_view *v, struct error *e)
{
    const struct upper_config *c = v->config;
    if (c->journal && syncfs(c->upper) < 0)
        return error_set(e, ERROR_FAILED, -errno, "sync the upper layer");
    int r = find_excluded(v, e);
    if (r == 0 && c->rules_changed)
        r = withdrawn_collect(v->out, c->base, c->upper, v->excluded, tell_withdrawn, v, e);
    if (r < 0)
        return r;
    int fd = reach_directory(&v->upper, -1, "", "");
    if (fd < 0)
        return error_set(e, ERROR_FAILED, fd, "open the upper layer");
    r = walk_standing(v, fd, 0, false, e);
    return r < 0 ? r : withdrawn_finish(v->out, e);
}

int upper_run(const struct upper_config *c, change_each each, void *arg, struct walk_stats *ret, struct error *e)
{
    struct error own = { 0 };
    struct upper_view v = { .config = c, .upper = { "", c->upper }, .merged = { "", c->merged } };
    e = e ? e : &own;
    struct delivery d = { &v, each, arg };
    v.start_ns = clock_wall_ns();
    v.known = stat_cache_serves(c->upper) ? c->journal : NULL;
    v.inodes = census_new();
    v.out = withdrawn_new(deliver, &d);
    int r = run(&v, e);
    excluded_free(v.excluded);
    census_free(v.inodes);
    withdrawn_free(v.out);
    buf_release(&v.path);
    buf_release(&v.key);
    if (r < 0)
        return error_prefix(e, "walk the upper layer"), r;
    *ret = v.stats;
    return 0;
}
