/* SPDX-License-Identifier: MIT */
#include "index/attributes.h"

#include "index/base/mem.h"
#include "index/key.h"
#include "index/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define OVERLAY "trusted.overlay."

void attributes_release(struct attributes *a)
{
    entry_release(&a->entry);
    free(a->redirect);
    *a = (struct attributes){ 0 };
}

static bool starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static int64_t nanoseconds(const struct statx_timestamp *t)
{
    int64_t ns;
    if (__builtin_mul_overflow(t->tv_sec, (int64_t)1000000000, &ns) ||
        __builtin_add_overflow(ns, (int64_t)t->tv_nsec, &ns))
        return t->tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return ns;
}

static void take_overlay_xattr(struct attributes *a, const char *name, const char *value, size_t len)
{
    if (strcmp(name, "redirect") == 0 && len > 0) {
        free(a->redirect);
        a->redirect = mem_copy(value, len);
    } else if (strcmp(name, "opaque") == 0) {
        a->opaque = len == 1 && value[0] == 'y';
    } else if (strcmp(name, "metacopy") == 0) {
        a->metacopy = true;
    } else if (strcmp(name, "origin") == 0) {
        a->origin = true;
    } else if (strcmp(name, "whiteout") == 0) {
        a->whiteout = a->entry.type == ENTRY_FILE && a->entry.size == 0;
    }
}

static bool kept(const char *name)
{
    return starts_with(name, "user.") || starts_with(name, "security.") || starts_with(name, "trusted.") ||
           starts_with(name, "system.posix_acl_");
}

static int take_xattr(struct attributes *a, const char *path, const char *name, struct error *e)
{
    char value[ENTRY_XATTR_SIZE_MAX];
    ssize_t n = lgetxattr(path, name, value, sizeof(value));
    if (n < 0 && errno == ENODATA)
        return 0; /* removed since it was listed */
    if (n < 0)
        return error_set(e, ERROR_FAILED, -errno, "read xattr %s", name);
    if (starts_with(name, OVERLAY)) {
        take_overlay_xattr(a, name + strlen(OVERLAY), value, (size_t)n);
        return 0;
    }
    if (entry_xattr_left_out(name))
        return 0;
    struct entry *entry = &a->entry;
    if (entry->xattr_count == ENTRY_XATTRS_MAX)
        return error_say(e, ERROR_FAILED, -E2BIG, "has more than %d xattrs", ENTRY_XATTRS_MAX);
    entry->xattrs = mem_grow(entry->xattrs, entry->xattr_count + 1, sizeof(*entry->xattrs));
    entry->xattrs[entry->xattr_count++] =
        (struct xattr){ .name = mem_strdup(name), .value = mem_copy(value, (size_t)n), .len = (size_t)n };
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct xattr *)a)->name, ((const struct xattr *)b)->name);
}

static int read_xattrs(const char *path, struct attributes *a, struct error *e)
{
    char names[64 * 1024]; /* XATTR_LIST_MAX */
    ssize_t n = llistxattr(path, names, sizeof(names));
    if (n < 0 && errno == EOPNOTSUPP)
        return 0;
    if (n < 0)
        return error_set(e, ERROR_FAILED, -errno, "list xattrs");
    for (const char *name = names; name < names + n; name += strlen(name) + 1) {
        int r = kept(name) ? take_xattr(a, path, name, e) : 0;
        if (r < 0)
            return r;
    }
    if (a->entry.xattr_count > 1)
        qsort(a->entry.xattrs, a->entry.xattr_count, sizeof(*a->entry.xattrs), by_name);
    return 0;
}

static int read_target(int directory, const char *name, struct entry *n, struct error *e)
{
    char target[PATH_LEN_MAX + 2];
    ssize_t len = readlinkat(directory, name, target, sizeof(target));
    if (len < 0) /* EINVAL: it became something else since */
        return error_set(e, ERROR_FAILED, errno == EINVAL ? -ENOENT : -errno, "read a symbolic link");
    if (len > PATH_LEN_MAX)
        return error_set(e, ERROR_FAILED, -ENAMETOOLONG, "read a symbolic link");
    n->target = mem_copy(target, (size_t)len);
    n->size = (uint64_t)len;
    return 0;
}

static enum entry_type type_of(unsigned mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return ENTRY_FILE;
    case S_IFDIR:
        return ENTRY_DIRECTORY;
    case S_IFLNK:
        return ENTRY_SYMLINK;
    case S_IFIFO:
        return ENTRY_FIFO;
    case S_IFCHR:
        return ENTRY_CHARACTER;
    case S_IFBLK:
        return ENTRY_BLOCK;
    default:
        return 0;
    }
}

static void take_stat(const struct statx *st, struct attributes *a)
{
    a->device = (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
    a->inode = st->stx_ino;
    a->mount = st->stx_mask & STATX_MNT_ID ? st->stx_mnt_id : a->device;
    a->links = st->stx_nlink;
    a->socket = S_ISSOCK(st->stx_mode);
    a->whiteout = S_ISCHR(st->stx_mode) && st->stx_rdev_major == 0 && st->stx_rdev_minor == 0;

    struct entry *n = &a->entry;
    n->type = type_of(st->stx_mode);
    n->mode = st->stx_mode & 07777;
    n->uid = st->stx_uid;
    n->gid = st->stx_gid;
    n->mtime_ns = nanoseconds(&st->stx_mtime);
    n->ctime_ns = nanoseconds(&st->stx_ctime);
    if (n->type == ENTRY_FILE)
        n->size = st->stx_size;
    if (n->type == ENTRY_CHARACTER || n->type == ENTRY_BLOCK) {
        n->major = st->stx_rdev_major;
        n->minor = st->stx_rdev_minor;
    }
}

int attributes_stat(int directory, const char *name, struct attributes *ret, struct error *e)
{
    struct statx st;
    int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (name[0] ? 0 : AT_EMPTY_PATH);
    if (statx(directory, name, flags, STATX_BASIC_STATS | STATX_MNT_ID, &st) < 0)
        return error_set(e, ERROR_FAILED, -errno, "stat");
    *ret = (struct attributes){ 0 };
    take_stat(&st, ret);
    return 0;
}

int attributes_open(int directory, const char *name, const struct attributes *a, struct error *e)
{
    _cleanup_close_ int fd = reach_file(directory, name);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, fd, "open");
    struct attributes now;
    int r = attributes_stat(fd, "", &now, e);
    if (r < 0)
        return r;
    if (now.device != a->device || now.inode != a->inode || now.entry.type != ENTRY_FILE)
        return error_say(e, ERROR_BUSY, -ENOENT, "another file took its place while it was looked at");
    return mem_steal_fd(&fd);
}

int attributes_read(int directory, const char *name, struct attributes *ret, struct error *e)
{
    struct attributes a;
    int r = attributes_stat(directory, name, &a, e);
    if (r < 0)
        return r;
    if (a.entry.type == ENTRY_SYMLINK)
        r = read_target(directory, name, &a.entry, e);
    if (r == 0 && a.entry.type && !a.whiteout) {
        /* There is no lgetxattrat(2) in the kernels we support; through /proc the descriptor stands for its directory.
         */
        char path[NAME_LEN_MAX + 64];
        snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", directory, name[0] ? name : ".");
        r = read_xattrs(path, &a, e);
    }
    if (r < 0) {
        attributes_release(&a);
        return r;
    }
    *ret = a;
    return 0;
}
