/* SPDX-License-Identifier: MIT */
#include "sync/store-file.h"

#include "index/base/clock.h"
#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "sync/place.h"
#include "sync/store-walk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct store_file {
    struct store store; /* first: the operations get its address */
    char *root;
    pthread_mutex_t mutex;       /* of what follows */
    char durable[STORE_KEY_MAX]; /* directory whose own name, and those above it, were fsynced by us */
    bool swept;
};

static void content_etag(crypto_generichash_state *hash, char to[STORE_ETAG_MAX])
{
    uint8_t sum[16];
    crypto_generichash_final(hash, sum, sizeof(sum));
    to[0] = '"';
    text_hex(to + 1, sum, sizeof(sum));
    strcpy(to + 33, "\"");
}

static void etag_of_bytes(struct bytes data, char to[STORE_ETAG_MAX])
{
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, NULL, 0, 16);
    crypto_generichash_update(&hash, data.data, data.len);
    content_etag(&hash, to);
}

static int etag_of_file(int fd, const char *key, char to[STORE_ETAG_MAX], struct error *e)
{
    crypto_generichash_state hash;
    crypto_generichash_init(&hash, NULL, 0, 16);
    _cleanup_free_ uint8_t *part = mem_new(1, 1 << 16);
    for (off_t at = 0;;) {
        ssize_t n = pread(fd, part, 1 << 16, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return place_refused(e, errno, "read", key);
        if (n == 0)
            break;
        crypto_generichash_update(&hash, part, (unsigned long long)n);
        at += n;
    }
    content_etag(&hash, to);
    return 0;
}

/* Opens the object. -ENOENT when there is none of that name. */
static int object_open(const struct place *p, const char *key, struct stat *ret, struct error *e)
{
    int fd = fd_open_beneath(p->root, key, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0 && fd != -ENOENT && fd != -ENOTDIR)
        return place_refused(e, -fd, "open", key);
    if (fd >= 0 && fstat(fd, ret) == 0 && S_ISREG(ret->st_mode))
        return fd;
    if (fd >= 0)
        close(fd);
    return error_say(e, ERROR_UNKNOWN, -ENOENT, "no such object");
}

static int object_info(const struct place *p, int fd, const char *key, const struct stat *st, struct store_info *ret,
                       struct error *e)
{
    struct store_info info = { .size = (uint64_t)st->st_size,
                               .modified_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec };
    int r = etag_of_file(fd, key, info.etag, e);
    if (r == 0)
        r = place_now(p, &info.now_ns, e);
    if (r == 0)
        *ret = info;
    return r;
}

static int status_of(int r)
{
    return r >= 0 ? 200 : r == -ENOENT ? 404 : r == -ESTALE ? 412 : r == -EACCES ? 403 : 500;
}

static int read_object(struct store_file *f, const char *key, uint64_t offset, uint64_t length, size_t max,
                       struct buf *ret, struct store_info *ret_info, struct error *e)
{
    _cleanup_place_ struct place p = PLACE_NONE;
    int r = place_open(f->root, &p, e);
    if (r < 0)
        return r;
    struct stat st;
    _cleanup_close_ int fd = object_open(&p, key, &st, e);
    if (fd < 0)
        return fd;
    uint64_t size = (uint64_t)st.st_size;
    if (length == 0 && size > max)
        return error_say(e, ERROR_DAMAGED, -EFBIG, "%llu bytes, at most %zu were expected", (unsigned long long)size,
                         max);
    if (offset > size || length > size - offset)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "ends at %llu, inside the range asked for",
                         (unsigned long long)size);

    struct store_info info;
    if (ret_info && (r = object_info(&p, fd, key, &st, &info, e)) < 0)
        return r;
    size_t n = length ? (size_t)length : (size_t)size;
    _cleanup_(buf_release) struct buf data = { 0 };
    buf_reserve(&data, n);
    r = fd_pread_all(fd, data.data, n, offset, e);
    if (r < 0)
        return e && e->kind == ERROR_DAMAGED ? r : place_refused(e, -r, "read", key);
    data.len = n;
    buf_clear(ret);
    buf_add(ret, data.data, data.len);
    if (ret_info)
        *ret_info = info;
    return 0;
}

static int file_get(struct store *s, const char *key, uint64_t offset, uint64_t length, size_t max, struct buf *ret,
                    struct store_info *ret_info, struct error *e)
{
    int64_t started = clock_boot_ns();
    int r = read_object((struct store_file *)s, key, offset, length, max, ret, ret_info, e);
    store_account(s, STORE_GET, key, status_of(r), started, r < 0 ? 0 : ret->len, 1);
    return r;
}

static int file_stat(struct store *s, const char *key, struct store_info *ret, struct error *e)
{
    struct store_file *f = (struct store_file *)s;
    int64_t started = clock_boot_ns();
    _cleanup_place_ struct place p = PLACE_NONE;
    int r = place_open(f->root, &p, e);
    if (r == 0) {
        struct stat st;
        _cleanup_close_ int fd = object_open(&p, key, &st, e);
        r = fd < 0 ? fd : object_info(&p, fd, key, &st, ret, e);
    }
    store_account(s, STORE_STAT, key, status_of(r), started, 0, 1);
    return r;
}

