/* SPDX-License-Identifier: MIT */
#include "index/base/fd.h"

#include "index/base/crash.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READ_STEP (64u * 1024)

int fd_pread_all(int fd, void *data, size_t len, uint64_t off, struct error *e)
{
    uint8_t *p = data;
    while (len > 0) {
        ssize_t n = pread(fd, p, len, (off_t)off);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(e, ERROR_FAILED, -errno, "read %zu bytes at %ju", len, (uintmax_t)off);
        if (n == 0)
            return error_say(e, ERROR_DAMAGED, -EIO, "the file ends %zu bytes too early", len);
        p += n;
        off += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

int fd_pwrite_all(int fd, const void *data, size_t len, uint64_t off, struct error *e)
{
    const uint8_t *p = data;
    while (len > 0) {
        ssize_t n = pwrite(fd, p, len, (off_t)off);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set(e, ERROR_FAILED, n < 0 ? -errno : -EIO, "write %zu bytes at %ju", len, (uintmax_t)off);
        p += n;
        off += (uint64_t)n;
        len -= (size_t)n;
    }
    return 0;
}

static int read_all(int fd, const char *name, size_t max, struct buf *ret, struct error *e)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    for (;;) {
        buf_reserve(&b, READ_STEP);
        ssize_t n = read(fd, b.data + b.len, READ_STEP);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(e, ERROR_FAILED, -errno, "read %s", name);
        if (n == 0)
            break;
        b.len += (size_t)n;
        if (b.len > max)
            return error_say(e, ERROR_DAMAGED, -EFBIG, "read %s: more than %zu bytes", name, max);
    }
    struct buf before = *ret;
    *ret = b;
    b = before;
    return 0;
}

int fd_read_file(int dir, const char *name, size_t max, struct buf *ret, struct error *e)
{
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? error_set(e, ERROR_FAILED, -errno, "open %s", name) : read_all(fd, name, max, ret, e);
}

int fd_read_regular(int dir, const char *name, size_t max, struct buf *ret, struct error *e)
{
    struct stat st;
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s", name);
    if (!S_ISREG(st.st_mode))
        return error_say(e, ERROR_FAILED, -EINVAL, "%s is no regular file", name);
    return read_all(fd, name, max, ret, e);
}

int fd_make_directories(const char *path, unsigned mode, struct error *e)
{
    if (path[0] != '/')
        return error_set(e, ERROR_FAILED, -EINVAL, "make directory %s", path);

    _cleanup_free_ char *part = mem_strdup(path);
    size_t len = strlen(part);
    for (size_t i = 1; i <= len; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        part[i] = '\0';
        if (mkdir(part, mode) < 0 && errno != EEXIST)
            return error_set(e, ERROR_FAILED, -errno, "make directory %s", part);
        if (i < len)
            part[i] = '/';
    }
    struct stat st;
    if (stat(path, &st) < 0)
        return error_set(e, ERROR_FAILED, -errno, "make directory %s", path);
    if (!S_ISDIR(st.st_mode))
        return error_set(e, ERROR_FAILED, -ENOTDIR, "make directory %s", path);
    return 0;
}

int fd_open_beneath(int dir, const char *path, int flags, unsigned mode)
{
    bool creates = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE; /* O_TMPFILE holds O_DIRECTORY */
    struct open_how how = {
        .flags = (uint64_t)(flags | O_CLOEXEC),
        .mode = creates ? mode : 0, /* EINVAL otherwise */
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    /* EAGAIN: a rename or mount somewhere on the machine raced with the walk (openat2(2)). */
    for (int tries = 0;;) {
        long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
        if (fd >= 0)
            return (int)fd;
        if (errno != EINTR && (errno != EAGAIN || ++tries == 64))
            return -errno;
    }
}

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
    crash_point("replace.written");
    if (fsync(fd) < 0)
        return error_set(e, ERROR_FAILED, -errno, "fsync %s", name);
    crash_point("replace.synced");

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
    crash_point("replace.renamed");
    if (fsync(dir) < 0)
        return error_set(e, ERROR_FAILED, -errno, "fsync the directory of %s", name);
    crash_point("replace.after");
    return 0;

undo:
    unlinkat(dir, temporary, 0);
    error_prefix(e, "replace %s", name);
    return r;
}

void fd_open_standard(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2);
    if (fd > 2)
        close(fd);
}

int fd_socket_address(const char *path, struct sockaddr_un *ret, int *ret_dir, struct error *e)
{
    const char *slash = strrchr(path, '/');
    if (!slash || strlen(slash + 1) > 64)
        return error_say(e, ERROR_USAGE, -EINVAL, "%s cannot be a socket's path", path);
    _cleanup_free_ char *parent = mem_copy(path, (size_t)(slash - path) + 1);
    *ret_dir = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*ret_dir < 0)
        return error_set(e, errno == ENOENT ? ERROR_UNKNOWN : ERROR_FAILED, -errno, "open %s", parent);
    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%.64s", *ret_dir, slash + 1);
    return 0;
}
