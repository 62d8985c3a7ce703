/* SPDX-License-Identifier: MIT */
#include "tests/unit/twin.h"

#include "index/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <uthash.h>

const struct hash_key twin_key = { "a key that only tests know" };

struct kept {
    struct pack_name pack; /* each frame is a pack of its own */
    enum frame_kind kind;
    struct buf bytes;
    UT_hash_handle hh;
};

struct twin {
    struct source source; /* first: the source is the twin */
    pthread_mutex_t lock; /* for everything below */
    pthread_cond_t changed;
    struct kept *frames;
    struct twin_counts counts;
    unsigned fail_in, waiting, delay_ms;
    int fail_code;
    enum error_kind fail_kind;
    bool held;
};

static struct kept *find(struct twin *t, const struct locator *l)
{
    struct kept *k;
    HASH_FIND(hh, t->frames, &l->pack, sizeof(l->pack), k);
    return k;
}

/* What stands in the way of the answer. */
static int obstacles(struct twin *t, enum frame_kind kind, struct error *e)
{
    t->counts.gets++;
    t->counts.page_gets += kind == FRAME_PAGE;
    t->waiting++;
    pthread_cond_broadcast(&t->changed);
    while (t->held)
        pthread_cond_wait(&t->changed, &t->lock);
    t->waiting--;
    if (t->delay_ms > 0) {
        struct timespec pause = { t->delay_ms / 1000, t->delay_ms % 1000 * 1000000L };
        pthread_mutex_unlock(&t->lock);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&t->lock);
    }
    if (t->fail_in == 1)
        return error_set(e, t->fail_kind, t->fail_code, "the twin was told to fail");
    if (t->fail_in > 1)
        t->fail_in--;
    return 0;
}

static int get(struct source *s, const struct locator *l, enum frame_kind kind, struct frame **ret, struct error *e)
{
    struct twin *t = (struct twin *)s;
    pthread_mutex_lock(&t->lock);
    int r = obstacles(t, kind, e);
    struct kept *k = r == 0 ? find(t, l) : NULL;
    if (r == 0 && !k)
        r = error_set(e, ERROR_DAMAGED, -ENOENT, "the twin's frame");
    else if (r == 0 && k->kind != kind)
        r = error_set(e, ERROR_DAMAGED, -EIO, "the twin's frame is of kind %d, not %d", k->kind, kind);
    if (r == 0) {
        *ret = frame_new(k->bytes.len);
        if (k->bytes.len > 0)
            memcpy((*ret)->data, k->bytes.data, k->bytes.len);
    }
    pthread_mutex_unlock(&t->lock);
    return r;
}

static int warm(struct source *s, const struct locator *l, size_t count, enum source_urgency urgency, struct error *e)
{
    struct twin *t = (struct twin *)s;
    pthread_mutex_lock(&t->lock);
    t->counts.warms++;
    t->counts.warmed += (unsigned)count;
    pthread_mutex_unlock(&t->lock);
    return 0;
}

struct twin *twin_new(void)
{
    struct twin *t = mem_new(1, sizeof(*t));
    t->source = (struct source){ .get = get, .warm = warm };
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
    return t;
}

static void forget(struct twin *t, struct kept *k)
{
    HASH_DEL(t->frames, k);
    buf_release(&k->bytes);
    free(k);
}

void twin_free(struct twin *t)
{
    struct kept *k, *next;
    HASH_ITER (hh, t->frames, k, next)
        forget(t, k);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->changed);
    free(t);
}

struct source *twin_source(struct twin *t)
{
    return &t->source;
}

struct locator twin_add(struct twin *t, enum frame_kind kind, const void *data, size_t len)
{
    if (len == 0 || len > FRAME_RAW_MAX)
        abort();
    struct hash h;
    struct locator l = { .offset = (uint32_t)kind, .sealed = (uint32_t)len + 64, .raw = (uint32_t)len };
    hash_bytes(&twin_key, data, len, &h);
    h.b[0] = (uint8_t)kind;
    memcpy(&l.pack, h.b, sizeof(l.pack));