/* Splits key into its directory ("" for the root) and the last part. */
static const char *split(const char *key, char directory[STORE_KEY_MAX])
{
    const char *slash = strrchr(key, '/');
    size_t len = slash ? (size_t)(slash - key) : 0;
    memcpy(directory, key, len);
    directory[len] = '\0';
    return slash ? slash + 1 : key;
}

/*
 * Opens the directory, under the lock. make: missing ones are made, and all on the way are fsynced once by each opened
 * store, so that the name outlives a power cut even where a killed process made the directories.
 */
static int parent_open(struct store_file *f, const struct place *p, const char *directory, bool make, struct error *e)
{
    pthread_mutex_lock(&f->mutex);
    bool known = strcmp(f->durable, directory) == 0;
    pthread_mutex_unlock(&f->mutex);
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    int fd = fd_open_beneath(p->root, *directory ? directory : ".", flags, 0);
    if (!make || (fd >= 0 && known))
        return fd >= 0 || fd == -ENOENT || fd == -ENOTDIR ? fd : place_refused(e, -fd, "open", directory);
    if (fd >= 0)
        close(fd);

    char path[STORE_KEY_MAX];
    _cleanup_close_ int at = fd_open_beneath(p->root, ".", flags, 0);
    for (size_t len = 0; at >= 0 && directory[len];) {
        size_t part = len + (len > 0);
        len = part + strcspn(directory + part, "/");
        memcpy(path, directory, len);
        path[len] = '\0';
        if (mkdirat(at, path + part, 0700) < 0 && errno != EEXIST)
            return place_refused(e, errno, "mkdir", path);
        if (fsync(at) < 0)
            return place_refused(e, errno, "fsync the directory of", path);
        int next = fd_open_beneath(p->root, path, flags, 0);
        close(at);
        at = next;
    }
    if (at < 0)
        return place_refused(e, -at, "open", directory);
    pthread_mutex_lock(&f->mutex);
    strcpy(f->durable, directory);
    pthread_mutex_unlock(&f->mutex);
    return mem_steal_fd(&at);
}

static int must_match(const struct place *p, const char *key, const char *etag, struct error *e)
{
    struct stat st;
    char found[STORE_ETAG_MAX];
    _cleanup_close_ int fd = object_open(p, key, &st, e);
    int r = fd < 0 ? fd : etag_of_file(fd, key, found, e);
    if (r == -ENOENT || (r == 0 && strcmp(found, etag) != 0))
        return error_say(e, ERROR_FAILED, -ESTALE, "someone else has changed it");
    return r;
}

static int give_name(const struct place *p, const char *temporary, int parent, const char *leaf, bool only_new)
{
    if (renameat2(p->ours, temporary, parent, leaf, only_new ? RENAME_NOREPLACE : 0) == 0)
        return 0;
    if (!only_new || (errno != EINVAL && errno != ENOSYS))
        return -errno;
    /* NFS knows no RENAME_NOREPLACE */
    if (linkat(p->ours, temporary, parent, leaf, 0) < 0)
        return -errno;
    unlinkat(p->ours, temporary, 0);
    return 0;
}

static int publish(struct store_file *f, const struct place *p, const char *temporary, const char *key,
                   enum store_condition condition, const char *etag, struct error *e)
{
    char directory[STORE_KEY_MAX];
    const char *leaf = split(key, directory);
    _cleanup_close_ int lock = place_lock(p, &f->store, e);
    if (lock < 0)
        return lock;
    if (condition == STORE_IF_MATCH) {
        int r = must_match(p, key, etag, e);
        if (r < 0)
            return r;
    }
    _cleanup_close_ int parent = parent_open(f, p, directory, true, e);
    if (parent < 0)
        return parent;
    int r = give_name(p, temporary, parent, leaf, condition == STORE_IF_ABSENT);
    if (r == -EEXIST && condition == STORE_IF_ABSENT)
        return error_say(e, ERROR_FAILED, -ESTALE, "it exists already");
    if (r < 0)
        return place_refused(e, -r, "rename to", key);
    crash_point("store-file.named");
    return fsync(parent) < 0 ? place_refused(e, errno, "fsync the directory of", key) : 0;
}

static void sweep_once(struct store_file *f, const struct place *p)
{
    pthread_mutex_lock(&f->mutex);
    bool again = f->swept;
    f->swept = true;
    pthread_mutex_unlock(&f->mutex);
    if (!again)
        place_sweep(p);
}

