/* SPDX-License-Identifier: MIT */
#include "index/cache.h"

#include "index/base/clock.h"
#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/cachedir.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define DISK_PART 20 /* of the disk stays free, but at most */
#define DISK_RESERVE_MAX (1ull << 30)
#define TOUCHES 256      /* written when so many wait */
#define AIR 32           /* a part of the limit */
#define TOUCHES_MAX 8192 /* beyond, use times are dropped; keep marks never */

struct touch {
    struct locator frame;
    int64_t used;
    bool keep;
};

struct cache {
    char *path, *box;
    uint64_t limit;

    /* write is taken before read where both are needed. dir changes with both locked. */
    pthread_mutex_t write; /* dir.writer */
    pthread_mutex_t read;  /* dir.reader, touches */
    struct cachedir dir;
    uint64_t generation; /* how often the cache began again */
    struct touch *touches;
    size_t touch_count, touch_room;
};

/* With write locked: opens what is there now, or anew. */
static int begin_again(struct cache *c, bool damaged, struct error *e)
{
    struct cachedir fresh = CACHEDIR_NONE;
    int r = cachedir_open(c->path, c->box, damaged ? c->dir.ino : 0, &fresh, e);
    if (r < 0)
        return r;
    pthread_mutex_lock(&c->read);
    struct cachedir old = c->dir;
    c->dir = fresh;
    c->generation++;
    pthread_mutex_unlock(&c->read);
    cachedir_release(&old);
    return 0;
}

/* For readers, who do not have write locked: unless someone else has done it since generation. */
static void begin_again_since(struct cache *c, uint64_t generation, bool damaged)
{
    struct error e = { 0 };
    pthread_mutex_lock(&c->write);
    if (c->generation == generation && begin_again(c, damaged, &e) < 0)
        log_warn("cache: %s", e.text);
    pthread_mutex_unlock(&c->write);
}

int cache_open(const char *dir, const char *box, uint64_t limit, struct cache **ret, struct error *e)
{
    struct cachedir d = CACHEDIR_NONE;
    int r = cachedir_open(dir, box, 0, &d, e);
    if (r < 0)
        return r;
    struct cache *c = mem_new(1, sizeof(*c));
    c->path = mem_strdup(dir);
    c->box = mem_strdup(box);
    c->limit = limit;
    c->dir = d;
    pthread_mutex_init(&c->write, NULL);
    pthread_mutex_init(&c->read, NULL);
    *ret = c;
    return 0;
}

/* With write locked: the use times that wait, in one transaction. Losing them is no harm. */
static void write_touches(struct cache *c)
{
    pthread_mutex_lock(&c->read);
    _cleanup_free_ struct touch *t = mem_steal(c->touches);
    size_t n = c->touch_count;
    c->touch_count = c->touch_room = 0;
    pthread_mutex_unlock(&c->read);
    if (n == 0)
        return;
    int r = catalog_begin(c->dir.writer, NULL);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = catalog_touch(c->dir.writer, c->box, &t[i].frame, t[i].used, t[i].keep, NULL);
    catalog_end(c->dir.writer, r, NULL);
}

void cache_close(struct cache *c)
{
    if (!c)
        return;
    write_touches(c);
    cachedir_release(&c->dir);
    pthread_mutex_destroy(&c->write);
    pthread_mutex_destroy(&c->read);
    free(c->touches);
    free(c->path);
    free(c->box);
    free(c);
}

void cache_closep(struct cache **c)
{
    cache_close(*c);
}

/* With read locked. True: so many wait that someone should write them. */
static bool remember_touch(struct cache *c, const struct locator *l, bool keep)
{
    if (!keep && c->touch_count >= TOUCHES_MAX)
        return true;
    if (c->touch_count == c->touch_room) {
        c->touch_room = c->touch_room ? 2 * c->touch_room : TOUCHES;
        c->touches = mem_grow(c->touches, c->touch_room, sizeof(*c->touches));
    }
    int64_t now = clock_wall_ns();
    c->touches[c->touch_count++] = (struct touch){ .frame = *l, .used = now, .keep = keep };
    return c->touch_count >= TOUCHES;
}

static void write_touches_if_free(struct cache *c)
{
    if (pthread_mutex_trylock(&c->write) != 0)
        return;
    write_touches(c);
    pthread_mutex_unlock(&c->write);
}

enum look { LOOK_ONLY, LOOK_USE, LOOK_KEEP };

