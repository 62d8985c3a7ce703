/* SPDX-License-Identifier: MIT */
#include "index/base/remove.h"

#include "index/base/crash.h"
#include "index/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* A directory that was entered: its name, and who its parent was. */
struct level {
    char *name;
    dev_t device;
    ino_t inode;
};

struct removal {
    struct level *levels;
    size_t depth;
    int fd; /* of the deepest */
};

static void removal_release(struct removal *w)
{
    while (w->depth > 0)
        free(w->levels[--w->depth].name);
    free(w->levels);
    if (w->fd >= 0)
        close(w->fd);
}

/* 1: unlink does not remove it: a directory, or immutable. */
static int unlink_plain(int dir, const char *name)
{
    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    return errno == EISDIR || errno == EPERM ? 1 : -errno;
}

/* What unlink did not remove. */
static int enter(struct removal *w, const char *name)
{
    struct stat st;
    if (fstat(w->fd, &st) < 0)
        return -errno;
    struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_XDEV };
    int fd = (int)syscall(SYS_openat2, w->fd, name, &how, sizeof(how));
    if (fd < 0)
        return errno == EXDEV ? -EBUSY : errno == ENOTDIR || errno == ELOOP ? -EPERM : -errno;
    w->levels = mem_grow(w->levels, w->depth + 1, sizeof(*w->levels));
    w->levels[w->depth++] = (struct level){ mem_strdup(name), st.st_dev, st.st_ino };
    close(w->fd);
    w->fd = fd;
    return 0;
}

/* Out of an emptied directory, which is then removed. */
static int leave(struct removal *w)
{
    struct level *l = &w->levels[w->depth - 1];
    int fd = openat(w->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    close(w->fd);
    w->fd = fd;
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_dev != l->device || st.st_ino != l->inode)
        return -ESTALE;
    crash_point("remove-directory.before");
    if (unlinkat(fd, l->name, AT_REMOVEDIR) < 0)
        return -errno;
    free(l->name);
    w->depth--;
    return 0;
}

/* Unlinks what is no directory; the first directory found is entered. 1: entered one, 0: the directory is empty now. */
static int empty_one(struct removal *w)
{
    int copy = openat(w->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    if (!d)
        return -errno;
    int r = 0;
    errno = 0;
    for (struct dirent *n; r == 0 && (n = readdir(d)); errno = 0) {
        if (strcmp(n->d_name, ".") == 0 || strcmp(n->d_name, "..") == 0)
            continue;
        r = unlink_plain(w->fd, n->d_name);
        if (r > 0 && (r = enter(w, n->d_name)) == 0)
            r = 1;
    }
    if (r == 0 && errno)
        r = -errno;
    closedir(d);
    return r;
}

static int run(struct removal *w, const char *name)
{
    int r = enter(w, name);
    if (r == -ENOENT)
        return 0;
    while (r >= 0 && w->depth > 0) {
        r = empty_one(w);
        if (r == 0)
            r = leave(w);
    }
    return r;
}

int remove_tree(int dir, const char *name, struct error *e)
{
    int r = unlink_plain(dir, name);
    if (r > 0) {
        crash_point("remove.before");
        _cleanup_(removal_release) struct removal w = { .fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
        r = w.fd < 0 ? -errno : run(&w, name);
        crash_point("remove.after");
    }
    return r < 0 ? error_set(e, ERROR_FAILED, r, "remove %s", name) : 0;
}
