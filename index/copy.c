/* SPDX-License-Identifier: MIT */
#include "index/copy.h"

#include "index/apply.h"
#include "index/attributes.h"
#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/census.h"
#include "index/key.h"
#include "index/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define PIECE (256u * 1024)
#define INSIDE "entry"

struct copy {
    struct reach_root from, to;
    struct census *links;                     /* source inode -> path beneath to, as it is once all is renamed */
    struct buf source, at;                    /* paths of the directory at hand; at begins with the temporary's path */
    size_t temporary;                         /* length of the temporary's path, at's beginning */
    const char *final;                        /* which becomes this */
    uint8_t *a, *b;                           /* PIECE bytes each */
    int (*check)(void *arg, struct error *e); /* NULL: nobody is asked */
    void *arg;
};

struct copy *copy_new(int from, int to)
{
    struct copy *c = mem_new(1, sizeof(*c));
    c->from = (struct reach_root){ "", from };
    c->to = (struct reach_root){ "", to };
    c->links = census_new();
    c->a = mem_new(1, PIECE);
    c->b = mem_new(1, PIECE);
    return c;
}

void copy_free(struct copy *c)
{
    if (!c)
        return;
    census_free(c->links);
    buf_release(&c->source);
    buf_release(&c->at);
    free(c->a);
    free(c->b);
    free(c);
}

void copy_freep(struct copy **c)
{
    copy_free(*c);
}

void copy_ask(struct copy *c, int (*check)(void *arg, struct error *e), void *arg)
{
    c->check = check;
    c->arg = arg;
}

static int go_on(const struct copy *c, struct error *e)
{
    return c && c->check ? c->check(c->arg, e) : 0;
}

static ssize_t read_piece(int fd, uint8_t *to, size_t len, off_t at)
{
    for (;;) {
        ssize_t n = pread(fd, to, len, at);
        if (n >= 0 || errno != EINTR)
            return n;
    }
}

static int copy_run(struct copy *c, int from, int to, off_t at, off_t end, struct error *e)
{
    while (at < end) {
        size_t len = end - at < (off_t)PIECE ? (size_t)(end - at) : PIECE;
        ssize_t n = read_piece(from, c->a, len, at);
        if (n <= 0)
            return error_set(e, ERROR_FAILED, n < 0 ? -errno : -EIO, "read");
        int r = go_on(c, e);
        if (r == 0)
            r = fd_pwrite_all(to, c->a, (size_t)n, (uint64_t)at, e);
        if (r < 0)
            return r;
        at += n;
    }
    return 0;
}

static int copy_data(struct copy *c, int from, int to, off_t size, struct error *e)
{
    if (ftruncate(to, size) < 0)
        return error_set(e, ERROR_FAILED, -errno, "set the size");
    for (off_t at = 0; at < size;) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            break; /* a hole to the end */
        off_t end = data < 0 ? size : lseek(from, data, SEEK_HOLE);
        if (data < 0)
            data = at;
        if (end < 0 || end > size)
            end = size;
        int r = copy_run(c, from, to, data, end, e);
        if (r < 0)
            return r;
        at = end;
    }
    if (fsync(to) < 0)
        return error_set(e, ERROR_FAILED, -errno, "fsync");
    return 0;
}

/* Where fd has data at or after at; its end: nowhere. */
static off_t next_data(int fd, off_t at)
{
    off_t data = lseek(fd, at, SEEK_DATA);
    return data >= 0 ? data : errno == ENXIO ? lseek(fd, 0, SEEK_END) : at;
}

/* 1: both files hold the same bytes. What is a hole in both is not read. c: NULL, or who is asked. */
static int same_bytes(const struct copy *c, int x, int y, uint8_t *a, uint8_t *b, struct error *e)
{
    for (off_t at = 0;;) {
        off_t data = next_data(x, at), other = next_data(y, at);
        data = data < other ? data : other;
        at = data > at ? data : at;
        int r = go_on(c, e);
        if (r < 0)
            return r;
        ssize_t n = read_piece(x, a, PIECE, at), m = read_piece(y, b, PIECE, at);
        if (n < 0 || m < 0)
            return error_set(e, ERROR_FAILED, -errno, "read again");
        if (n != m || memcmp(a, b, (size_t)n) != 0)
            return 0;
        if (n == 0)
            return 1;
        at += n;
    }
}