/* -ENOENT, or the descriptor of the file that should have the range. */
static int look_up(struct cache *c, const struct locator *l, enum look look)
{
    char path[CACHEDIR_PATH_MAX];
    cachedir_path(c->box, &l->pack, path);
    bool full = false, stale = false, no_file = false;
    int fd = -1;

    pthread_mutex_lock(&c->read);
    uint64_t generation = c->generation;
    int r = catalog_find(c->dir.reader, c->box, l, NULL);
    if (r == 0) {
        fd = openat(c->dir.fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        no_file = fd < 0 && errno == ENOENT; /* not for want of descriptors */
        stale = no_file && cachedir_stale(&c->dir);
        if (fd >= 0 && look != LOOK_ONLY)
            full = remember_touch(c, l, look == LOOK_KEEP);
    }
    pthread_mutex_unlock(&c->read);

    if (stale || r == -EBADMSG)
        begin_again_since(c, generation, r == -EBADMSG);
    else if (no_file)
        cache_forget(c, l);
    if (full)
        write_touches_if_free(c);
    return fd >= 0 ? fd : -ENOENT;
}

int cache_get(struct cache *c, const struct locator *l, struct buf *ret, struct error *e)
{
    if (!locator_plausible(l))
        return -ENOENT;
    _cleanup_close_ int fd = look_up(c, l, LOOK_USE);
    if (fd < 0)
        return fd;
    buf_reserve(ret, l->sealed);
    if (fd_pread_all(fd, ret->data + ret->len, l->sealed, l->offset, NULL) < 0) {
        cache_forget(c, l);
        return -ENOENT;
    }
    ret->len += l->sealed;
    return 0;
}

bool cache_has(struct cache *c, const struct locator *l)
{
    _cleanup_close_ int fd = look_up(c, l, LOOK_ONLY);
    return fd >= 0;
}

bool cache_use(struct cache *c, const struct locator *l)
{
    _cleanup_close_ int fd = look_up(c, l, LOOK_USE);
    return fd >= 0;
}

void cache_keep(struct cache *c, const struct locator *l)
{
    _cleanup_close_ int fd = look_up(c, l, LOOK_KEEP);
}

/* How much the disk lacks to take more bytes and keep its reserve. */
static uint64_t shortage(const struct cache *c, uint64_t more)
{
    struct statvfs v;
    if (fstatvfs(c->dir.fd, &v) < 0)
        return 0;
    uint64_t unit = v.f_frsize, reserve = v.f_blocks / DISK_PART * unit, unused = v.f_bavail * unit;
    more += reserve < DISK_RESERVE_MAX ? reserve : DISK_RESERVE_MAX;
    return more > unused ? more - unused : 0;
}

/* With write locked. */
static int keep_reserve(struct cache *c, uint64_t more, struct error *e)
{
    uint64_t lacks = shortage(c, more);
    if (lacks == 0 || (cachedir_evict(&c->dir, lacks + more, NULL) > 0 && shortage(c, more) == 0))
        return 0;
    return error_say(e, ERROR_FAILED, -ENOSPC, "%s: the rest of the disk is kept free", c->path);
}

int cache_make_room(struct cache *c, struct error *e)
{
    pthread_mutex_lock(&c->write);
    write_touches(c);
    uint64_t lacks = shortage(c, 0);
    int64_t gone = lacks ? cachedir_evict(&c->dir, lacks + lacks / 4, e) : 0;
    pthread_mutex_unlock(&c->write);
    return gone < 0 ? (int)gone : 0;
}

/* With write locked. Passing the limit is repaired with some air, so that not every put evicts. */
static int keep_limit(struct cache *c, struct error *e)
{
    uint64_t bytes = 0;
    int r = c->limit ? catalog_bytes(c->dir.writer, NULL, &bytes, e) : 0;
    if (r < 0 || bytes <= c->limit)
        return r;
    int64_t gone = cachedir_evict(&c->dir, bytes - c->limit + c->limit / AIR, e);
    return gone < 0 ? (int)gone : 0;
}

static int write_bytes(struct cache *c, const struct pack_name *p, uint32_t offset, struct bytes data, struct error *e)
{
    char path[CACHEDIR_PATH_MAX];
    cachedir_path(c->box, p, path);
    _cleanup_close_ int fd = openat(c->dir.fd, path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "create %s/%s", c->path, path);
    return fd_pwrite_all(fd, data.data, data.len, offset, e);
}

/* The bytes are written inside the transaction, so that no process punches them before their rows are there. */
static int put_once(struct cache *c, const struct pack_name *p, uint32_t offset, struct bytes data,
                    const struct locator *frames, size_t count, bool keep, struct error *e)
{
    int64_t now = clock_wall_ns();
    int r = catalog_begin(c->dir.writer, e);
    if (r == 0)
        r = write_bytes(c, p, offset, data, e);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = catalog_add(c->dir.writer, c->box, &frames[i], now, keep, e);
    r = catalog_end(c->dir.writer, r, e);
    if (r == 0)
        r = keep_limit(c, e);
    if (r < 0) /* what a failed write left in the file */
        cachedir_remove(&c->dir, c->box, frames, count, NULL);
    return r;
}

/* With write locked: r was the outcome; true if another catalog is open now and another try makes sense. */
static bool reopened(struct cache *c, int r, struct error *e)
{
    bool damaged = r == -EBADMSG;
    return r < 0 && (damaged || cachedir_stale(&c->dir)) && begin_again(c, damaged, e) == 0;
}

/* The same, of any cause that can be removed. */
static bool repair(struct cache *c, int r, uint64_t wanted, struct error *e)
{
    if (reopened(c, r, e))
        return true;
    if (r == -ENOENT) /* the box's own directory was deleted */
        return mkdirat(c->dir.fd, c->box, 0700) == 0;
    return r == -ENOSPC && cachedir_evict(&c->dir, wanted, NULL) > 0;
}

static bool within(const struct pack_name *p, uint32_t offset, size_t len, const struct locator *frames, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!locator_plausible(&frames[i]) || !pack_equal(&frames[i].pack, p) || frames[i].offset < offset ||
            (uint64_t)frames[i].offset + frames[i].sealed > (uint64_t)offset + len)
            return false;
    return true;
}

