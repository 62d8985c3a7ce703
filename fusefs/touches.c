/* SPDX-License-Identifier: MIT */
#include "fusefs/touches.h"

#include "index/access.h"
#include "index/base/log.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

/* The file. Another daemon than the one that wrote it may read it: nothing in it is relied on. */
struct kept {
    char session[64];
    uint64_t count;
    uint64_t order[ACCESS_PATHS_MAX];
};

struct touches {
    uint64_t positions;
    atomic_uint_least64_t *seen; /* a bit each */
    pthread_mutex_t lock;
    struct kept *kept;
};

static struct kept *map(const char *path)
{
    _cleanup_close_ int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    int error = fd < 0 ? errno : posix_fallocate(fd, 0, sizeof(struct kept)); /* a page without room were SIGBUS */
    bool in_file = path && error == 0;
    if (path && !in_file)
        log_info("%s cannot be used: %s", path, strerror(error));
    void *p = mmap(NULL, sizeof(struct kept), PROT_READ | PROT_WRITE,
                   in_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, in_file ? fd : -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* What a predecessor noted, as far as it makes sense. */
static void take_over(struct touches *t, const char *session)
{
    struct kept *k = t->kept;
    uint64_t count = k->count;
    if (strncmp(k->session, session, sizeof(k->session) - 1) != 0 || count > ACCESS_PATHS_MAX) {
        snprintf(k->session, sizeof(k->session), "%s", session);
        count = 0;
    }
    k->count = 0;
    for (uint64_t i = 0; i < count; i++)
        touches_add(t, k->order[i]);
}

int touches_new(uint64_t positions, const char *path, const char *session, struct touches **ret, struct error *e)
{
    struct kept *kept = map(path);
    if (!kept)
        return error_set(e, ERROR_FAILED, -errno, "map %zu bytes for first touches", sizeof(*kept));
    struct touches *t = mem_new(1, sizeof(*t));
    t->positions = positions;
    t->seen = mem_new(positions / 64 + 1, sizeof(t->seen[0]));
    t->kept = kept;
    pthread_mutex_init(&t->lock, NULL);
    take_over(t, session);
    *ret = t;
    return 0;
}

void touches_free(struct touches *t)
{
    if (!t)
        return;
    munmap(t->kept, sizeof(*t->kept));
    pthread_mutex_destroy(&t->lock);
    free(t->seen);
    free(t);
}

void touches_add(void *arg, uint64_t position)
{
    struct touches *t = arg;
    uint64_t bit = 1ull << (position % 64);
    if (position >= t->positions || atomic_load_explicit(&t->seen[position / 64], memory_order_relaxed) & bit)
        return;
    if (atomic_fetch_or(&t->seen[position / 64], bit) & bit)
        return;
    pthread_mutex_lock(&t->lock);
    if (t->kept->count < ACCESS_PATHS_MAX)
        t->kept->order[t->kept->count++] = position;
    pthread_mutex_unlock(&t->lock);
}

size_t touches_count(struct touches *t)
{
    pthread_mutex_lock(&t->lock);
    size_t count = t->kept->count;
    pthread_mutex_unlock(&t->lock);
    return count;
}

static int path_of(struct tree *tree, uint64_t position, char **ret, struct error *e)
{
    _cleanup_(buf_release) struct buf key = { 0 }, path = { 0 };
    int r = tree_at(tree, position, &key, NULL, e);
    if (r < 0)
        return r;
    if (key_to_path(buf_bytes(&key), &path) < 0)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "a key that is no path");
    *ret = mem_strdup(buf_string(&path));
    return 0;
}

int touches_encode(struct touches *t, struct tree *tree, size_t most, struct buf *to, struct error *e)
{
    size_t count = touches_count(t), done = 0;
    if (count > most)
        count = most;
    char **paths = mem_new(count + 1, sizeof(*paths));
    int r = 0;
    for (; r == 0 && done < count; done += r == 0) {
        pthread_mutex_lock(&t->lock);
        uint64_t position = t->kept->order[done];
        pthread_mutex_unlock(&t->lock);
        r = path_of(tree, position, &paths[done], e);
    }
    if (r == 0)
        access_encode(paths, count, to);
    access_free(paths, done);
    return r;
}
