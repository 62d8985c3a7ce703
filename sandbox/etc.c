/* SPDX-License-Identifier: MIT */
#include "sandbox/etc.h"

#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/base/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#define LINKS_MAX 16
#define NEW_NAME ".ag-box.new"

static const char *const key_names[] = { "*_key", "*.key",  "*.keytab", "*.p12",
                                         "*.pfx", "id_rsa", "id_ecdsa", "id_ed25519" };

/* What an agent may need, and holds no secret: who may use sudo. */
static const char *const excepted[] = { "sudoers", "sudoers.d" };

/* What a program that runs for days must see of a machine that moves, and of a /usr that is the machine's own. */
static const struct {
    const char *name;
    bool behind_link; /* what the link leads to, which the box has not */
} followed[] = {
    { "resolv.conf", true }, { "hosts", false }, { "localtime", false }, { "timezone", false }, { "ld.so.cache", false }
};

struct making {
    const struct words *ours;
    uint64_t bytes;
    unsigned entries;
};

/* An entry on its way: from/name becomes to/as. */
struct etc_entry {
    int from, to;
    const char *name, *as, *path; /* path: on the host, for messages */
    unsigned depth;               /* 0: /etc itself */
    bool readable;                /* whatever its mode says */
    bool behind_link;
};

static bool is_key_name(const char *name)
{
    for (size_t i = 0; i < sizeof(key_names) / sizeof(key_names[0]); i++)
        if (fnmatch(key_names[i], name, 0) == 0)
            return true;
    return false;
}

/* PEM, OpenSSH and PGP say so in words. */
static bool holds_key(const struct buf *text)
{
    return text->len > 0 && (memmem(text->data, text->len, "PRIVATE KEY-----", 16) ||
                             memmem(text->data, text->len, "PRIVATE KEY BLOCK", 17));
}

/* All of a file that the host may be changing; false: it cannot be read. */
static bool read_whole(int fd, size_t size, struct buf *ret)
{
    buf_fill(ret, 0, size);
    size_t have = 0;
    ssize_t n = 0;
    while (have < size &&
           ((n = pread(fd, ret->data + have, size - have, (off_t)have)) > 0 || (n < 0 && errno == EINTR)))
        have += n > 0 ? (size_t)n : 0;
    bool failed = have < size && n < 0;
    ret->len = have;
    return !failed;
}

/* Who may read it is the last thing that it gets. */
static int put_file(const struct etc_entry *n, const struct buf *text, const struct stat *st, struct error *e)
{
    const struct timespec times[] = { st->st_mtim, st->st_mtim };
    _cleanup_close_ int fd = openat(n->to, n->as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "copy %s", n->path);
    int r = fd_write_all(fd, text->data, text->len, e);
    if (r < 0)
        return error_prefix(e, "copy %s", n->path);
    if (fchown(fd, st->st_uid, st->st_gid) < 0 || fchmod(fd, st->st_mode & 0777) < 0 || futimens(fd, times) < 0)
        return error_set(e, ERROR_FAILED, -errno, "copy %s", n->path);
    return 0;
}

/* The mode and the content that count are those of the file that was opened, whatever has its name by then. */
static int copy_file(struct making *m, const struct etc_entry *n, struct error *e)
{
    _cleanup_(buf_release) struct buf text = { 0 };
    int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (n->behind_link ? 0 : O_NOFOLLOW);
    _cleanup_close_ int fd = openat(n->from, n->name, flags);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    if (!n->readable && (!(st.st_mode & S_IROTH) || is_key_name(n->name)))
        return 0;
    if (st.st_size > ETC_FILE_MAX) {
        log_warn("a box does not see %s: it has more than %d bytes", n->path, ETC_FILE_MAX);
        return 0;
    }
    if (!read_whole(fd, (size_t)st.st_size, &text) || (!n->readable && holds_key(&text)))
        return 0;
    m->bytes += text.len;
    return put_file(n, &text, &st, e);
}

static int copy_link(const struct etc_entry *n, const struct stat *st, struct error *e)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(n->from, n->name, target, sizeof(target) - 1);
    if (len <= 0)
        return 0;
    target[len] = '\0';
    if (symlinkat(target, n->to, n->as) < 0 || fchownat(n->to, n->as, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW) < 0)
        return error_set(e, ERROR_FAILED, -errno, "copy %s", n->path);
    return 0;
}

