/* SPDX-License-Identifier: MIT */
#include "index/walk.h"

#include "index/attributes.h"
#include "index/base/clock.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/census.h"
#include "index/excluded.h"
#include "index/key.h"
#include "index/names.h"
#include "index/reach.h"
#include "index/stat-cache.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

struct walk {
    const struct walk_config *config;
    change_each each;
    void *arg;
    struct reach_root roots[2];
    size_t root_count;
    const struct reach_root *root; /* the one being walked */
    uint64_t mount;                /* its mount */
    struct journal *known;         /* what the stat cache knows counts there; NULL: it does not */
    int64_t start_ns;
    struct excluded *excluded;
    struct census *inodes;
    struct walk_stats stats;
    bool stopped; /* by a callback: its code is no answer of the file system */
    struct buf path, key;
};

/* The directories to go down into, of one directory. */
struct below {
    struct names names;
    size_t *chosen; /* places in names, with the lowest bit for VERDICT_PASSAGE */
    size_t count, room;
};

static void below_release(struct below *b)
{
    names_release(&b->names);
    free(b->chosen);
}

static void below_add(struct below *b, size_t place, bool passage)
{
    if (b->count == b->room) {
        b->room = b->room ? 2 * b->room : 16;
        b->chosen = mem_grow(b->chosen, b->room, sizeof(*b->chosen));
    }
    b->chosen[b->count++] = 2 * place + passage;
}

static bool passed_over(const struct walk *w, int code)
{
    return code < 0 && w->config->live && !w->stopped && reach_vanished(code);
}

static int emit(struct walk *w, const struct attributes *a, const struct entry *n, int fd, bool known, struct error *e)
{
    int r = key_from_path(buf_bytes(&w->path), &w->key);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "make a key");
    struct change c = {
        .kind = CHANGE_PUT,
        .key = buf_bytes(&w->key),
        .entry = n,
        .content_known = known,
        .fd = fd,
        .device = a->device,
        .inode = a->inode,
        .settled = w->known && stat_cache_settled(n, w->start_ns),
    };
    r = w->each(w->arg, &c, e);
    w->stopped |= r < 0;
    return r;
}

