/* SPDX-License-Identifier: MIT */
#include "index/base/fd.h"

#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int fd_write_all(int fd, const void *data, size_t len, struct error *e)
{
    const char *p = data;
    while (len > 0) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set(e, ERROR_FAILED, n < 0 ? -errno : -EIO, "write %zu bytes", len);
        p += n;
        len -= (size_t)n;
    }
    return 0;
}

static int write_temporary(int dir, const char *name, const void *data, size_t len, struct error *e)
{
    _cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "create %s", name);

    int r = fd_write_all(fd, data, len, e);
    if (r < 0)
        return r;
    if (fsync(fd) < 0)
        return error_set(e, ERROR_FAILED, -errno, "fsync %s", name);

    /* NFS and quotas report a full disk here and nowhere else. */
    if (close(mem_steal_fd(&fd)) < 0)
        return error_set(e, ERROR_FAILED, -errno, "close %s", name);
    return 0;
}

int fd_replace(int dir, const char *name, const void *data, size_t len, struct error *e)
{
    char temporary[256];
    if (strchr(name, '/') || snprintf(temporary, sizeof(temporary), ".%s.new", name) >= (int)sizeof(temporary))
        return error_set(e, ERROR_FAILED, -EINVAL, "replace %s", name);

    int r = write_temporary(dir, temporary, data, len, e);
    if (r < 0)
        goto undo;
    if (renameat(dir, temporary, dir, name) < 0) {
        r = error_set(e, ERROR_FAILED, -errno, "rename %s", temporary);
        goto undo;
    }
    if (fsync(dir) < 0)
        return error_set(e, ERROR_FAILED, -errno, "fsync the directory of %s", name);
    return 0;

undo:
    unlinkat(dir, temporary, 0);
    error_prefix(e, "replace %s", name);
    return r;
}
