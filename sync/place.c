/* SPDX-License-Identifier: MIT */
#include "sync/place.h"

#include "index/base/clock.h"
#include "index/base/log.h"
#include "index/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define LOCK_WAIT_S 60
#define LITTER_AGE_NS (24 * 3600 * 1000000000LL)

int place_refused(struct error *e, int number, const char *what, const char *name)
{
    int code = -EHOSTUNREACH;
    if (number == EACCES || number == EPERM || number == EROFS || number == ELOOP)
        code = -EACCES;
    else if (number == ENOSPC || number == EDQUOT || number == EFBIG)
        code = -ENOSPC;
    else if (number == EIO)
        code = -EIO;
    return error_say(e, ERROR_STORE, code, "%s %s: %s", what, name, strerror(number));
}

void place_close(struct place *p)
{
    mem_closep(&p->root);
    mem_closep(&p->ours);
}

int place_open(const char *path, struct place *ret, struct error *e)
{
    _cleanup_place_ struct place p = PLACE_NONE;
    p.root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p.root >= 0)
        p.ours = openat(p.root, PLACE_OURS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (p.ours < 0 && errno == ENOENT) {
        error_say(e, ERROR_STORE, -EHOSTUNREACH, "%s is not a store: not mounted?", path);
        error_hint(e, "mount what holds the store");
        return -EHOSTUNREACH;
    }
    if (p.ours < 0)
        return place_refused(e, errno, "open", path);
    *ret = (struct place){ path, mem_steal_fd(&p.root), mem_steal_fd(&p.ours) };
    return 0;
}

int place_create(const char *path, struct error *e)
{
    _cleanup_free_ char *above = mem_copy(path, (size_t)(strrchr(path, '/') - path) + 1);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return place_refused(e, errno, "mkdir", path);
    _cleanup_close_ int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int parent = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || parent < 0)
        return place_refused(e, errno, "open", root < 0 ? path : above);
    if (mkdirat(root, PLACE_OURS, 0700) < 0 && errno != EEXIST)
        return place_refused(e, errno, "mkdir " PLACE_OURS " in", path);
    if (fsync(root) < 0 || fsync(parent) < 0)
        return place_refused(e, errno, "fsync", path);
    return 0;
}

int place_lock(const struct place *p, const struct store *s, struct error *e)
{
    _cleanup_close_ int fd = openat(p->ours, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return place_refused(e, errno, "open the lock of", p->path);
    /* Polled: flock(2) alone would neither hear store_cancel nor give up on a stopped holder. */
    int64_t until = clock_boot_ns() + LOCK_WAIT_S * 1000000000LL;
    for (long pause_us = 200; flock(fd, LOCK_EX | LOCK_NB) < 0; pause_us += pause_us < 20000 ? pause_us / 2 : 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return place_refused(e, errno, "lock", p->path);
        if (store_cancelled(s))
            return error_say(e, ERROR_INTERRUPTED, -ECANCELED, "interrupted");
        if (clock_boot_ns() > until)
            return error_say(e, ERROR_STORE, -EBUSY, "%s: locked by another process for %d s", p->path, LOCK_WAIT_S);
        nanosleep(&(struct timespec){ .tv_nsec = pause_us * 1000 }, NULL);
    }
    return mem_steal_fd(&fd);
}

static int64_t modified_ns(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

#ifdef AGBOX_FAULT
static int64_t ahead_ns(void)
{
    const char *s = getenv("AGBOX_STORE_CLOCK");
    return s ? strtoll(s, NULL, 10) * 1000000000 : 0;
}

int place_stamp(int fd, const struct place *p, struct error *e)
{
    struct stat st;
    if (ahead_ns() == 0)
        return 0;
    if (fstat(fd, &st) < 0)
        return place_refused(e, errno, "stamp a file in", p->path);
    st.st_mtim.tv_sec += ahead_ns() / 1000000000;
    if (futimens(fd, (struct timespec[]){ { .tv_nsec = UTIME_OMIT }, st.st_mtim }) < 0)
        return place_refused(e, errno, "stamp a file in", p->path);
    return 0;
}
#else
#define ahead_ns() 0
int place_stamp(int fd, const struct place *p, struct error *e)
{
    (void)fd;
    (void)p;
    (void)e;
    return 0;
}
#endif

int place_now(const struct place *p, int64_t *ret_ns, struct error *e)
{
    struct stat st;
    _cleanup_close_ int fd = openat(p->ours, "clock", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EACCES || errno == EROFS)) {
        *ret_ns = clock_wall_ns() + ahead_ns();
        return 0;
    }
    if (fd < 0 || futimens(fd, NULL) < 0 || fstat(fd, &st) < 0)
        return place_refused(e, errno, "read the clock of", p->path);
    *ret_ns = modified_ns(&st) + ahead_ns();
    return 0;
}

int place_temporary(const struct place *p, char name[PLACE_TEMPORARY_MAX], struct error *e)
{
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return place_refused(e, errno, "draw a name for a file in", p->path);
    snprintf(name, PLACE_TEMPORARY_MAX, "t%016llx", (unsigned long long)random);
    int fd = openat(p->ours, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? place_refused(e, errno, "create a file in", p->path) : fd;
}

static void closedirp(DIR **d)
{
    if (*d)
        closedir(*d);
}

void place_sweep(const struct place *p)
{
    int64_t now_ns;
    if (place_now(p, &now_ns, NULL) < 0)
        return;
    int own = openat(p->ours, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_(closedirp) DIR *dir = own < 0 ? NULL : fdopendir(own);
    if (!dir) {
        mem_closep(&own);
        return;
    }
    for (const struct dirent *d; (d = readdir(dir));) {
        struct stat st;
        if (d->d_name[0] != 't' || fstatat(p->ours, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            now_ns - ahead_ns() - modified_ns(&st) < LITTER_AGE_NS)
            continue;
        log_debug("store: removing %s, left by a killed writer", d->d_name);
        unlinkat(p->ours, d->d_name, 0);
    }
}