/* Content: known (1), open (*ret_fd), or not asked for. */
static int find_content(struct walk *w, int dir, const char *name, struct attributes *a, int *ret_fd, struct error *e)
{
    if (w->config->names_only)
        return 0;
    if (w->known) {
        int r = stat_cache_find(w->known, buf_bytes(&w->path), a->device, a->inode, &a->entry, e);
        if (r != -ENOENT)
            return r < 0 ? r : 1;
    }
    int fd = attributes_open(dir, name, a, e);
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

static int emit_link(struct walk *w, const struct attributes *a, const char *first, struct error *e)
{
    struct entry n = { .type = ENTRY_LINK, .target = mem_strdup(first) };
    int r = emit(w, a, &n, -1, true, e);
    entry_release(&n);
    w->stats.files++;
    return r;
}

static int emit_entry(struct walk *w, int dir, const char *name, struct attributes *a, struct error *e)
{
    struct entry *n = &a->entry;
    bool several = n->type != ENTRY_DIRECTORY && a->links > 1;
    const char *first = several ? census_first(w->inodes, a->device, a->inode) : NULL;
    if (first)
        return emit_link(w, a, first, e);

    _cleanup_close_ int fd = -1;
    int known = n->type == ENTRY_FILE ? find_content(w, dir, name, a, &fd, e) : 1;
    if (known < 0)
        return known;
    if (several)
        census_remember(w->inodes, a->device, a->inode, buf_string(&w->path));
    n->ino = census_number(w->inodes, a->inode);
    *(n->type == ENTRY_DIRECTORY ? &w->stats.directories : &w->stats.files) += 1;
    w->stats.bytes += n->type == ENTRY_FILE ? n->size : 0;
    return emit(w, a, n, fd, known, e);
}

static int tell_excluded(struct walk *w, bool directory, struct error *e)
{
    w->stats.excluded++;
    if (!w->config->excluded)
        return 0;
    int r = w->config->excluded(w->config->excluded_arg, buf_string(&w->path), directory, e);
    w->stopped |= r < 0;
    return r;
}

/* Returns the verdict (as the directory's way down), or -errno. */
static int visit(struct walk *w, int dir, const char *name, bool passage, struct error *e)
{
    _cleanup_(attributes_release) struct attributes a = { 0 };
    int r = attributes_read(dir, name, &a, e);
    if (r < 0)
        return r;
    if (a.mount != w->mount)
        return error_say(e, ERROR_FAILED, -EXDEV, "another file system is mounted there");
    if (a.socket || a.whiteout || !a.entry.type) {
        w->stats.sockets++;
        if (!a.socket)
            log_warn("%s: left out: no entry can stand for it", buf_string(&w->path));
        return VERDICT_EXCLUDED;
    }
    const char *path = buf_string(&w->path);
    if (exclude_cut_off(path) || (a.entry.type == ENTRY_SYMLINK && exclude_placed(path, a.entry.target)))
        return VERDICT_EXCLUDED;
    enum verdict v = excluded_ask(w->excluded, path, &a, passage);
    r = v == VERDICT_EXCLUDED ? tell_excluded(w, a.entry.type == ENTRY_DIRECTORY, e) : emit_entry(w, dir, name, &a, e);
    if (r < 0)
        return r;
    return a.entry.type == ENTRY_DIRECTORY ? (int)v : VERDICT_EXCLUDED;
}

/* Emits what lies in dir itself; b gets what to go down into. */
static int own_entries(struct walk *w, int dir, bool passage, struct below *b, struct error *e)
{
    int r = names_read(dir, &b->names, e);
    if (r < 0)
        return passed_over(w, r) ? 0 : (error_prefix(e, "%s", buf_string(&w->path)), r);
    for (size_t i = 0; i < b->names.count; i++) {
        const char *name = names_get(&b->names, i);
        ssize_t up = reach_down(&w->path, name, e);
        if (up < 0)
            return (int)up;
        for (int tries = 0; tries < REACH_TRIES; tries++) {
            r = visit(w, dir, name, passage, e);
            if (!passed_over(w, r))
                break;
        }
        if (r < 0 && !passed_over(w, r))
            return error_prefix(e, "%s", buf_string(&w->path)), r;
        if (r == VERDICT_KEPT || r == VERDICT_PASSAGE)
            below_add(b, i, r == VERDICT_PASSAGE);
        reach_up(&w->path, up);
    }
    return 0;
}

/* Takes fd, the directory w->path. */
static int walk_below(struct walk *w, int fd, unsigned depth, bool passage, struct error *e)
{
    _cleanup_close_ int dir = fd;
    _cleanup_(below_release) struct below b = { 0 };
    int r = own_entries(w, dir, passage, &b, e);
    if (depth > REACH_OPEN_MAX)
        close(mem_steal_fd(&dir));
    for (size_t i = 0; r >= 0 && i < b.count; i++) {
        const char *name = names_get(&b.names, b.chosen[i] / 2);
        ssize_t up = reach_down(&w->path, name, e);
        if (up < 0)
            return (int)up;
        int child = reach_directory(w->root, dir, buf_string(&w->path), name);
        if (child >= 0)
            r = walk_below(w, child, depth + 1, b.chosen[i] % 2, e);
        else if (!passed_over(w, child))
            r = error_set(e, ERROR_FAILED, child, "open %s", buf_string(&w->path));
        reach_up(&w->path, up);
    }
    return r;
}

static int emit_roots(struct walk *w, struct error *e)
{
    buf_clear(&w->path);
    buf_printf(&w->path, "home");
    struct attributes a = { 0 };
    int r;
    if (w->config->home >= 0) {
        r = attributes_read(w->config->home, "", &a, e);
    } else {
        entry_copy(w->config->home_entry, &a.entry);
        a.inode = a.entry.ino;
        r = 0;
    }
    if (r == 0)
        r = emit_entry(w, -1, NULL, &a, e);
    attributes_release(&a);
    if (r < 0)
        return error_prefix(e, "home"), r;

    buf_clear(&w->path);
    buf_printf(&w->path, "project");
    r = attributes_read(w->config->project, "", &a, e);
    if (r == 0)
        r = emit_entry(w, -1, NULL, &a, e);
    attributes_release(&a);
    return r < 0 ? (error_prefix(e, "project"), r) : 0;
}

static int walk_root(struct walk *w, const struct reach_root *root, struct error *e)
{
    struct attributes a;
    int r = attributes_stat(root->fd, "", &a, e);
    if (r < 0)
        return error_prefix(e, "%s", root->name), r;
    w->root = root;
    w->mount = a.mount;
    w->known = stat_cache_serves(root->fd) ? w->config->journal : NULL;
    buf_clear(&w->path);
    buf_printf(&w->path, "%s", root->name);
    int fd = reach_directory(root, -1, root->name, root->name);
    return fd < 0 ? error_set(e, ERROR_FAILED, fd, "open %s", root->name) : walk_below(w, fd, 0, false, e);
}

static int sync_roots(const struct walk *w, struct error *e)
{
    for (size_t i = 0; i < w->root_count; i++)
        if (syncfs(w->roots[i].fd) < 0)
            return error_set(e, ERROR_FAILED, -errno, "sync %s", w->roots[i].name);
    return 0;
}

int walk_run(const struct walk_config *c, change_each each, void *arg, struct walk_stats *ret, struct error *e)
{
    struct walk w = { .config = c, .each = each, .arg = arg, .start_ns = clock_wall_ns(), .inodes = census_new() };
    if (c->home >= 0)
        w.roots[w.root_count++] = (struct reach_root){ "home", c->home };
    w.roots[w.root_count++] = (struct reach_root){ "project", c->project };

    int r = c->journal ? sync_roots(&w, e) : 0;
    if (r == 0)
        r = excluded_new(c->rules, w.roots, w.root_count, c->live, &w.excluded, e);
    if (r == 0)
        r = emit_roots(&w, e);
    for (size_t i = 0; r >= 0 && i < w.root_count; i++)
        r = walk_root(&w, &w.roots[i], e);

    excluded_free(w.excluded);
    census_free(w.inodes);
    buf_release(&w.path);
    buf_release(&w.key);
    if (r >= 0)
        *ret = w.stats;
    return r < 0 ? r : 0;
}
