/* SPDX-License-Identifier: MIT */
#include "index/upper-entry.h"

#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/lookup.h"
#include "index/stat-cache.h"

#include <errno.h>
#include <string.h>

void upper_found_release(struct upper_found *f)
{
    attributes_release(&f->a);
    entry_release(&f->entry);
    if (f->fd >= 0)
        close(f->fd);
    free(f->lower);
    free(f->moved_from);
    *f = (struct upper_found){ .fd = -1 };
}

/* The base's path that the kernel looks up for this entry: by its redirect, or its own name in the same lower
 * directory. */
static char *lower_path(const char *lower, const char *name, const struct attributes *a)
{
    if (a->redirect && a->redirect[0] == '/')
        return mem_strdup(a->redirect + 1);
    if (!lower)
        return NULL;
    if (a->redirect)
        name = a->redirect;
    return lower[0] ? mem_printf("%s/%s", lower, name) : mem_strdup(name);
}

int upper_lower_directory(struct tree *base, const char *lower, const char *name, const struct attributes *a,
                          char **ret, struct error *e)
{
    _cleanup_free_ char *path = a->opaque ? NULL : lower_path(lower, name, a);
    _cleanup_(entry_release) struct entry there = { 0 };
    int r = path ? lookup_path(base, path, &there, e) : 0;
    if (r < 0)
        return r;
    *ret = r && there.type == ENTRY_DIRECTORY ? mem_steal(path) : NULL;
    return 0;
}

static int damaged(const struct upper_found *f, const char *lower, struct error *e)
{
    return error_say(e, ERROR_DAMAGED, -EIO, "the upper layer refers to %s, which its base does not have as that",
                     lower           ? lower
                     : f->a.redirect ? f->a.redirect
                                     : "a file");
}

/* Remembers where the base has this inode, if that is somewhere else. */
static void remember_move(const struct upper_place *p, const char *lower, const struct entry *there,
                          struct upper_found *f)
{
    if (strcmp(lower, (const char *)p->path.data) == 0)
        return;
    f->moved_from = mem_strdup(lower);
    f->moved_ino = there->ino;
}

/* Metadata only: the data is what the base has there (index/upper-entry's one use of it). */
static int take_base_content(struct upper_view *v, const struct upper_place *p, struct upper_found *f, struct error *e)
{
    _cleanup_free_ char *lower = lower_path(p->lower, p->name, &f->a);
    _cleanup_(entry_release) struct entry there = { 0 };
    int r = lower ? lookup_path(v->config->base, lower, &there, e) : 0;
    if (r == 0)
        return damaged(f, lower, e);
    if (r == 1)
        r = tree_resolve(v->config->base, &there, e);
    if (r < 0)
        return r;
    if (there.type != ENTRY_FILE)
        return damaged(f, lower, e);
    remember_move(p, lower, &there, f);
    struct entry *n = &f->entry;
    n->size = there.size;
    n->extents = mem_steal(there.extents);
    n->extent_count = there.extent_count;
    n->list = mem_steal(there.list);
    n->list_count = there.list_count;
    there.extent_count = there.list_count = 0;
    f->known = true;
    return 0;
}

static int find_content(struct upper_view *v, const struct upper_place *p, struct upper_found *f, struct error *e)
{
    if (f->a.metacopy)
        return take_base_content(v, p, f, e);
    if (v->known) {
        int r = stat_cache_find(v->known, p->path, f->a.device, f->a.inode, &f->entry, e);
        f->known = r == 0;
        if (r != -ENOENT)
            return r;
    }
    if (v->config->names_only)
        return 0;
    int fd = attributes_open(p->directory, p->name, &f->a, e);
    if (fd >= 0)
        f->fd = fd;
    return fd < 0 ? fd : 0;
}

static int find_lower_directory(struct upper_view *v, const struct upper_place *p, struct upper_found *f,
                                struct error *e)
{
    f->known = true;
    int r = upper_lower_directory(v->config->base, p->lower, p->name, &f->a, &f->lower, e);
    if (r < 0 || !f->lower)
        return r;
    _cleanup_(entry_release) struct entry there = { 0 };
    r = lookup_path(v->config->base, f->lower, &there, e);
    if (r > 0)
        remember_move(p, f->lower, &there, f);
    return r < 0 ? r : 0;
}

static int leave_out(struct upper_view *v, const struct upper_place *p, struct upper_found *f, struct error *e)
{
    f->nothing = true;
    if (f->a.whiteout)
        return 0;
    if (f->a.socket || !f->a.entry.type) {
        v->stats.sockets++;
        if (!f->a.socket)
            log_warn("%s: left out: no entry can stand for it", p->path.data);
        return 0;
    }
    v->stats.excluded++;
    if (!v->config->excluded)
        return 0;
    int r =
        v->config->excluded(v->config->excluded_arg, (const char *)p->path.data, f->a.entry.type == ENTRY_DIRECTORY, e);
    v->stopped |= r < 0;
    return r;
}

