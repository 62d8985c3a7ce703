/* SPDX-License-Identifier: MIT */
#include "index/apply.h"

#include "index/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct timespec time_of(int64_t ns)
{
    int64_t s = ns / 1000000000, rest = ns % 1000000000;
    return rest < 0 ? (struct timespec){ s - 1, rest + 1000000000 } : (struct timespec){ s, rest };
}

/* What ext4 has no room for beside an inode is ENOSPC, too, however empty the disk is. */
static int refused(const char *path, const struct xattr *x, int number, struct error *e)
{
    struct statvfs v;
    bool room = statvfs(path, &v) == 0 && v.f_bavail > 0;
    if (number != E2BIG && number != ERANGE && number != EOPNOTSUPP && !(number == ENOSPC && room))
        return error_set(e, ERROR_FAILED, -number, "set xattr %s", x->name);
    number = number == ENOSPC ? E2BIG : number;
    error_say(e, ERROR_FAILED, -number, "the file system does not take xattr %s of %zu bytes", x->name, x->len);
    return error_hint(e, "another file system may, as XFS does; or remove it where the box is up"), -number;
}

int apply_attributes(int directory, const char *name, const struct entry *n, struct error *e)
{
    char path[NAME_LEN_MAX + 64];
    snprintf(path, sizeof(path), name[0] ? "/proc/self/fd/%d/%s" : "/proc/self/fd/%d", directory, name);
    int follow = name[0] ? AT_SYMLINK_NOFOLLOW : 0;
    if (fchownat(AT_FDCWD, path, n->uid, n->gid, follow) < 0)
        return error_set(e, ERROR_FAILED, -errno, "chown");
    if (n->type != ENTRY_SYMLINK && fchmodat(AT_FDCWD, path, n->mode, 0) < 0)
        return error_set(e, ERROR_FAILED, -errno, "chmod");
    for (size_t i = 0; i < n->xattr_count; i++) {
        const struct xattr *x = &n->xattrs[i];
        if (entry_xattr_left_out(x->name))
            continue;
        int r = name[0] ? lsetxattr(path, x->name, x->value, x->len, 0) : setxattr(path, x->name, x->value, x->len, 0);
        if (r < 0)
            return refused(path, x, errno, e);
    }
    struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, time_of(n->mtime_ns) };
    if (utimensat(AT_FDCWD, path, times, follow) < 0)
        return error_set(e, ERROR_FAILED, -errno, "set times");
    return 0;
}

int apply_special(int directory, const char *name, const struct entry *n, struct error *e)
{
    int r = 0;
    if (n->type == ENTRY_SYMLINK)
        r = symlinkat(n->target, directory, name);
    else
        r = mknodat(directory, name, entry_mode_type(n) | 0600, makedev(n->major, n->minor));
    return r < 0 ? error_set(e, ERROR_FAILED, -errno, "create") : apply_attributes(directory, name, n, e);
}