int cache_put(struct cache *c, const struct pack_name *p, uint32_t offset, struct bytes data,
              const struct locator *frames, size_t count, bool keep, struct error *e)
{
    if (!within(p, offset, data.len, frames, count))
        return error_say(e, ERROR_FAILED, -EINVAL, "cache: a frame outside of the bytes that were put");

    pthread_mutex_lock(&c->write);
    write_touches(c);
    int r = cachedir_stale(&c->dir) ? begin_again(c, false, e) : 0;
    if (r == 0)
        r = keep_reserve(c, data.len, e);
    if (r == 0)
        r = put_once(c, p, offset, data, frames, count, keep, e);
    if (r < 0 && repair(c, r, 2 * data.len, e))
        r = put_once(c, p, offset, data, frames, count, keep, e);
    pthread_mutex_unlock(&c->write);
    return r;
}

void cache_forget(struct cache *c, const struct locator *l)
{
    pthread_mutex_lock(&c->write);
    cachedir_remove(&c->dir, c->box, l, 1, NULL);
    pthread_mutex_unlock(&c->write);
}

/* One change of all of this box's rows. */
static int change_all(struct cache *c, int (*change)(struct catalog *c, const char *box, struct error *e),
                      struct error *e)
{
    pthread_mutex_lock(&c->write);
    write_touches(c);
    int r = cachedir_stale(&c->dir) ? begin_again(c, false, e) : 0;
    if (r == 0)
        r = change(c->dir.writer, c->box, e);
    if (reopened(c, r, e))
        r = change(c->dir.writer, c->box, e);
    pthread_mutex_unlock(&c->write);
    return r;
}

int cache_unkeep_all(struct cache *c, struct error *e)
{
    return !c ? 0 : change_all(c, catalog_unkeep, e);
}

int cache_known_clear(struct cache *c, struct error *e)
{
    return !c ? 0 : change_all(c, catalog_known_clear, e);
}

uint64_t cache_bytes(struct cache *c)
{
    uint64_t bytes = 0;
    pthread_mutex_lock(&c->read);
    catalog_bytes(c->dir.reader, c->box, &bytes, NULL);
    pthread_mutex_unlock(&c->read);
    return bytes;
}

int cache_room(struct cache *c, uint64_t more, int64_t since, struct error *e)
{
    uint64_t bytes = 0;
    int64_t first = 0;
    pthread_mutex_lock(&c->write);
    write_touches(c);
    catalog_bytes(c->dir.writer, NULL, &bytes, NULL);
    int r = catalog_used_first(c->dir.writer, &first, NULL);
    pthread_mutex_unlock(&c->write);
    if (r == 0 && first < since)
        return 0;
    if (shortage(c, more) > 0)
        return error_say(e, ERROR_FAILED, -ENOSPC, "%s: the rest of the disk is kept free", c->path);
    if (c->limit == 0 || bytes + more <= c->limit)
        return 0;
    char limit[16];
    text_size(limit, c->limit);
    return error_say(e, ERROR_FAILED, -EFBIG, "the cache's limit is %s", limit);
}

uint64_t cache_gone(struct cache *c)
{
    uint64_t bytes = 0;
    pthread_mutex_lock(&c->read);
    int r = cachedir_stale(&c->dir) ? -ENOENT : catalog_gone(c->dir.reader, c->box, &bytes, NULL);
    bytes = r < 0 ? UINT64_MAX : (c->generation << 48) + bytes;
    pthread_mutex_unlock(&c->read);
    return bytes;
}

static int known_add(struct cache *c, const struct known_extent *x, size_t count, struct error *e)
{
    int r = catalog_begin(c->dir.writer, e);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = catalog_known_add(c->dir.writer, c->box, &x[i], e);
    return catalog_end(c->dir.writer, r, e);
}

int cache_known_add(struct cache *c, const struct known_extent *x, size_t count, struct error *e)
{
    if (!c)
        return 0;
    pthread_mutex_lock(&c->write);
    int r = cachedir_stale(&c->dir) ? begin_again(c, false, e) : 0;
    if (r == 0)
        r = known_add(c, x, count, e);
    if (reopened(c, r, e))
        r = known_add(c, x, count, e);
    pthread_mutex_unlock(&c->write);
    return r;
}

int cache_known_find(struct cache *c, const struct hash *h, struct known_extent *ret, struct error *e)
{
    pthread_mutex_lock(&c->read);
    uint64_t generation = c->generation;
    int r = catalog_known_find(c->dir.reader, c->box, h, ret, e);
    pthread_mutex_unlock(&c->read);
    if (r == -EBADMSG)
        begin_again_since(c, generation, true);
    return r == -EBADMSG ? -ENOENT : r;
}
