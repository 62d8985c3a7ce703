/* SPDX-License-Identifier: MIT */
#include "fusefs/joins.h"

#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <uthash.h>

struct parent {
    char *path;
    struct timespec times[2]; /* atime, mtime, before anything was changed */
    UT_hash_handle hh;
};

struct joins {
    int root;
    struct parent *parents; /* by path, in order of first use */
    unsigned temporary;     /* number of the last temporary name */
};

/* A name split at its last '/': the parent's path ("." for the root's own) and the rest. */
struct place {
    char parent[PATH_LEN_MAX + 1];
    const char *name;
};

static int split(const char *path, struct place *ret, struct error *e)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    if (len > PATH_LEN_MAX)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "a path of %zu bytes", len);
    memcpy(ret->parent, path, len);
    ret->parent[len] = '\0';
    if (!slash)
        strcpy(ret->parent, ".");
    ret->name = slash ? slash + 1 : path;
    return 0;
}

static int open_parent(int root, const char *path, struct error *e)
{
    int fd = fd_open_beneath(root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return error_set(e, ERROR_DAMAGED, fd, "open the directory %s", path);
    return fd;
}

/* Its times are those before anything is changed in it. */
static int note_parent(struct joins *j, const char *path, struct error *e)
{
    struct place p;
    struct parent *known;
    struct stat st;
    int r = split(path, &p, e);
    if (r < 0)
        return r;
    HASH_FIND_STR(j->parents, p.parent, known);
    if (known)
        return 0;
    _cleanup_close_ int fd = open_parent(j->root, p.parent, e);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return error_set(e, ERROR_FAILED, -errno, "stat %s", p.parent);
    known = mem_new(1, sizeof(*known));
    known->path = mem_strdup(p.parent);
    known->times[0] = st.st_atim;
    known->times[1] = st.st_mtim;
    HASH_ADD_KEYPTR(hh, j->parents, known->path, strlen(known->path), known);
    return 0;
}

static int link_beside(struct joins *j, int from, const char *first, int to, char temporary[32], struct error *e)
{
    for (;;) {
        snprintf(temporary, 32, ".ag-box-join-%u", ++j->temporary);
        if (linkat(from, first, to, temporary, 0) == 0)
            return 0;
        if (errno != EEXIST)
            return error_set(e, errno == ENOENT ? ERROR_DAMAGED : ERROR_FAILED, -errno, "link %s", first);
    }
}

static int join_name(struct joins *j, int from, const char *first, const char *path, struct error *e)
{
    struct place p;
    int r = split(path, &p, e);
    if (r < 0)
        return r;
    _cleanup_close_ int to = open_parent(j->root, p.parent, e);
    if (to < 0)
        return to;
    struct stat st;
    if (fstatat(to, p.name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "%s is not a name of a file", path);

    char temporary[32];
    r = link_beside(j, from, first, to, temporary, e);
    if (r < 0)
        return r;
    crash_point("join.linked");
    if (renameat(to, temporary, to, p.name) < 0) {
        r = error_set(e, ERROR_FAILED, -errno, "rename over %s", path);
        unlinkat(to, temporary, 0);
    }
    return r;
}

/* The names from `at` on, as many as one inode may have: *ret_end is the first one too many, or the group's end. */
static int join_part(struct joins *j, const struct link_group *g, size_t at, size_t *ret_end, struct error *e)
{
    struct place p;
    int r = split(g->paths[at], &p, e);
    if (r < 0)
        return r;
    _cleanup_close_ int from = open_parent(j->root, p.parent, e);
    if (from < 0)
        return from;
    size_t i = at + 1;
    while (i < g->count && (r = join_name(j, from, p.name, g->paths[i], e)) == 0)
        i++;
    if (r < 0 && r != -EMLINK)
        return r;
    error_clear(e);
    *ret_end = i;
    struct stat st;
    if (fstatat(from, p.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return error_set(e, ERROR_FAILED, -errno, "stat %s", g->paths[at]);
    if (i - at > 1 && st.st_nlink != i - at) /* one name alone still is the lower's, which counts the whole group */
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "%s has %lu names and not %zu", g->paths[at],
                         (unsigned long)st.st_nlink, i - at);
    return 0;
}

static int join_group(struct joins *j, const struct link_group *g, const struct joins_told *told, struct error *e)
{
    int r = 0;
    for (size_t at = 0, end = 0; at < g->count && r == 0; at = end) {
        if (at > 0 && told->apart)
            told->apart(told->arg, g->paths[at]);
        r = join_part(j, g, at, &end, e);
    }
    return r;
}

static int restore_times(struct joins *j, struct error *e)
{
    for (struct parent *p = j->parents; p; p = p->hh.next) {
        _cleanup_close_ int fd = open_parent(j->root, p->path, e);
        if (fd < 0)
            return fd;
        if (futimens(fd, p->times) < 0)
            return error_set(e, ERROR_FAILED, -errno, "restore the times of %s", p->path);
    }
    return 0;
}

static void free_parents(struct joins *j)
{
    struct parent *p, *next;
    HASH_ITER (hh, j->parents, p, next) {
        HASH_DEL(j->parents, p);
        free(p->path);
        free(p);
    }
}

int joins_make(int root, const struct link_group *groups, size_t count, const struct joins_told *told, struct error *e)
{
    struct joins j = { .root = root };
    int r = 0;
    for (size_t g = 0; g < count && r == 0; g++)
        for (size_t i = 0; i < groups[g].count && r == 0; i++)
            r = note_parent(&j, groups[g].paths[i], e);
    for (size_t g = 0; g < count && r == 0; g++) {
        r = join_group(&j, &groups[g], told, e);
        if (told->progress)
            told->progress(told->arg, groups[g].count);
    }
    if (r == 0)
        r = restore_times(&j, e);
    free_parents(&j);
    if (r < 0)
        error_prefix(e, "join hard links");
    return r;
}
