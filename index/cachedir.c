/* SPDX-License-Identifier: MIT */
#include "index/cachedir.h"

#include "index/base/fd.h"
#include "index/base/lock.h"
#include "index/base/log.h"
#include "index/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define CATALOG_NAME ".catalog.db"
#define CATALOG_NEEDS (256u * 1024) /* to be opened and begun */
#define EVICT_BATCH 64
#define OPENING_MS 30000 /* another process, which may throw away what there is */

void cachedir_path(const char *box, const struct pack_name *p, char to[CACHEDIR_PATH_MAX])
{
    char name[PACK_TEXT];
    pack_text(p, name);
    name[WRITER_TEXT - 1] = '-';
    snprintf(to, CACHEDIR_PATH_MAX, "%.63s/%s", box, name);
}

static ino_t catalog_inode(int dir)
{
    struct stat st;
    return fstatat(dir, CATALOG_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino : 0;
}

bool cachedir_stale(const struct cachedir *d)
{
    return catalog_inode(d->fd) != d->ino;
}

static void remove_packs(int top, const char *box)
{
    int fd = openat(top, box, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *packs = fd < 0 ? NULL : fdopendir(fd);
    if (!packs)
        return;
    for (struct dirent *p; (p = readdir(packs));)
        if (p->d_name[0] != '.')
            unlinkat(fd, p->d_name, 0);
    closedir(packs);
}

/* The catalog, and every box's packs. */
static void throw_away(int dir)
{
    unlinkat(dir, CATALOG_NAME, 0);
    unlinkat(dir, CATALOG_NAME "-wal", 0);
    unlinkat(dir, CATALOG_NAME "-shm", 0);
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *boxes = fd < 0 ? NULL : fdopendir(fd);
    if (!boxes)
        return;
    for (struct dirent *b; (b = readdir(boxes));)
        if (b->d_name[0] != '.')
            remove_packs(fd, b->d_name);
    closedir(boxes);
}

void cachedir_release(struct cachedir *d)
{
    catalog_close(d->reader);
    catalog_close(d->writer);
    if (d->fd >= 0)
        close(d->fd);
    *d = CACHEDIR_NONE;
}

static int open_catalogs(struct cachedir *d, const char *path, struct error *e)
{
    _cleanup_free_ char *file = mem_printf("%s/" CATALOG_NAME, path);
    int r = catalog_open(file, &d->writer, e);
    if (r == 0)
        r = catalog_open(file, &d->reader, e);
    if (r == 0)
        d->ino = catalog_inode(d->fd);
    return r;
}

/* sqlite calls that an I/O error, too. */
static bool is_full(int dir)
{
    struct statvfs v;
    return fstatvfs(dir, &v) == 0 && v.f_bavail * v.f_frsize < CATALOG_NEEDS;
}

int cachedir_open(const char *path, const char *box, ino_t bad, struct cachedir *ret, struct error *e)
{
    _cleanup_(cachedir_release) struct cachedir d = CACHEDIR_NONE;
    struct error why = { 0 };
    int r = fd_make_directories(path, 0700, e);
    if (r < 0)
        return r;
    d.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d.fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s", path);
    r = lock_wait(d.fd, path, OPENING_MS, e);
    if (r < 0)
        return error_hint(e, "another ag-box opens the cache: wait for it to end, or end it, then try again");

    if (bad != 0 && catalog_inode(d.fd) == bad) {
        log_warn("the catalog of %s is damaged: the cache begins again", path);
        throw_away(d.fd);
    }
    r = open_catalogs(&d, path, &why);
    if (r == -EBADMSG) {
        log_warn("%s: the cache begins again", why.text);
        catalog_close(mem_steal(d.reader));
        catalog_close(mem_steal(d.writer));
        throw_away(d.fd);
        r = open_catalogs(&d, path, &why);
    }
    if (r < 0 && is_full(d.fd)) {
        log_warn("the disk is full: what %s has goes", path);
        catalog_close(mem_steal(d.reader));
        catalog_close(mem_steal(d.writer));
        throw_away(d.fd);
        r = open_catalogs(&d, path, &why);
        if (r < 0)
            unlinkat(d.fd, CATALOG_NAME, 0);
        if (r < 0 && is_full(d.fd))
            r = error_set(&why, ERROR_FAILED, -ENOSPC, "open the catalog of %s", path);
    }
    flock(d.fd, LOCK_UN);
    if (r < 0) {
        error_prefix(&why, "%s", path);
        error_hint(&why, "see to that, or delete %.150s: all that is in it is in the store, too", path);
        error_pass(e, &why);
        return r;
    }
    if (mkdirat(d.fd, box, 0700) < 0 && errno != EEXIST)
        return error_set(e, ERROR_FAILED, -errno, "create %s/%s", path, box);
    *ret = d;
    d = CACHEDIR_NONE;
    return 0;
}

/* Gives the disk back what no range covers any more. */
static void punch(struct cachedir *d, const struct catalog_range *r, const struct catalog_gap *gap)
{
    char path[CACHEDIR_PATH_MAX];
    cachedir_path(r->box, &r->pack, path);
    if (gap->pack_empty) {
        unlinkat(d->fd, path, 0);
        return;
    }
    _cleanup_close_ int fd = openat(d->fd, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    /* The whole gap, not only the range: blocks that several small frames shared come back with the last of them. */
    if (gap->to == UINT64_MAX)
        (void)!ftruncate(fd, (off_t)gap->from);
    else
        fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)gap->from, (off_t)(gap->to - gap->from));
}

/* In a transaction. The disk comes back before the commit: on a full one the catalog's log needs that room. */
static int remove_range(struct cachedir *d, const struct catalog_range *r, struct error *e)
{
    struct catalog_gap gap;
    int code = catalog_remove(d->writer, r, &gap, e);
    if (code == 0)
        punch(d, r, &gap);
    return code;
}

int cachedir_remove(struct cachedir *d, const char *box, const struct locator *frames, size_t count, struct error *e)
{
    int r = catalog_begin(d->writer, e);
    for (size_t i = 0; r == 0 && i < count; i++) {
        struct catalog_range range = { .pack = frames[i].pack, .start = frames[i].offset, .length = frames[i].sealed };
        snprintf(range.box, sizeof(range.box), "%s", box);
        r = remove_range(d, &range, e);
    }
    return catalog_end(d->writer, r, e);
}

static int evict_batch(struct cachedir *d, uint64_t wanted, uint64_t *gone, size_t *count, struct error *e)
{
    struct catalog_range oldest[EVICT_BATCH];
    int r = catalog_oldest(d->writer, oldest, EVICT_BATCH, count, e);
    for (size_t i = 0; r == 0 && i < *count && *gone < wanted; i++) {
        r = remove_range(d, &oldest[i], e);
        *gone += oldest[i].length;
    }
    return r;
}

int64_t cachedir_evict(struct cachedir *d, uint64_t wanted, struct error *e)
{
    uint64_t gone = 0;
    size_t count = 1;
    while (gone < wanted && count > 0) {
        int r = catalog_begin(d->writer, e);
        if (r == 0)
            r = evict_batch(d, wanted, &gone, &count, e);
        r = catalog_end(d->writer, r, e);
        if (r < 0)
            return r;
    }
    return (int64_t)gone;
}