static int write_object(struct store_file *f, const char *key, struct bytes data, enum store_condition condition,
                        const char *etag, struct error *e)
{
    _cleanup_place_ struct place p = PLACE_NONE;
    int r = place_open(f->root, &p, e);
    if (r < 0)
        return r;
    char temporary[PLACE_TEMPORARY_MAX];
    _cleanup_close_ int fd = place_temporary(&p, temporary, e);
    if (fd < 0)
        return fd;
    sweep_once(f, &p);
    r = fd_write_all(fd, data.data, data.len, e);
    if (r < 0)
        r = place_refused(e, -r, "write", key);
    if (r == 0)
        r = place_stamp(fd, &p, e);
    if (r == 0 && fsync(fd) < 0)
        r = place_refused(e, errno, "fsync", key);
    if (r == 0 && close(mem_steal_fd(&fd)) < 0) /* NFS and quotas report a full disk here */
        r = place_refused(e, errno, "close", key);
    crash_point("store-file.written");
    if (r == 0)
        r = publish(f, &p, temporary, key, condition, etag, e);
    if (r < 0)
        unlinkat(p.ours, temporary, 0);
    return r;
}

static int file_put(struct store *s, const char *key, struct bytes data, enum store_condition condition,
                    const char *etag, char *ret_etag, struct error *e)
{
    int64_t started = clock_boot_ns();
    int r = write_object((struct store_file *)s, key, data, condition, etag, e);
    if (r == 0 && ret_etag)
        etag_of_bytes(data, ret_etag);
    store_account(s, STORE_PUT, key, status_of(r), started, data.len, 1);
    return r;
}

static int unlink_object(struct store_file *f, const char *key, struct error *e)
{
    _cleanup_place_ struct place p = PLACE_NONE;
    int r = place_open(f->root, &p, e);
    if (r < 0)
        return r;
    char directory[STORE_KEY_MAX];
    const char *leaf = split(key, directory);
    _cleanup_close_ int lock = place_lock(&p, &f->store, e);
    if (lock < 0)
        return lock;
    _cleanup_close_ int parent = parent_open(f, &p, directory, false, e);
    if (parent == -ENOENT || parent == -ENOTDIR)
        return 0;
    if (parent < 0)
        return parent;
    if (unlinkat(parent, leaf, 0) < 0)
        return errno == ENOENT || errno == EISDIR ? 0 : place_refused(e, errno, "unlink", key);
    if (fsync(parent) < 0)
        return place_refused(e, errno, "fsync the directory of", key);

    /* Writers' directories come and go with every session; publish makes what it needs under the same lock. */
    while (*directory && unlinkat(p.root, directory, AT_REMOVEDIR) == 0) {
        char above[STORE_KEY_MAX];
        split(directory, above);
        strcpy(directory, above);
    }
    return 0;
}

static int file_remove(struct store *s, const char *key, struct error *e)
{
    int64_t started = clock_boot_ns();
    int r = unlink_object((struct store_file *)s, key, e);
    store_account(s, STORE_REMOVE, key, status_of(r), started, 0, 1);
    return r;
}

static int file_list(struct store *s, const char *prefix,
                     int (*each)(void *arg, const char *key, const struct store_info *info, struct error *e), void *arg,
                     struct error *e)
{
    struct store_file *f = (struct store_file *)s;
    int64_t started = clock_boot_ns(), now = 0;
    _cleanup_place_ struct place p = PLACE_NONE;
    int r = place_open(f->root, &p, e);
    if (r == 0)
        r = place_now(&p, &now, e);
    if (r == 0)
        r = store_walk(p.root, prefix, now, each, arg, e);
    store_account(s, STORE_LIST, prefix, status_of(r), started, 0, 1);
    return r;
}

static int file_list_names(struct store *s, const char *prefix,
                           int (*each)(void *arg, const char *name, struct error *e), void *arg, struct error *e)
{
    int64_t started = clock_boot_ns();
    _cleanup_place_ struct place p = PLACE_NONE;
    int r = place_open(((struct store_file *)s)->root, &p, e);
    if (r == 0)
        r = store_walk_names(p.root, prefix, each, arg, e);
    store_account(s, STORE_LIST, prefix, status_of(r), started, 0, 1);
    return r;
}

static int file_create(struct store *s, struct error *e)
{
    return place_create(((struct store_file *)s)->root, e);
}

static void file_close(struct store *s)
{
    struct store_file *f = (struct store_file *)s;
    pthread_mutex_destroy(&f->mutex);
    free(f->root);
    free(f);
}

int store_file_open(const char *path, struct store **ret, struct error *e)
{
    static const struct store_operations operations = {
        .get = file_get,
        .put = file_put,
        .stat = file_stat,
        .list = file_list,
        .list_names = file_list_names,
        .remove = file_remove,
        .create = file_create,
        .close = file_close,
    };
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    if (path[0] != '/' || len == 1)
        return error_say(e, ERROR_USAGE, -EINVAL, "store file://%s: must be an absolute path below /", path);
    struct store_file *f = mem_new(1, sizeof(*f));
    f->store.operations = &operations;
    f->root = mem_copy(path, len);
    f->durable[0] = '/'; /* no directory of ours is called that */
    pthread_mutex_init(&f->mutex, NULL);
    snprintf(f->store.description, sizeof(f->store.description), "file://%s", f->root);
    *ret = &f->store;
    return 0;
}
