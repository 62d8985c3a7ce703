/* SPDX-License-Identifier: MIT */
#include "sandbox/logins.h"

#include "index/base/clock.h"
#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "sandbox/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* One side's copy of a login. */
struct side {
    int directory;    /* -1: there is none */
    const char *name; /* in it */
    mode_t mode;
    uid_t uid;
    gid_t gid;
    struct buf file, account;
};

static void side_release(struct side *s)
{
    mem_closep(&s->directory);
    buf_release(&s->file);
    buf_release(&s->account);
}

/* What fd, which may be -errno, holds. Not there: nothing. st: of the file, if there is one; may be NULL. */
static int take_bytes(int fd, size_t max, struct buf *ret, struct stat *st, struct error *e)
{
    _cleanup_close_ int file = fd;
    struct stat own;
    st = st ? st : &own;
    if (file == -ENOENT)
        return 0;
    if (file < 0)
        return error_set(e, ERROR_FAILED, mem_steal_fd(&file), "open");
    if (fstat(file, st) < 0)
        return error_set(e, ERROR_FAILED, -errno, "stat");
    if (!S_ISREG(st->st_mode) || (size_t)st->st_size > max)
        return error_say(e, ERROR_FAILED, -EINVAL, "no plain file, or more than %zu bytes", max);
    buf_fill(ret, 0, (size_t)st->st_size);
    return fd_pread_all(file, ret->data, ret->len, 0, e);
}

static void remember(struct side *s, const struct stat *st)
{
    s->mode = st->st_mode & 0777;
    s->uid = st->st_uid;
    s->gid = st->st_gid;
}

static int open_followed(const char *user_home, const char *path, int flags)
{
    _cleanup_free_ char *whole = mem_printf("%s/%s", user_home, path);
    int fd = open(whole, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The file that the name leads to: a link of the user's stays one. */
static int open_host(const char *user_home, const char *path, char **ret_real, struct side *s, struct error *e)
{
    _cleanup_free_ char *whole = mem_printf("%s/%s", user_home, path);
    _cleanup_free_ char *real = realpath(whole, NULL);
    if (!real)
        return errno == ENOENT ? 0 : error_set(e, ERROR_FAILED, -errno, "find %s", whole);
    char *slash = strrchr(real, '/');
    *slash = '\0';
    s->directory = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->directory < 0 || flock(s->directory, LOCK_EX) < 0)
        return error_set(e, ERROR_FAILED, -errno, "lock %s", real);
    s->name = slash + 1;
    *ret_real = mem_steal(real);
    struct stat st;
    int fd = openat(s->directory, s->name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    int r = take_bytes(fd < 0 ? -errno : fd, CREDENTIALS_MAX, &s->file, &st, e);
    if (r == 0 && s->file.len)
        remember(s, &st);
    return r;
}

static int open_box(int home, const char *path, struct side *s, struct error *e)
{
    const char *slash = strchr(path, '/');
    _cleanup_free_ char *parent = mem_copy(path, (size_t)(slash - path));
    if (mkdirat(home, parent, 0700) < 0 && errno != EEXIST)
        return error_set(e, ERROR_FAILED, -errno, "make %s", parent);
    s->directory = fd_open_beneath(home, parent, O_RDONLY | O_DIRECTORY, 0);
    if (s->directory < 0)
        return error_set(e, ERROR_FAILED, s->directory, "open %s", parent);
    s->name = slash + 1;
    struct stat st;
    int r =
        take_bytes(fd_open_beneath(s->directory, s->name, O_RDONLY | O_NONBLOCK, 0), CREDENTIALS_MAX, &s->file, &st, e);
    if (r == 0 && s->file.len)
        remember(s, &st);
    return r;
}

/* Not fd_replace: the box may have put anything where that writes its temporary file, and the mode is kept. The name
 * has the login's in it, so that it enters no snapshot (index/exclude). */
static int replace(const struct side *s, struct bytes text, struct error *e)
{
    char temporary[256];
    snprintf(temporary, sizeof(temporary), ".%.200s.ag-box", s->name);
    if (unlinkat(s->directory, temporary, 0) < 0 && errno != ENOENT)
        return error_set(e, ERROR_FAILED, -errno, "remove %s", temporary);
    _cleanup_close_ int fd =
        openat(s->directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "create %s", temporary);
    int r = fd_write_all(fd, text.data, text.len, e);
    if (r == 0 && (fchown(fd, s->uid, s->gid) < 0 || fchmod(fd, s->mode) < 0 || fsync(fd) < 0 ||
                   renameat(s->directory, temporary, s->directory, s->name) < 0 || fsync(s->directory) < 0))
        r = error_set(e, ERROR_FAILED, -errno, "replace %s", s->name);
    if (r < 0)
        unlinkat(s->directory, temporary, 0);
    return r;
}

/* Who they are is asked only where two copies differ: the file may be large, and not fetched yet. */
static int read_accounts(enum credentials_agent agent, const char *user_home, int home, struct side *host,
                         struct side *box, struct error *e)
{
    const char *path = credentials_account_path[agent];
    if (!path || !host->file.len || !box->file.len)
        return 0;
    int r = take_bytes(open_followed(user_home, path, O_RDONLY), CREDENTIALS_ACCOUNT_MAX, &host->account, NULL, e);
    if (r == 0)
        r = take_bytes(fd_open_beneath(home, path, O_RDONLY | O_NONBLOCK, 0), CREDENTIALS_ACCOUNT_MAX, &box->account,
                       NULL, e);
    return r < 0 ? (error_prefix(e, "%s", path), r) : 0;
}

static int reconcile(enum credentials_agent agent, const char *user_home, int home, struct error *e)
{
    const char *path = credentials_path[agent];
    _cleanup_free_ char *real = NULL;
    _cleanup_(buf_release) struct buf text = { 0 };
    _cleanup_(side_release) struct side host = { .directory = -1, .mode = 0600 },
                                        box = { .directory = -1, .mode = 0600 };
    int r = open_host(user_home, path, &real, &host, e);
    if (r < 0 || !host.file.len)
        return r;
    r = open_box(home, path, &box, e);
    if (r == 0 && bytes_compare(buf_bytes(&host.file), buf_bytes(&box.file)) == 0)
        return 0;
    if (r == 0)
        r = read_accounts(agent, user_home, home, &host, &box, e);
    if (r < 0)
        return r;
    struct credentials_copy of_host = { buf_bytes(&host.file), buf_bytes(&host.account) };
    struct credentials_copy of_box = { buf_bytes(&box.file), buf_bytes(&box.account) };
    enum credentials_verdict v = credentials_decide(agent, &of_host, &of_box, clock_wall_ns() / 1000000000, &text);
    if (v == CREDENTIALS_KEEP)
        return 0;
    r = replace(v == CREDENTIALS_TO_BOX ? &box : &host, buf_bytes(&text), e);
    if (r == 0)
        log_info("%s: the %s's login is now the %s's, too", path, v == CREDENTIALS_TO_BOX ? "host" : "box",
                 v == CREDENTIALS_TO_BOX ? "box" : "host");
    return r;
}

void logins_reconcile(const char *user_home, int home)
{
    for (int agent = 0; agent < CREDENTIALS_AGENTS; agent++) {
        struct error e = { 0 };
        if (reconcile((enum credentials_agent)agent, user_home, home, &e) < 0)
            log_warn("the login %s stays as it is: %s", credentials_path[agent], e.text);
    }
}
