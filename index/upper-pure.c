/* SPDX-License-Identifier: MIT */
#include "index/upper-pure.h"

#include "index/attributes.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/names.h"
#include "index/reach.h"
#include "index/upper-entry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>

/* Goes through a tree, files before directories; look returns 1 to stop. */
struct visit {
    struct reach_root root;
    struct buf path;
    int (*look)(int directory, const char *name, const struct attributes *a, struct error *e);
};

static int visit_below(struct visit *v, int fd, unsigned depth, struct error *e);

static int visit_directory(struct visit *v, int parent, const char *name, unsigned depth, struct error *e)
{
    ssize_t up = reach_down(&v->path, name, e);
    if (up < 0)
        return (int)up;
    int fd = reach_directory(&v->root, parent, buf_string(&v->path), name);
    int r = fd < 0 ? error_set(e, ERROR_FAILED, fd, "open %s", buf_string(&v->path)) : visit_below(v, fd, depth + 1, e);
    reach_up(&v->path, up);
    return r;
}

static int visit_below(struct visit *v, int fd, unsigned depth, struct error *e)
{
    _cleanup_close_ int dir = fd;
    _cleanup_(names_release) struct names l = { 0 };
    int r = names_read(dir, &l, e);
    for (size_t i = 0; r == 0 && i < l.count; i++) {
        struct attributes a = { 0 };
        r = attributes_read(dir, names_get(&l, i), &a, e);
        if (r == 0)
            r = v->look(dir, names_get(&l, i), &a, e);
        attributes_release(&a);
    }
    if (depth > REACH_OPEN_MAX)
        close(mem_steal_fd(&dir));
    for (size_t i = 0; r == 0 && i < l.count; i++)
        if (l.items[i].type == DT_DIR)
            r = visit_directory(v, dir, names_get(&l, i), depth, e);
    return r;
}

/* Everything below directory/name. */
static int visit(int directory, const char *name,
                 int (*look)(int directory, const char *name, const struct attributes *a, struct error *e),
                 struct error *e)
{
    struct visit v = { .root = { "", directory }, .look = look };
    buf_add(&v.path, name, strlen(name));
    int fd = reach_directory(&v.root, directory, name, name);
    int r = fd < 0 ? error_set(e, ERROR_FAILED, fd, "open %s", name) : visit_below(&v, fd, 0, e);
    buf_release(&v.path);
    return r;
}

static int refers_to_base(int directory, const char *name, const struct attributes *a, struct error *e)
{
    (void)directory;
    (void)name;
    (void)e;
    return a->metacopy || (a->entry.type == ENTRY_DIRECTORY && a->redirect && !a->opaque);
}

/*
 * The base's directory that shows through the upper's directory path: 1 and *ret (NULL: none), or 0 if the upper has no
 * such directory. As in a walk from the root: each redirect is seen from where the one above it led.
 */
static int lower_of(int upper, struct tree *base, const char *path, char **ret, struct error *e)
{
    _cleanup_free_ char *lower = mem_strdup(""), *text = mem_strdup(path);
    _cleanup_close_ int dir = fd_open_beneath(upper, ".", O_RDONLY | O_DIRECTORY, 0);
    char *rest = NULL;
    for (char *name = strtok_r(text, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
        _cleanup_(attributes_release) struct attributes a = { 0 };
        int r = dir < 0 ? dir : attributes_read(dir, name, &a, e);
        if (r == -ENOENT || (r == 0 && a.entry.type != ENTRY_DIRECTORY))
            return 0;
        char *below = NULL;
        if (r == 0)
            r = upper_lower_directory(base, lower, name, &a, &below, e);
        if (r < 0)
            return error_set(e, ERROR_FAILED, r, "look at %s in the upper layer", path);
        free(lower);
        lower = below;
        int next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(mem_steal_fd(&dir));
        dir = next;
    }
    *ret = mem_steal(lower);
    return 1;
}

int upper_pure(int upper, struct tree *base, const char *path, bool *ret, struct error *e)
{
    *ret = false;
    _cleanup_close_ int parent = -1;
    const char *name;
    int r = reach_parent(upper, path, &parent, &name);
    if (r < 0)
        return reach_vanished(r) ? 0 : error_set(e, ERROR_FAILED, r, "look at %s in the upper layer", path);
    _cleanup_(attributes_release) struct attributes a = { 0 };
    r = attributes_read(parent, name, &a, e);
    if (r == -ENOENT || (r == 0 && (a.whiteout || a.metacopy)))
        return 0;
    if (r == 0 && a.entry.type == ENTRY_DIRECTORY) {
        _cleanup_free_ char *lower = NULL;
        r = lower_of(upper, base, path, &lower, e);
        if (r <= 0 || lower)
            return r < 0 ? r : 0;
        r = visit(parent, name, refers_to_base, e);
    }
    if (r < 0)
        return r;
    *ret = r == 0;
    return 0;
}

static int strip(int directory, const char *name, struct error *e)
{
    char path[NAME_LEN_MAX + 64], names[64 * 1024];
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", directory, name);
    ssize_t n = llistxattr(path, names, sizeof(names));
    if (n < 0 && errno == EOPNOTSUPP)
        return 0;
    if (n < 0)
        return error_set(e, ERROR_FAILED, -errno, "list xattrs of %s", name);
    for (const char *x = names; x < names + n; x += strlen(x) + 1)
        if (strncmp(x, "trusted.overlay.", strlen("trusted.overlay.")) == 0 && lremovexattr(path, x) < 0)
            return error_set(e, ERROR_FAILED, -errno, "remove %s of %s", x, name);
    return 0;
}

static int make_plain(int directory, const char *name, const struct attributes *a, struct error *e)
{
    if (!a->whiteout)
        return strip(directory, name, e);
    struct stat st;
    if (fstat(directory, &st) < 0 || unlinkat(directory, name, 0) < 0)
        return error_set(e, ERROR_FAILED, -errno, "remove the whiteout %s", name);
    struct timespec times[2] = { st.st_atim, st.st_mtim };
    return futimens(directory, times) < 0 ? error_set(e, ERROR_FAILED, -errno, "set times") : 0;
}

int upper_plain(int directory, const char *name, struct error *e)
{
    struct attributes a;
    int r = attributes_stat(directory, name, &a, e);
    if (r == 0)
        r = strip(directory, name, e);
    return r < 0 || a.entry.type != ENTRY_DIRECTORY ? r : visit(directory, name, make_plain, e);
}
