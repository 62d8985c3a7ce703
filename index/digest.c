/* SPDX-License-Identifier: MIT */
#include "index/digest.h"

#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/descent.h"
#include "index/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <uthash.h>

#define BUFFER_LEN (1024u * 1024)

struct inode_id {
    uint64_t device, inode;
};

/* An inode of several names. path: its first; NULL: one of its names is .auth-secret. */
struct inode {
    struct inode_id id;
    char *path;
    UT_hash_handle hh;
};

struct digester {
    crypto_hash_sha256_state state;
    const struct exclude *x;
    FILE *dump;
    struct digest sum;
    struct inode *inodes;
    struct buf line;
    struct buf names; /* of extended attributes */
    uint8_t *buffer;
};

static void digester_release(struct digester *d)
{
    struct inode *i, *next;
    HASH_ITER (hh, d->inodes, i, next) {
        HASH_DEL(d->inodes, i);
        free(i->path);
        free(i);
    }
    buf_release(&d->line);
    buf_release(&d->names);
    free(d->buffer);
}

static struct inode *find_inode(struct digester *d, const struct stat *st)
{
    struct inode_id id = { st->st_dev, st->st_ino };
    struct inode *found;
    HASH_FIND(hh, d->inodes, &id, sizeof(id), found);
    return found;
}

static void add_inode(struct digester *d, const struct stat *st, char *path)
{
    struct inode *i = mem_new(1, sizeof(*i));
    i->id = (struct inode_id){ st->st_dev, st->st_ino };
    i->path = path;
    HASH_ADD(hh, d->inodes, id, sizeof(i->id), i);
}

static void put_escaped(struct buf *to, const void *p, size_t n)
{
    const uint8_t *at = p;
    for (size_t i = 0; i < n; i++) {
        if (at[i] >= '!' && at[i] <= '~' && at[i] != '\\')
            buf_add(to, at + i, 1);
        else
            buf_printf(to, "\\x%02x", at[i]);
    }
}

