/* SPDX-License-Identifier: MIT */
#include "index/reach.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/key.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* The path of a tree without the name of its root. */
static const char *beneath(const struct reach_root *root, const char *path)
{
    const char *below = path + strlen(root->name);
    below += *below == '/';
    return *below ? below : ".";
}

int reach_directory(const struct reach_root *root, int parent, const char *path, const char *name)
{
    int noatime = O_NOATIME;
    for (;;) {
        int fd = parent >= 0 ? openat(parent, name, DIRECTORY | noatime)
                             : fd_open_beneath(root->fd, beneath(root, path), DIRECTORY | noatime, 0);
        if (fd >= 0)
            return fd;
        int code = parent >= 0 ? -errno : fd;
        if (code != -EPERM || !noatime)
            return code;
        noatime = 0; /* not ours, and no CAP_FOWNER */
    }
}

int reach_file(int parent, const char *name)
{
    int flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
    int fd = openat(parent, name, flags | O_NOATIME);
    if (fd < 0 && errno == EPERM)
        fd = openat(parent, name, flags);
    return fd < 0 ? -errno : fd;
}

int reach_parent(int root, const char *path, int *ret_fd, const char **ret_name)
{
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *directory = slash ? mem_copy(path, (size_t)(slash - path)) : mem_strdup(".");
    int fd = fd_open_beneath(root, directory, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    *ret_name = slash ? slash + 1 : path;
    return 0;
}

ssize_t reach_down(struct buf *path, const char *name, struct error *e)
{
    size_t old = path->len, len = strlen(name);
    if (old + 1 + len > PATH_LEN_MAX) {
        error_set(e, ERROR_FAILED, -ENAMETOOLONG, "a path below %.100s…", buf_string(path));
        return error_hint(e, "a path has at most %d bytes: move what lies there nearer to the top, or remove it",
                          PATH_LEN_MAX),
               -ENAMETOOLONG;
    }
    if (old > 0)
        buf_add(path, "/", 1);
    buf_add(path, name, len);
    return (ssize_t)old;
}

void reach_up(struct buf *path, ssize_t len)
{
    path->len = (size_t)len;
}