    pthread_mutex_lock(&t->lock);
    if (!find(t, &l)) {
        struct kept *k = mem_new(1, sizeof(*k));
        k->pack = l.pack;
        k->kind = kind;
        buf_add(&k->bytes, data, len);
        HASH_ADD(hh, t->frames, pack, sizeof(k->pack), k);
    }
    pthread_mutex_unlock(&t->lock);
    return l;
}

int twin_emit(void *twin, struct bytes page, uint8_t level, struct locator *ret, struct error *e)
{
    struct twin *t = twin;
    *ret = twin_add(t, FRAME_PAGE, page.data, page.len);
    pthread_mutex_lock(&t->lock);
    t->counts.emitted++;
    pthread_mutex_unlock(&t->lock);
    return 0;
}

struct twin_counts twin_count(struct twin *t)
{
    pthread_mutex_lock(&t->lock);
    struct twin_counts c = t->counts;
    c.frames = HASH_COUNT(t->frames);
    pthread_mutex_unlock(&t->lock);
    return c;
}

void twin_reset(struct twin *t)
{
    pthread_mutex_lock(&t->lock);
    t->counts = (struct twin_counts){ 0 };
    pthread_mutex_unlock(&t->lock);
}

void twin_fail(struct twin *t, unsigned n, int code, enum error_kind kind)
{
    pthread_mutex_lock(&t->lock);
    t->fail_in = n;
    t->fail_code = code;
    t->fail_kind = kind;
    pthread_mutex_unlock(&t->lock);
}

void twin_hold(struct twin *t)
{
    pthread_mutex_lock(&t->lock);
    t->held = true;
    pthread_mutex_unlock(&t->lock);
}

void twin_release(struct twin *t)
{
    pthread_mutex_lock(&t->lock);
    t->held = false;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

void twin_await(struct twin *t, unsigned n)
{
    pthread_mutex_lock(&t->lock);
    while (t->waiting < n)
        pthread_cond_wait(&t->changed, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

void twin_delay(struct twin *t, unsigned ms)
{
    pthread_mutex_lock(&t->lock);
    t->delay_ms = ms;
    pthread_mutex_unlock(&t->lock);
}

void twin_replace(struct twin *t, const struct locator *l, const void *data, size_t len)
{
    pthread_mutex_lock(&t->lock);
    struct kept *k = find(t, l);
    if (!k)
        abort();
    buf_clear(&k->bytes);
    buf_add(&k->bytes, data, len);
    pthread_mutex_unlock(&t->lock);
}

void twin_truncate(struct twin *t, const struct locator *l, size_t len)
{
    pthread_mutex_lock(&t->lock);
    struct kept *k = find(t, l);
    if (!k || len > k->bytes.len)
        abort();
    k->bytes.len = len;
    pthread_mutex_unlock(&t->lock);
}

void twin_flip(struct twin *t, const struct locator *l, size_t byte, uint8_t mask)
{
    pthread_mutex_lock(&t->lock);
    struct kept *k = find(t, l);
    if (!k || byte >= k->bytes.len)
        abort();
    k->bytes.data[byte] ^= mask;
    pthread_mutex_unlock(&t->lock);
}

void twin_remove(struct twin *t, const struct locator *l)
{
    pthread_mutex_lock(&t->lock);
    struct kept *k = find(t, l);
    if (k)
        forget(t, k);
    pthread_mutex_unlock(&t->lock);
}

struct bytes twin_bytes(struct twin *t, const struct locator *l)
{
    pthread_mutex_lock(&t->lock);
    struct kept *k = find(t, l);
    struct bytes b = k ? buf_bytes(&k->bytes) : (struct bytes){ 0 };
    pthread_mutex_unlock(&t->lock);
    return b;
}