static int hash_line(struct digester *d, struct error *e)
{
    buf_add(&d->line, "\n", 1);
    crypto_hash_sha256_update(&d->state, d->line.data, d->line.len);
    d->sum.entries++;
    if (d->dump && fwrite(d->line.data, 1, d->line.len, d->dump) != d->line.len)
        return error_set(e, ERROR_FAILED, errno ? -errno : -EIO, "write the dump");
    return 0;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int put_xattr(struct digester *d, const char *at, const char *name, struct error *e)
{
    ssize_t n = lgetxattr(at, name, d->buffer, BUFFER_LEN);
    if (n < 0)
        return error_set(e, ERROR_FAILED, -errno, "read attribute %s", name);
    buf_add(&d->line, " ", 1);
    put_escaped(&d->line, name, strlen(name));
    buf_add(&d->line, "=", 1);
    buf_reserve(&d->line, 2 * (size_t)n + 1);
    text_hex((char *)d->line.data + d->line.len, d->buffer, (size_t)n);
    d->line.len += 2 * (size_t)n;
    return 0;
}

/* Through /proc: it takes links, fifos and devices too, which cannot be opened, and has no limit of depth. */
static int put_xattrs(struct digester *d, int dir, const char *name, struct error *e)
{
    char at[320];
    snprintf(at, sizeof(at), "/proc/self/fd/%d/%s", dir, name);
    buf_clear(&d->names);
    buf_reserve(&d->names, 64u * 1024); /* XATTR_LIST_MAX */
    ssize_t n = llistxattr(at, (char *)d->names.data, d->names.room);
    if (n < 0 && errno == EOPNOTSUPP)
        return 0;
    if (n < 0)
        return error_set(e, ERROR_FAILED, -errno, "list attributes");

    size_t count = 0;
    const char *names = (const char *)d->names.data;
    _cleanup_free_ const char **sorted = mem_new((size_t)n / 2 + 1, sizeof(*sorted));
    for (const char *p = names; p < names + n; p += strlen(p) + 1) {
        if (!entry_xattr_left_out(p))
            sorted[count++] = p;
    }
    qsort(sorted, count, sizeof(*sorted), by_bytes);
    for (size_t i = 0; i < count; i++) {
        int r = put_xattr(d, at, sorted[i], e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int put_content(struct digester *d, int dir, const char *name, struct error *e)
{
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "open");

    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    uint64_t size = 0;
    for (;;) {
        ssize_t n = read(fd, d->buffer, BUFFER_LEN);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(e, ERROR_FAILED, -errno, "read");
        if (n == 0)
            break;
        crypto_hash_sha256_update(&state, d->buffer, (size_t)n);
        size += (uint64_t)n;
    }

    uint8_t sum[crypto_hash_sha256_BYTES];
    char text[2 * sizeof(sum) + 1];
    crypto_hash_sha256_final(&state, sum);
    text_hex(text, sum, sizeof(sum));
    buf_printf(&d->line, " %" PRIu64 " %s", size, text);
    d->sum.bytes += size;
    return 0;
}

static int put_target(struct digester *d, int dir, const char *name, struct error *e)
{
    ssize_t n = readlinkat(dir, name, (char *)d->buffer, BUFFER_LEN);
    if (n < 0)
        return error_set(e, ERROR_FAILED, -errno, "read link");
    buf_add(&d->line, " ", 1);
    put_escaped(&d->line, d->buffer, (size_t)n);
    return 0;
}

static const char *type_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "directory";
    case S_IFREG:
        return "file";
    case S_IFLNK:
        return "symlink";
    case S_IFIFO:
        return "fifo";
    case S_IFCHR:
        return "character";
    case S_IFBLK:
        return "block";
    default:
        return NULL;
    }
}

/* The line of one inode at its first name. */
static int hash_inode(struct digester *d, struct bytes path, int dir, const char *name, const struct stat *st,
                      struct error *e)
{
    const char *type = type_name(st->st_mode);
    if (!type)
        return error_say(e, ERROR_FAILED, -EINVAL, "a file of an unknown type");

    buf_clear(&d->line);
    put_escaped(&d->line, path.data, path.len);
    buf_printf(&d->line, " %s %04o %u %u %lld.%09ld", type, st->st_mode & 07777, st->st_uid, st->st_gid,
               (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
    int r = 0;
    if (S_ISREG(st->st_mode))
        r = put_content(d, dir, name, e);
    else if (S_ISLNK(st->st_mode))
        r = put_target(d, dir, name, e);
    else if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
        buf_printf(&d->line, " %u:%u", major(st->st_rdev), minor(st->st_rdev));
    if (r == 0)
        r = put_xattrs(d, dir, name, e);
    return r < 0 ? r : hash_line(d, e);
}

static int hash_link(struct digester *d, struct bytes path, const char *first, struct error *e)
{
    buf_clear(&d->line);
    put_escaped(&d->line, path.data, path.len);
    buf_add(&d->line, " link ", 6);
    put_escaped(&d->line, first, strlen(first));
    return hash_line(d, e);
}

static int hash_entry(struct digester *d, const struct descent_entry *n, struct error *e)
{
    if (S_ISSOCK(n->st.st_mode)) {
        d->sum.sockets++;
        return 0;
    }
    if (!S_ISDIR(n->st.st_mode) && n->st.st_nlink > 1) {
        const struct inode *i = find_inode(d, &n->st);
        if (i)
            return i->path ? hash_link(d, n->path, i->path, e) : 0;
        add_inode(d, &n->st, mem_copy(n->path.data, n->path.len));
    }
    return hash_inode(d, n->path, n->dir, n->name, &n->st, e);
}

/* Notes the inodes that have .auth-secret among their names: a path that comes first must know. */
static int find_secrets(struct digester *d, int root, struct error *e)
{
    _cleanup_(descent_freep) struct descent *walk = NULL;
    struct descent_entry n;
    int r = descent_new(root, &walk, e);
    while (r >= 0 && (r = descent_next(walk, &n, e)) > 0) {
        if (S_ISDIR(n.st.st_mode))
            descent_enter(walk);
        else if (n.st.st_nlink > 1 && strcmp(n.name, EXCLUDE_AUTH_SECRET) == 0 && !find_inode(d, &n.st))
            add_inode(d, &n.st, NULL);
    }
    return r;
}

static int hash_tree(struct digester *d, int root, struct error *e)
{
    _cleanup_(descent_freep) struct descent *walk = NULL;
    struct descent_entry n;
    int r = descent_new(root, &walk, e);
    while (r >= 0 && (r = descent_next(walk, &n, e)) > 0) {
        bool directory = S_ISDIR(n.st.st_mode);
        if (exclude_entry(d->x, n.path, directory))
            continue;
        if (directory)
            descent_enter(walk);
        r = hash_entry(d, &n, e);
        if (r < 0) {
            _cleanup_(buf_release) struct buf text = { 0 };
            text_escape(&text, n.path.data, n.path.len);
            error_prefix(e, "%s", buf_string(&text));
        }
    }
    return r;
}

int digest_directory(const char *path, const struct exclude *x, FILE *dump, struct digest *ret, struct error *e)
{
    _cleanup_close_ int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return error_set(e, ERROR_FAILED, -errno, "open directory %s", path);
    struct stat st;
    if (fstat(root, &st) < 0)
        return error_set(e, ERROR_FAILED, -errno, "look at %s", path);

    _cleanup_(digester_release) struct digester d = { .x = x, .dump = dump, .buffer = mem_new(BUFFER_LEN, 1) };
    crypto_hash_sha256_init(&d.state);
    int r = find_secrets(&d, root, e);
    if (r == 0)
        r = hash_inode(&d, (struct bytes){ (const uint8_t *)".", 1 }, root, ".", &st, e);
    if (r == 0)
        r = hash_tree(&d, root, e);
    if (r < 0)
        return r;
    if (dump && fflush(dump) != 0)
        return error_set(e, ERROR_FAILED, -errno, "write the dump");

    crypto_hash_sha256_final(&d.state, d.sum.sha256);
    *ret = d.sum;
    return 0;
}

void digest_text(const struct digest *d, char to[65])
{
    text_hex(to, d->sha256, sizeof(d->sha256));
}