static int copy_file(struct copy *c, int from, const char *name, const struct entry *n, int to, const char *as,
                     struct error *e)
{
    _cleanup_close_ int source = reach_file(from, name);
    if (source < 0)
        return error_set(e, ERROR_FAILED, source, "open");
    _cleanup_close_ int made = openat(to, as, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (made < 0)
        return error_set(e, ERROR_FAILED, -errno, "create");
    int r = copy_data(c, source, made, (off_t)n->size, e);
    if (r == 0)
        r = same_bytes(c, source, made, c->a, c->b, e);
    if (r == 0)
        return error_say(e, ERROR_FAILED, -EIO, "the copy is not what was copied");
    if (r > 0)
        r = apply_attributes(made, "", n, e);
    if (r == 0 && fsync(made) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "fsync");
    return r;
}

/* 1: as is now another name of a file that was copied before. */
static int make_link(struct copy *c, const struct attributes *a, int to, const char *as, struct error *e)
{
    const char *first = census_first(c->links, a->device, a->inode);
    if (!first)
        return 0;
    size_t len = strlen(c->final);
    bool inside = strncmp(first, c->final, len) == 0 && (first[len] == '/' || !first[len]);
    _cleanup_free_ char *now =
        inside ? mem_printf("%.*s%s", (int)c->temporary, buf_string(&c->at), first + len) : mem_strdup(first);
    _cleanup_close_ int parent = -1;
    const char *name;
    int r = reach_parent(c->to.fd, now, &parent, &name);
    if (r == 0 && linkat(parent, name, to, as, 0) < 0)
        r = -errno;
    return r < 0 ? error_set(e, ERROR_FAILED, r, "link to %s", first) : 1;
}

/* Everything but directories. c->at: the directory's path (or the temporary itself when alone). */
static int copy_leaf(struct copy *c, int from, const char *name, const struct attributes *a, int to, const char *as,
                     bool alone, struct error *e)
{
    int r = make_link(c, a, to, as, e); /* even if it has one name: others may have been removed once copied */
    if (r != 0)
        return r < 0 ? r : 0;
    r = a->entry.type == ENTRY_FILE ? copy_file(c, from, name, &a->entry, to, as, e)
                                    : apply_special(to, as, &a->entry, e);
    if (r < 0 || a->links < 2)
        return r;
    const char *below = buf_string(&c->at) + c->temporary;
    _cleanup_free_ char *path = alone ? mem_strdup(c->final) : mem_printf("%s%s/%s", c->final, below, name);
    census_remember(c->links, a->device, a->inode, path);
    return 0;
}

static bool passed_over(const struct attributes *a)
{
    return a->socket || a->whiteout || !a->entry.type;
}

/* What lies in from itself; directories are only made, for copy_below to fill. */
static int copy_names(struct copy *c, int from, int to, const struct names *l, struct error *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < l->count; i++) {
        const char *name = names_get(l, i);
        if (l->items[i].type == DT_DIR) {
            r = mkdirat(to, name, 0700) < 0 ? error_set(e, ERROR_FAILED, -errno, "make a directory") : 0;
        } else {
            struct attributes a = { 0 };
            r = attributes_read(from, name, &a, e);
            if (r == 0 && !passed_over(&a))
                r = copy_leaf(c, from, name, &a, to, name, false, e);
            attributes_release(&a);
        }
        if (r < 0)
            error_prefix(e, "%s", name);
    }
    return r;
}

static int copy_below(struct copy *c, int from, int to, unsigned depth, struct error *e);

static int go_down(struct copy *c, int from, int to, const char *name, unsigned depth, struct error *e)
{
    ssize_t up = reach_down(&c->source, name, e), back = up < 0 ? up : reach_down(&c->at, name, e);
    if (back < 0)
        return (int)back;
    int source = reach_directory(&c->from, from, buf_string(&c->source), name);
    int made = source < 0 ? source : reach_directory(&c->to, to, buf_string(&c->at), name);
    int r = 0;
    if (made >= 0)
        r = copy_below(c, source, made, depth + 1, e);
    else
        r = error_set(e, ERROR_FAILED, made, "open %s", name);
    if (made < 0 && source >= 0)
        close(source);
    reach_up(&c->source, up);
    reach_up(&c->at, back);
    return r;
}

/* The directory c->source to the directory c->at, which is new. Takes both descriptors. */
static int copy_below(struct copy *c, int from, int to, unsigned depth, struct error *e)
{
    _cleanup_close_ int source = from, made = to;
    _cleanup_(names_release) struct names l = { 0 };
    _cleanup_(attributes_release) struct attributes a = { 0 };
    int r = attributes_read(source, "", &a, e);
    if (r == 0)
        r = names_read(source, &l, e);
    if (r == 0)
        r = copy_names(c, source, made, &l, e);
    if (depth > REACH_OPEN_MAX) {
        close(mem_steal_fd(&source));
        close(mem_steal_fd(&made));
    }
    for (size_t i = 0; r == 0 && i < l.count; i++)
        if (l.items[i].type == DT_DIR)
            r = go_down(c, source, made, names_get(&l, i), depth, e);
    if (r < 0)
        return r;
    if (made < 0)
        made = reach_directory(&c->to, -1, buf_string(&c->at), "");
    if (made < 0)
        return error_set(e, ERROR_FAILED, made, "open %s again", buf_string(&c->at));
    r = apply_attributes(made, "", &a.entry, e);
    return r == 0 && fsync(made) < 0 ? error_set(e, ERROR_FAILED, -errno, "fsync") : r;
}