static int copy_below(struct making *m, const struct etc_entry *above, int from, int to, struct error *e);

static int copy_directory(struct making *m, const struct etc_entry *n, struct error *e)
{
    _cleanup_close_ int from = openat(n->from, n->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (from < 0 || fstat(from, &st) < 0 || (!n->readable && !(st.st_mode & S_IXOTH)) ||
        (m->ours && words_has(m->ours, n->path)))
        return 0;
    if (mkdirat(n->to, n->as, 0700) < 0)
        return error_set(e, ERROR_FAILED, -errno, "copy %s", n->path);
    _cleanup_close_ int to = openat(n->to, n->as, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = to < 0 ? error_set(e, ERROR_FAILED, -errno, "copy %s", n->path) : copy_below(m, n, from, to, e);
    if (r == 0 && (fchown(to, st.st_uid, st.st_gid) < 0 || fchmod(to, st.st_mode & 0777) < 0))
        r = error_set(e, ERROR_FAILED, -errno, "copy %s", n->path);
    return r;
}

static int copy_entry(struct making *m, const struct etc_entry *n, struct error *e)
{
    struct stat st;
    if (++m->entries > ETC_ENTRIES_MAX || m->bytes > ETC_TOTAL_MAX || n->depth > ETC_DEPTH_MAX) {
        error_say(e, ERROR_FAILED, -E2BIG,
                  "a box cannot have a copy of /etc: at %s it is more than %d files, %d MiB or %d levels", n->path,
                  ETC_ENTRIES_MAX, ETC_TOTAL_MAX >> 20, ETC_DEPTH_MAX);
        return error_hint(e, "move what is large elsewhere, or into a directory that only root can enter");
    }
    if (fstatat(n->from, n->name, &st, n->behind_link ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    return S_ISREG(st.st_mode)                      ? copy_file(m, n, e)
           : S_ISLNK(st.st_mode)                    ? copy_link(n, &st, e)
           : S_ISDIR(st.st_mode) && !n->behind_link ? copy_directory(m, n, e)
                                                    : 0;
}

static int copy_below(struct making *m, const struct etc_entry *above, int from, int to, struct error *e)
{
    int own = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = own < 0 ? NULL : fdopendir(own);
    if (!d) {
        int r = error_set(e, ERROR_FAILED, -errno, "read %s", above->path);
        mem_closep(&own);
        return r;
    }
    int r = 0;
    for (struct dirent *n; r == 0 && (n = readdir(d));) {
        if (strcmp(n->d_name, ".") == 0 || strcmp(n->d_name, "..") == 0)
            continue;
        _cleanup_free_ char *path = mem_printf("%s/%s", above->path, n->d_name);
        struct etc_entry below = { .from = from,
                                   .to = to,
                                   .name = n->d_name,
                                   .as = n->d_name,
                                   .path = path,
                                   .depth = above->depth + 1,
                                   .readable = above->readable };
        for (size_t i = 0; below.depth == 1 && i < sizeof(excepted) / sizeof(excepted[0]); i++)
            below.readable |= strcmp(n->d_name, excepted[i]) == 0;
        r = copy_entry(m, &below, e);
    }
    closedir(d);
    return r;
}

int etc_make(int run, const char *from, const struct words *ours, struct error *e)
{
    struct making m = { .ours = ours };
    struct etc_entry top = { .from = AT_FDCWD, .to = run, .name = from, .as = ETC_NAME, .path = from };
    int r = remove_tree(run, ETC_NAME, e);
    if (r == 0)
        r = copy_directory(&m, &top, e);
    struct stat st;
    if (r == 0 && fstatat(run, ETC_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
        r = error_say(e, ERROR_FAILED, -ENOENT, "%s is no directory that everybody can enter", from);
    return r;
}

/* The directory that path lies in; if that is not there, the next one above, where it may come to be. */
static void watch_above(int watch, const char *path)
{
    const uint32_t what = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF |
                          IN_MOVE_SELF | IN_ONLYDIR;
    _cleanup_free_ char *above = mem_strdup(path);
    for (char *slash; (slash = strrchr(above, '/'));) {
        slash[slash == above ? 1 : 0] = '\0';
        if (inotify_add_watch(watch, above, what) >= 0 || errno != ENOENT || slash == above)
            return;
    }
}

/* Each link on the way may be replaced, and what it leads to. */
static void watch_way(int watch, const char *path)
{
    _cleanup_free_ char *at = mem_strdup(path);
    for (unsigned links = 0; links < LINKS_MAX; links++) {
        char target[PATH_MAX];
        watch_above(watch, at);
        ssize_t len = readlink(at, target, sizeof(target) - 1);
        if (len <= 0)
            return;
        target[len] = '\0';
        char *next =
            target[0] == '/' ? mem_strdup(target) : mem_printf("%.*s/%s", (int)(strrchr(at, '/') - at), at, target);
        free(at);
        at = next;
    }
}

/* But for their times. */
static bool are_alike(int dir, const char *a, const char *b)
{
    struct stat x, y;
    if (fstatat(dir, a, &x, AT_SYMLINK_NOFOLLOW) < 0 || fstatat(dir, b, &y, AT_SYMLINK_NOFOLLOW) < 0 ||
        x.st_mode != y.st_mode || x.st_uid != y.st_uid || x.st_gid != y.st_gid || x.st_size != y.st_size)
        return false;
    if (S_ISLNK(x.st_mode)) {
        char to_a[PATH_MAX], to_b[PATH_MAX];
        ssize_t n = readlinkat(dir, a, to_a, sizeof(to_a));
        return n >= 0 && readlinkat(dir, b, to_b, sizeof(to_b)) == n && memcmp(to_a, to_b, (size_t)n) == 0;
    }
    _cleanup_(buf_release) struct buf in_a = { 0 }, in_b = { 0 };
    return fd_read_file(dir, a, ETC_FILE_MAX, &in_a, NULL) == 0 &&
           fd_read_file(dir, b, ETC_FILE_MAX, &in_b, NULL) == 0 &&
           bytes_compare(buf_bytes(&in_a), buf_bytes(&in_b)) == 0;
}

static int follow(int from, int to, size_t i, struct error *e)
{
    struct making m = { 0 };
    const char *name = followed[i].name;
    struct etc_entry n = {
        .from = from, .to = to, .name = name, .as = NEW_NAME, .path = name, .behind_link = followed[i].behind_link
    };
    unlinkat(to, NEW_NAME, 0);
    int r = copy_entry(&m, &n, e);
    if (r == 0 && are_alike(to, NEW_NAME, name)) {
        unlinkat(to, NEW_NAME, 0);
        return 0;
    }
    if (r < 0 || renameat(to, NEW_NAME, to, name) == 0)
        return r;
    if (errno == ENOENT && (unlinkat(to, name, 0) == 0 || errno == ENOENT)) /* the host has none */
        return 0;
    return error_set(e, ERROR_FAILED, -errno, "replace %s", name);
}

/* Anew: what is no longer on a way is not watched either. */
static void begin_watch(int *watch)
{
    int made = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (made < 0) /* what there is goes on */
        return;
    mem_closep(watch);
    *watch = made;
}

void etc_follow(int run, const char *from, int *watch)
{
    _cleanup_close_ int to = openat(run, ETC_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    _cleanup_close_ int host = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0 || host < 0) {
        log_warn("a box's /etc is not kept current: %m");
        return;
    }
    if (watch)
        begin_watch(watch);
    for (size_t i = 0; i < sizeof(followed) / sizeof(followed[0]); i++) {
        struct error e = { 0 };
        _cleanup_free_ char *path = mem_printf("%s/%s", from, followed[i].name);
        if (watch && *watch >= 0)
            watch_way(*watch, path);
        if (follow(host, to, i, &e) < 0)
            log_warn("a box's /etc/%s is not kept current: %s", followed[i].name, e.text);
    }
}

bool etc_changed(int watch)
{
    char events[16 * 1024];
    bool changed = false;
    while (read(watch, events, sizeof(events)) > 0)
        changed = true;
    return changed;
}