static int make_entry(struct upper_view *v, const struct upper_place *p, struct upper_found *f, struct error *e)
{
    bool several = f->a.entry.type != ENTRY_DIRECTORY && f->a.links > 1;
    const char *first = several ? census_first(v->inodes, f->a.device, f->a.inode) : NULL;
    if (first) {
        f->entry = (struct entry){ .type = ENTRY_LINK, .target = mem_strdup(first) };
        f->known = true;
        return 0;
    }
    f->entry = f->a.entry;
    f->a.entry = (struct entry){ .type = f->entry.type };
    int r = 0;
    if (f->entry.type == ENTRY_FILE)
        r = find_content(v, p, f, e);
    else if (f->entry.type == ENTRY_DIRECTORY)
        r = find_lower_directory(v, p, f, e);
    else
        f->known = true;
    if (r == 0 && several)
        census_remember(v->inodes, f->a.device, f->a.inode, (const char *)p->path.data);
    return r;
}

int upper_entry(struct upper_view *v, const struct upper_place *p, struct upper_found *ret, struct error *e)
{
    struct upper_found f = { .fd = -1 };
    int r = attributes_read(p->directory, p->name, &f.a, e);
    if (r < 0)
        return r;
    const char *path = (const char *)p->path.data;
    if (exclude_cut_off(path) || (f.a.entry.type == ENTRY_SYMLINK && exclude_placed(path, f.a.entry.target))) {
        f.nothing = true;
        *ret = f;
        return 0;
    }
    enum verdict verdict = VERDICT_KEPT;
    if (!f.a.whiteout && !f.a.socket && f.a.entry.type)
        verdict = excluded_ask(v->excluded, path, &f.a, p->below);
    f.passage = verdict == VERDICT_PASSAGE;
    if (f.a.whiteout || f.a.socket || !f.a.entry.type || verdict == VERDICT_EXCLUDED)
        r = leave_out(v, p, &f, e);
    else
        r = make_entry(v, p, &f, e);
    if (r < 0) {
        upper_found_release(&f);
        return r;
    }
    *ret = f;
    return 0;
}

static int take_number(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    (void)position;
    (void)key;
    (void)e;
    census_take(arg, n->ino);
    return 0;
}

int upper_number(struct upper_view *v, uint64_t st_ino, uint32_t *ret, struct error *e)
{
    if (!v->numbers_loaded) {
        int r = tree_scan(v->config->base, (struct bytes){ 0 }, (struct bytes){ 0 }, take_number, v->inodes, e);
        if (r < 0)
            return r;
        v->numbers_loaded = true;
    }
    *ret = census_number(v->inodes, st_ino);
    return 0;
}

int upper_entry_number(struct upper_view *v, const struct upper_place *p, int merged, const struct entry *raw,
                       struct upper_found *f, struct error *e)
{
    if (f->entry.type == ENTRY_LINK)
        return 0;
    uint64_t st_ino = f->a.inode;
    if (merged >= 0) {
        struct attributes seen;
        int r = attributes_stat(merged, p->name, &seen, e);
        if (r < 0 && !upper_passed_over(v, r, e))
            return r;
        if (r == 0) {
            st_ino = seen.inode;
            f->entry.ctime_ns = seen.entry.ctime_ns;
        }
    }
    uint32_t ino = (uint32_t)st_ino;
    bool of_base = (raw && raw->type != ENTRY_LINK && raw->ino == ino) || (f->moved_from && f->moved_ino == ino);
    if (!of_base || !ino)
        return upper_number(v, st_ino, &f->entry.ino, e);
    f->entry.ino = ino;
    return 0;
}

struct change upper_entry_change(const struct upper_view *v, const struct upper_place *p, const struct upper_found *f)
{
    bool directory = f->entry.type == ENTRY_DIRECTORY;
    bool in_place = !directory || (f->lower && strcmp(f->lower, (const char *)p->path.data) == 0);
    /* A file made anew under a name of the base's, whose number goes with the base's inode, which may have moved. */
    bool made = f->entry.type == ENTRY_FILE && !f->a.metacopy && !f->a.origin;
    return (struct change){
        .kind = CHANGE_PUT,
        .entry = &f->entry,
        .content_known = f->known,
        .fd = f->fd,
        .device = f->a.device,
        .inode = f->a.inode,
        .settled = v->known && stat_cache_settled(&f->entry, v->start_ns),
        .other_inode = !in_place || f->moved_from || made,
        .moved_from = f->moved_from,
    };
}

bool upper_passed_over(const struct upper_view *v, int code, const struct error *e)
{
    return v->config->live && !v->stopped && reach_vanished(code) && (e->kind == ERROR_FAILED || e->kind == ERROR_BUSY);
}
