/* SPDX-License-Identifier: MIT */
#include "sandbox/transfer.h"

#include "index/base/buf.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "sandbox/credentials.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE (256u * 1024)
#define SOURCE_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY)

static int check(const struct transfer *t, struct error *e)
{
    return t->check ? t->check(e) : 0;
}

/* By its name, wherever it lies: a copy of a login is one, too. */
static bool is_secret(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (int agent = 0; agent < CREDENTIALS_AGENTS; agent++)
        if (strstr(name, strchr(credentials_path[agent], '/') + 1))
            return true;
    return strcmp(name, ".auth-secret") == 0;
}

/* A plain file for writing, in a directory that is made if need be. */
static int create(const struct transfer *t, const char *path, struct error *e)
{
    for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
        _cleanup_free_ char *parent = mem_copy(path, (size_t)(slash - path));
        const char *name = strrchr(parent, '/');
        _cleanup_free_ char *above = name ? mem_copy(parent, (size_t)(name - parent)) : mem_strdup(".");
        _cleanup_close_ int at = fd_open_beneath(t->to, above, O_RDONLY | O_DIRECTORY, 0);
        if (at < 0)
            return error_set(e, ERROR_FAILED, at, "open %s", above);
        if (mkdirat(at, name ? name + 1 : parent, 0700) < 0 && errno != EEXIST)
            return error_set(e, ERROR_FAILED, -errno, "make %s", parent);
    }
    int fd = fd_open_beneath(t->to, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return fd < 0 ? error_set(e, ERROR_FAILED, fd, "create %s", path) : fd;
}

/* 0; 1: the source cannot be read to its end; or -errno. */
static int copy_bytes(const struct transfer *t, int from, int to, off_t size, uint8_t *piece, off_t *ret_line,
                      struct error *e)
{
    for (off_t at = 0; at < size;) {
        off_t data = lseek(from, at, SEEK_DATA);          /* a hole stays one */
        if ((data < 0 && errno == ENXIO) || data >= size) /* it may have grown behind it */
            break;
        at = data > at ? data : at;
        size_t len = size - at < (off_t)PIECE ? (size_t)(size - at) : PIECE;
        ssize_t n = pread(from, piece, len, at);
        if (n <= 0)
            return 1;
        int r = check(t, e);
        if (r == 0)
            r = fd_pwrite_all(to, piece, (size_t)n, (uint64_t)at, e);
        if (r < 0)
            return r;
        const uint8_t *line = memrchr(piece, '\n', (size_t)n);
        if (line)
            *ret_line = at + (line - piece) + 1;
        at += n;
    }
    return 0;
}

/* What has no lines to be cut at. */
static bool is_compressed(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && strcmp(dot, ".zst") == 0;
}

/* The file as it is at this moment; of one that somebody writes, as far as whole lines go. 1: it cannot be read. */
static int copy_file(struct transfer *t, const char *path, int from, const struct stat *st, int to, struct error *e)
{
    _cleanup_free_ uint8_t *piece = mem_new(1, PIECE);
    off_t line = 0, size = st->st_size;
    struct stat now;
    int r = copy_bytes(t, from, to, size, piece, &line, e);
    if (r != 0)
        return r;
    if (fstat(from, &now) < 0 || now.st_size < size)
        return 1;
    if (now.st_size != size || now.st_mtim.tv_sec != st->st_mtim.tv_sec || now.st_mtim.tv_nsec != st->st_mtim.tv_nsec) {
        if (is_compressed(path))
            return 1;
        size = line;
    }
    const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, st->st_mtim };
    if (ftruncate(to, size) < 0 || futimens(to, times) < 0)
        return error_set(e, ERROR_FAILED, -errno, "finish");
    t->files++;
    t->bytes += (uint64_t)size;
    return 0;
}

static int take_file(struct transfer *t, const char *path, int from, const struct stat *st, struct error *e)
{
    _cleanup_close_ int to = create(t, path, e);
    if (to < 0)
        return to;
    int r = copy_file(t, path, from, st, to, e);
    if (r < 0)
        return error_prefix(e, "%s", path), r;
    if (r == 0)
        return 0;
    t->left_out++;
    const char *slash = strrchr(path, '/');
    _cleanup_free_ char *parent = slash ? mem_copy(path, (size_t)(slash - path)) : mem_strdup(".");
    _cleanup_close_ int at = fd_open_beneath(t->to, parent, O_RDONLY | O_DIRECTORY, 0);
    if (at < 0 || unlinkat(at, slash ? slash + 1 : path, 0) < 0)
        return error_set(e, ERROR_FAILED, at < 0 ? at : -errno, "remove %s", path);
    return 0;
}

static int take_entry(struct transfer *t, const char *path, unsigned depth, struct error *e);

/* Takes the descriptor. */
static int take_directory(struct transfer *t, const char *path, int fd, unsigned depth, struct error *e)
{
    DIR *d = fdopendir(fd);
    if (!d) {
        close(fd);
        return error_set(e, ERROR_FAILED, -errno, "list %s", path);
    }
    int r = 0;
    for (struct dirent *n; r == 0 && (n = readdir(d));) {
        if (strcmp(n->d_name, ".") == 0 || strcmp(n->d_name, "..") == 0)
            continue;
        _cleanup_free_ char *below = mem_printf("%s/%s", path, n->d_name);
        r = take_entry(t, below, depth + 1, e);
    }
    closedir(d);
    return r;
}

static int take_entry(struct transfer *t, const char *path, unsigned depth, struct error *e)
{
    int r = check(t, e);
    if (r < 0)
        return r;
    _cleanup_close_ int from = is_secret(path) ? -EPERM : fd_open_beneath(t->from, path, SOURCE_FLAGS, 0);
    struct stat st = { 0 };
    if (from == -ENOENT)
        return 0;
    if (from >= 0 && fstat(from, &st) == 0 && S_ISREG(st.st_mode))
        return take_file(t, path, from, &st, e);
    if (S_ISDIR(st.st_mode) && depth < TRANSFER_DEPTH_MAX)
        return take_directory(t, path, mem_steal_fd(&from), depth, e);
    t->left_out++;
    return 0;
}

int transfer_entry(struct transfer *t, const char *path, struct error *e)
{
    return take_entry(t, path, 0, e);
}