/* The entry name of from, complete under INSIDE in room. */
static int copy_aside(struct copy *c, int from, const char *name, const struct attributes *a, int room, struct error *e)
{
    if (a->entry.type != ENTRY_DIRECTORY)
        return copy_leaf(c, from, name, a, room, INSIDE, true, e);
    if (mkdirat(room, INSIDE, 0700) < 0)
        return error_set(e, ERROR_FAILED, -errno, "make a directory");
    int source = reach_directory(&c->from, from, "", name);
    int made = source < 0 ? source : reach_directory(&c->to, room, "", INSIDE);
    if (made >= 0)
        return copy_below(c, source, made, 0, e);
    if (source >= 0)
        close(source);
    return error_set(e, ERROR_FAILED, made, "open");
}

/* For whoever goes on after a kill, too, the directory is as old as it was: its times are set back at once. */
static int make_room(struct copy *c, int to, const struct timespec times[2], int *ret, struct error *e)
{
    if (mkdirat(to, COPY_TEMPORARY, 0700) < 0 || futimens(to, times) < 0)
        return error_set(e, ERROR_FAILED, -errno, "make a directory");
    int room = reach_directory(&c->to, to, "", COPY_TEMPORARY);
    if (room < 0)
        return error_set(e, ERROR_FAILED, room, "open %s", COPY_TEMPORARY);
    *ret = room;
    return 0;
}

static int clear_room(int to, const struct timespec times[2], struct error *e)
{
    struct stat st;
    if (fstatat(to, COPY_TEMPORARY, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : error_set(e, ERROR_FAILED, -errno, "stat %s", COPY_TEMPORARY);
    int r = remove_tree(to, COPY_TEMPORARY, e);
    futimens(to, times);
    return r;
}

/* Into its place, which must be free; the directory's times as they were. */
static int put_in_place(int room, int to, const char *as, const struct timespec times[2], struct error *e)
{
    crash_point("copy.made");
    if (renameat2(room, INSIDE, to, as, RENAME_NOREPLACE) < 0)
        return errno == EEXIST ? -EEXIST : error_set(e, ERROR_FAILED, -errno, "rename");
    unlinkat(to, COPY_TEMPORARY, AT_REMOVEDIR);
    if (futimens(to, times) < 0 || fsync(to) < 0)
        return error_set(e, ERROR_FAILED, -errno, "fsync the directory");
    return 0;
}

static int copy_between(struct copy *c, int from, const char *name, int to, const char *as, struct error *e)
{
    _cleanup_close_ int room = -1;
    struct stat st;
    if (fstat(to, &st) < 0)
        return error_set(e, ERROR_FAILED, -errno, "stat");
    struct timespec times[2] = { st.st_atim, st.st_mtim };
    int r = clear_room(to, times, e);
    if (r < 0)
        return r;
    if (fstatat(to, as, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return -EEXIST;
    _cleanup_(attributes_release) struct attributes a = { 0 };
    r = attributes_read(from, name, &a, e);
    if (r < 0 || passed_over(&a))
        return r;
    r = make_room(c, to, times, &room, e);
    if (r == 0)
        r = copy_aside(c, from, name, &a, room, e);
    if (r == 0)
        r = put_in_place(room, to, as, times, e);
    if (r < 0) {
        clear_room(to, times, NULL);
        census_free(c->links); /* it may hold names that never came to be */
        c->links = census_new();
    }
    return r;
}

int copy_entry(struct copy *c, const char *from, const char *to, struct error *e)
{
    _cleanup_close_ int source = -1, target = -1;
    const char *name, *as;
    int r = reach_parent(c->to.fd, to, &target, &as);
    if (r < 0)
        return r;
    r = reach_parent(c->from.fd, from, &source, &name);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "open the directory of %s", from);

    buf_clear(&c->source);
    buf_add(&c->source, from, strlen(from));
    buf_clear(&c->at);
    buf_add(&c->at, to, (size_t)(as - to));
    buf_printf(&c->at, "%s/%s", COPY_TEMPORARY, INSIDE);
    c->temporary = c->at.len;
    c->final = to;
    r = copy_between(c, source, name, target, as, e);
    return r < 0 && r != -EEXIST ? (error_prefix(e, "copy %s", from), r) : r;
}

int copy_same_content(int a_directory, const char *a, int b_directory, const char *b, bool *ret, struct error *e)
{
    _cleanup_close_ int m = reach_file(a_directory, a), n = reach_file(b_directory, b);
    if (m < 0 || n < 0)
        return error_set(e, ERROR_FAILED, m < 0 ? m : n, "open");
    _cleanup_free_ uint8_t *room = mem_new(2, PIECE);
    int r = same_bytes(NULL, m, n, room, room + PIECE, e);
    if (r >= 0)
        *ret = r;
    return r < 0 ? r : 0;
}

int copy_alike(int a_directory, const char *a, int b_directory, const char *b, bool *ret, struct error *e)
{
    _cleanup_(attributes_release) struct attributes x = { 0 }, y = { 0 };
    int r = attributes_read(a_directory, a, &x, e);
    if (r == 0)
        r = attributes_read(b_directory, b, &y, e);
    if (r < 0)
        return r;
    *ret = entry_same(&x.entry, &y.entry);
    return *ret && x.entry.type == ENTRY_FILE ? copy_same_content(a_directory, a, b_directory, b, ret, e) : 0;
}
