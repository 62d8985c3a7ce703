/* SPDX-License-Identifier: MIT */
#include "sandbox/logins.h"

#include "index/base/clock.h"
#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "sandbox/credentials.h"
#include "sandbox/weaken.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_MS 2000
#define LOCK_LOOK_MS 20

/* One side's copy of a login. */
struct side {
    int directory;    /* -1: there is none */
    const char *name; /* in it */
    bool there;
    struct stat st; /* if it is there; what a new one is to have */
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

/* fd: of the login, or -errno. */
static int take_login(struct side *s, int fd, struct error *e)
{
    s->there = fd >= 0;
    return take_bytes(fd, CREDENTIALS_MAX, &s->file, &s->st, e);
}

static bool unchanged(const struct side *s)
{
    struct stat now;
    if (fstatat(s->directory, s->name, &now, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT && !s->there;
    return s->there && now.st_ino == s->st.st_ino && now.st_size == s->st.st_size &&
           now.st_mtim.tv_sec == s->st.st_mtim.tv_sec && now.st_mtim.tv_nsec == s->st.st_mtim.tv_nsec;
}

static int open_followed(const char *user_home, const char *path, int flags)
{
    _cleanup_free_ char *whole = mem_printf("%s/%s", user_home, path);
    int fd = open(whole, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Others hold it for a moment. Not for ever: where a user's link leads to what boxes are shown, any of them can lock
 * it. */
static int lock(int directory)
{
    for (int waited = 0; flock(directory, LOCK_EX | LOCK_NB) < 0; waited += LOCK_LOOK_MS) {
        if (errno != EWOULDBLOCK || waited >= LOCK_MS)
            return -errno;
        poll(NULL, 0, LOCK_LOOK_MS);
    }
    return 0;
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
    int r = s->directory < 0 ? -errno : lock(s->directory);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "lock %s", real);
    s->name = slash + 1;
    *ret_real = mem_steal(real);
    int fd = openat(s->directory, s->name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    return take_login(s, fd < 0 ? -errno : fd, e);
}

static int open_box(int home, const char *path, struct side *s, struct error *e)
{
    const char *slash = strchr(path, '/');
    _cleanup_free_ char *parent = mem_copy(path, (size_t)(slash - path));
    if (mkdirat(home, parent, 0700) < 0 && errno != EEXIST)
        return error_set(e, ERROR_FAILED, -errno, "make %s", parent);
    s->directory = fd_open_beneath(home, parent, O_RDONLY | O_DIRECTORY, 0);
#ifdef AGBOX_FAULT
    if (weaken_is("links"))
        s->directory = openat(home, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
#endif
    if (s->directory < 0)
        return error_set(e, ERROR_FAILED, s->directory, "open %s", parent);
    s->name = slash + 1;
    return take_login(s, fd_open_beneath(s->directory, s->name, O_RDONLY | O_NONBLOCK, 0), e);
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
    if (r == 0 && (fchown(fd, s->st.st_uid, s->st.st_gid) < 0 || fchmod(fd, s->st.st_mode & 0777) < 0 || fsync(fd) < 0))
        r = error_set(e, ERROR_FAILED, -errno, "write %s", temporary);
    if (r == 0 && !unchanged(s))
        r = error_say(e, ERROR_BUSY, -EBUSY, "it is being changed");
    if (r == 0 && (renameat(s->directory, temporary, s->directory, s->name) < 0 || fsync(s->directory) < 0))
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
    _cleanup_(side_release) struct side host = { .directory = -1 }, box = { .directory = -1, .st.st_mode = 0600 };
    int r = open_host(user_home, path, &real, &host, e);
    if (r < 0 || !host.file.len)
        return r;
    r = open_box(home, path, &box, e);
    bool unfinished = box.there && !box.file.len;
    if (r == 0 && (unfinished || bytes_compare(buf_bytes(&host.file), buf_bytes(&box.file)) == 0))
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

/* The directories of the login, as far as they are there, and the box's HOME, where they may come to be. */
static void look_at(int watch, const char *user_home, int home, const char *path)
{
    const uint32_t what = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR;
    _cleanup_free_ char *parent = mem_copy(path, (size_t)(strchr(path, '/') - path));
    _cleanup_close_ int of_host = open_followed(user_home, parent, O_RDONLY | O_DIRECTORY);
    _cleanup_close_ int of_box = fd_open_beneath(home, parent, O_RDONLY | O_DIRECTORY, 0);
    const int fds[] = { home, of_host, of_box };
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        char link[64];
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fds[i]);
        if (fds[i] >= 0 && inotify_add_watch(watch, link, what) < 0)
            log_info("changes of %s are not seen: %m", path);
    }
}

void logins_reconcile(const char *user_home, int home, int watch)
{
    for (int agent = 0; agent < CREDENTIALS_AGENTS; agent++) {
        struct error e = { 0 };
        if (watch >= 0)
            look_at(watch, user_home, home, credentials_path[agent]);
        if (reconcile((enum credentials_agent)agent, user_home, home, &e) < 0)
            log_warn("the login %s stays as it is: %s", credentials_path[agent], e.text);
    }
}

static bool concerns(const struct inotify_event *event)
{
    if (event->mask & IN_Q_OVERFLOW)
        return true;
    if ((event->mask & IN_CREATE) && !(event->mask & IN_ISDIR))
        return false; /* it is about to be written */
    for (int agent = 0; event->len && agent < CREDENTIALS_AGENTS; agent++) {
        const char *path = credentials_path[agent], *name = strchr(path, '/') + 1;
        const char *account = credentials_account_path[agent];
        size_t parent = (size_t)(name - 1 - path);
        if (strcmp(event->name, name) == 0 || (account && strcmp(event->name, account) == 0) ||
            (strncmp(event->name, path, parent) == 0 && !event->name[parent]))
            return true;
    }
    return false;
}

bool logins_changed(int watch)
{
    _Alignas(struct inotify_event) char events[16 * 1024];
    bool changed = false;
    for (ssize_t n; (n = read(watch, events, sizeof(events))) > 0;)
        for (const char *at = events; at < events + n;) {
            const struct inotify_event *event = (const void *)at;
            changed |= concerns(event);
            at += sizeof(*event) + event->len;
        }
    return changed;
}
