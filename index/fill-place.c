/* SPDX-License-Identifier: MIT */
#include "index/fill-place.h"

#include "index/attributes.h"
#include "index/base/mem.h"
#include "index/key.h"
#include "index/reach.h"

#include <errno.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool looks_like(const struct entry *found, const struct entry *n)
{
    return found->type == n->type &&
           (n->type != ENTRY_FILE || (found->size == n->size && found->mtime_ns == n->mtime_ns));
}

bool fill_place_looks_like(int directory, const char *name, const struct entry *n)
{
    struct attributes a = { 0 };
    return attributes_stat(directory, name, &a, NULL) == 0 && looks_like(&a.entry, n);
}

int fill_place_matches(int directory, const char *name, const struct entry *n, struct source *source,
                       const struct hash_key *key, const struct content_ask *ask, struct error *e)
{
    _cleanup_(attributes_release) struct attributes a = { 0 };
    int r = attributes_read(directory, name, &a, e);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    if (!looks_like(&a.entry, n))
        return 0;
    if (n->type == ENTRY_SYMLINK)
        return strcmp(a.entry.target, n->target) == 0;
    if (n->type != ENTRY_FILE)
        return a.entry.major == n->major && a.entry.minor == n->minor;
    _cleanup_close_ int fd = reach_file(directory, name);
    bool same = false;
    r = fd < 0 ? error_set(e, ERROR_FAILED, fd, "open") : content_same(fd, n, source, key, ask, &same, e);
    return r < 0 ? r : same;
}

int fill_place_open_up(int directory, const char *name, struct error *e)
{
    char path[NAME_LEN_MAX + 64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", directory, name);
    if (lremovexattr(path, "system.posix_acl_default") == 0 || errno == ENODATA || errno == EOPNOTSUPP)
        return 0;
    return error_set(e, ERROR_FAILED, -errno, "remove its default ACL");
}
