/* SPDX-License-Identifier: MIT */
#include "index/base/crash.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/copy.h"
#include "index/reach.h"
#include "index/stash-slot.h"
#include "index/upper-pure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* One entry to take. */
struct taken {
    const char *path;
    const char *below; /* path beneath its root */
    bool in_home;
    bool pure; /* the upper layer holds it whole */
    uint32_t number;
};

struct taking {
    struct stash *stash;
    const struct stash_tree *from;
    struct copy *project, *home; /* into the stash */
    struct taken *items;
    size_t count;
};

static int root_of(const struct taking *t, const struct taken *i)
{
    return i->in_home ? t->from->home : t->from->project;
}

static bool absent(int root, const char *below)
{
    _cleanup_close_ int parent = -1;
    const char *name;
    int r = reach_parent(root, below, &parent, &name);
    if (r == 0 && faccessat(parent, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        r = -errno;
    return reach_vanished(r);
}

/* Adds path if it is there. */
static int look(struct taking *t, const char *path, struct error *e)
{
    struct taken i = { .path = path, .in_home = strncmp(path, "home/", 5) == 0 };
    if (!i.in_home && strncmp(path, "project/", 8) != 0)
        return 0;
    i.below = path + (i.in_home ? 5 : 8);
    if (root_of(t, &i) < 0 || absent(root_of(t, &i), i.below))
        return 0;
    int r = t->from->upper >= 0 ? upper_pure(t->from->upper, t->from->base, path, &i.pure, e) : 0;
    if (r < 0)
        return r;
    t->items = mem_grow(t->items, t->count + 1, sizeof(*t->items));
    t->items[t->count++] = i;
    return 0;
}

/* All paths are on disk before the first entry goes: one sync for all of them. */
static int make_slots(struct taking *t, struct error *e)
{
    for (size_t i = 0; i < t->count; i++) {
        int r = stash_slot_new(t->stash, t->items[i].path, &t->items[i].number, e);
        if (r < 0)
            return r;
    }
    return syncfs(t->stash->fd) < 0 ? error_set(e, ERROR_FAILED, -errno, "sync the stash") : 0;
}

static int copy_one(struct taking *t, const struct taken *i, struct error *e)
{
    char to[32];
    snprintf(to, sizeof(to), "%08u/%s", i->number, STASH_ENTRY);
    crash_point("stash-copy.before");
    int r = copy_entry(i->in_home ? t->home : t->project, i->below, to, e);
    crash_point("stash-copy.after");
    return r == -EEXIST ? error_set(e, ERROR_FAILED, r, "copy to stash/%s", to) : r;
}

/* Renames root/below into its slot, its directory's times kept. -EXDEV: another file system. Gone by now: 0. */
static int move_one(struct taking *t, int root, const char *below, const struct taken *i, struct error *e)
{
    _cleanup_close_ int parent = -1, slot = -1;
    const char *name;
    struct stat st;
    int r = reach_parent(root, below, &parent, &name);
    if (r == 0)
        r = fstat(parent, &st) < 0 ? -errno : 0;
    if (r < 0)
        return reach_vanished(r) ? 0 : error_set(e, ERROR_FAILED, r, "open the directory of %s", i->path);
    r = stash_slot_open(t->stash, i->number, &slot, NULL, e);
    if (r < 0)
        return r;
    crash_point("stash-move.before");
    if (renameat2(parent, name, slot, STASH_ENTRY, RENAME_NOREPLACE) < 0)
        return reach_vanished(-errno) ? 0 : error_set(e, ERROR_FAILED, -errno, "move %s to the stash", i->path);
    crash_point("stash-move.after");
    struct timespec times[2] = { st.st_atim, st.st_mtim };
    if (futimens(parent, times) < 0)
        return error_set(e, ERROR_FAILED, -errno, "restore the times of the directory of %s", i->path);
    return t->from->upper >= 0 ? upper_plain(slot, STASH_ENTRY, e) : 0;
}

static int remove_copied(struct taking *t, const struct taken *i, struct error *e)
{
    _cleanup_close_ int parent = -1;
    const char *name;
    struct stat st;
    int r = reach_parent(root_of(t, i), i->below, &parent, &name);
    if (r == 0)
        r = fstat(parent, &st) < 0 ? -errno : 0;
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "open the directory of %s", i->path);
    r = remove_tree(parent, name, NULL);
    if (r < 0)
        error_set(e, ERROR_FAILED, r, "remove %s", i->path);
    struct timespec times[2] = { st.st_atim, st.st_mtim };
    futimens(parent, times);
    return r;
}

static int take_plain(struct taking *t, struct error *e)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct taken *one = &t->items[i];
        if (absent(root_of(t, one), one->below))
            continue; /* it went with a directory, or was told twice */
        int r = move_one(t, root_of(t, one), one->below, one, e);
        if (r == -EXDEV) {
            r = copy_one(t, one, e);
            if (r == 0)
                r = remove_copied(t, one, e);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static int take_overlay(struct taking *t, struct error *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < t->count; i++)
        r = t->items[i].pure ? 0 : copy_one(t, &t->items[i], e);
    for (size_t i = 0; r == 0 && i < t->count; i++) {
        const struct taken *one = &t->items[i];
        if (!one->pure)
            continue;
        r = move_one(t, t->from->upper, one->path, one, e);
        if (r == -EXDEV)
            r = copy_one(t, one, e);
    }
    return r;
}

int stash_take(struct stash *s, const struct stash_tree *from, const struct stash_list *l, struct error *e)
{
    struct taking t = { .stash = s, .from = from };
    int r = 0;
    for (size_t i = 0; r == 0 && i < l->count; i++)
        r = look(&t, l->paths[i], e);
    if (r == 0 && t.count > 0) {
        t.project = copy_new(from->project, s->fd);
        t.home = copy_new(from->home, s->fd);
        r = make_slots(&t, e);
        if (r == 0)
            r = from->upper >= 0 ? take_overlay(&t, e) : take_plain(&t, e);
        copy_free(t.project);
        copy_free(t.home);
        int left = stash_slot_tidy(s, r < 0 ? NULL : e);
        if (r == 0)
            r = left;
        if (r == 0 && syncfs(s->fd) < 0)
            r = error_set(e, ERROR_FAILED, -errno, "sync the stash");
    }
    free(t.items);
    return r < 0 ? (error_prefix(e, "put excluded entries away"), r) : 0;
}
