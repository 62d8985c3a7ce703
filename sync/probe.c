/* SPDX-License-Identifier: MIT */
#include "sync/probe.h"

#include "index/base/clock.h"
#include "index/base/log.h"
#include "sync/backoff.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define FAILS_MAX 8 /* rounds in a row without a winner */
#define FAIL_WAIT_MS 20
#define LEFT_AGE_NS (3600 * 1000000000LL)
#define KEY_REST_MS 1100 /* between two writes of a key */
#define BODY_MAX 64

struct probe {
    struct store *store;
    uint32_t random[2];
    unsigned keys;  /* names given out */
    unsigned fails; /* rounds in a row that told nothing */
};

struct gate { /* all writers wait here, so that they start together or not at all */
    pthread_mutex_t mutex;
    pthread_cond_t moved;
    bool open, shut;
};

struct writer {
    struct store *store;
    struct gate *gate;
    const char *key, *etag;
    enum store_condition condition;
    char body[BODY_MAX];
    int result;
    struct error error;
};

static void new_key(struct probe *p, char key[STORE_KEY_MAX])
{
    snprintf(key, STORE_KEY_MAX, "probe/%08x%08x-%u", p->random[0], p->random[1], p->keys++);
}

static void new_body(char body[BODY_MAX], unsigned writer)
{
    uint32_t random[4]; /* equal bodies have equal etags, and then two may rightly win */
    randombytes_buf(random, sizeof(random));
    snprintf(body, BODY_MAX, "%08x%08x%08x%08x %u", random[0], random[1], random[2], random[3], writer);
}

static struct bytes bytes_of(const char *body)
{
    return (struct bytes){ (const uint8_t *)body, strlen(body) };
}

static void *write_once(void *arg)
{
    struct writer *w = arg;
    pthread_mutex_lock(&w->gate->mutex);
    while (!w->gate->open && !w->gate->shut)
        pthread_cond_wait(&w->gate->moved, &w->gate->mutex);
    bool go = w->gate->open;
    pthread_mutex_unlock(&w->gate->mutex);
    if (go)
        w->result = store_put(w->store, w->key, bytes_of(w->body), w->condition, w->etag, NULL, &w->error);
    return NULL;
}

static int race(struct probe *p, const char *key, const char *etag, struct writer writers[PROBE_WRITERS],
                struct error *e)
{
    struct gate gate = { .mutex = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER };
    pthread_t threads[PROBE_WRITERS];
    unsigned n = 0;
    for (; n < PROBE_WRITERS; n++) {
        writers[n] = (struct writer){ .store = p->store, .gate = &gate, .key = key, .etag = etag };
        writers[n].condition = etag ? STORE_IF_MATCH : STORE_IF_ABSENT;
        new_body(writers[n].body, n);
        if (pthread_create(&threads[n], NULL, write_once, &writers[n]) != 0)
            break;
    }
    pthread_mutex_lock(&gate.mutex);
    gate.open = n == PROBE_WRITERS;
    gate.shut = !gate.open;
    pthread_cond_broadcast(&gate.moved);
    pthread_mutex_unlock(&gate.mutex);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return gate.open ? 0 : error_set(e, ERROR_FAILED, -EAGAIN, "start %d threads", PROBE_WRITERS);
}

static int unfit(struct error *e, const struct store *s, const char *what)
{
    error_say(e, ERROR_STORE, -ENOTSUP, "%s: %s; two nodes could hold one box", s->description, what);
    error_hint(e, "use a store that keeps If-Match and If-None-Match for racing writers");
    return -ENOTSUP;
}

/* 1: one won, and the store agrees. 0: nobody did, for a reason that may pass. */
static int judge(struct probe *p, const char *key, const struct writer writers[PROBE_WRITERS], struct error *e)
{
    const struct writer *winner = NULL;
    for (unsigned i = 0; i < PROBE_WRITERS; i++) {
        const struct writer *w = &writers[i];
        if (w->result == 0 && winner)
            return unfit(e, p->store, "two of the writers that raced for one condition won");
        if (w->result == 0)
            winner = w;
        else if (w->result != -ESTALE && w->result != -EBUSY && w->result != -EHOSTUNREACH) {
            error_pass(e, &w->error);
            return w->result;
        }
    }
    if (!winner)
        return 0;
    char body[BODY_MAX + 1] = "";
    struct buf got = { 0 };
    int r = store_get(p->store, key, 0, 0, BODY_MAX, &got, NULL, e);
    if (r == 0)
        snprintf(body, sizeof(body), "%s", buf_string(&got));
    buf_release(&got);
    if (r == -ENOENT || (r == 0 && strcmp(body, winner->body) != 0))
        return unfit(e, p->store, "the writer that won is not the one whose bytes stayed");
    return r < 0 ? r : 1;
}

/* 1: a round that counts. The key is gone afterwards. */
static int run_round(struct probe *p, const char *key, const char *etag, struct error *e)
{
    struct writer writers[PROBE_WRITERS];
    int r = race(p, key, etag, writers, e);
    if (r == 0)
        r = judge(p, key, writers, e);
    int removed = store_remove(p->store, key, r < 0 ? NULL : e);
    return r < 0 || removed == 0 ? r : removed;
}

/* After a round: told is what it returned. Waits after one that told nothing; ends a row of them. */
static int go_on(struct probe *p, int told, struct error *e)
{
    if (told != 0) {
        p->fails = 0;
        return told < 0 ? told : 0;
    }
    if (++p->fails > FAILS_MAX)
        return error_say(e, ERROR_STORE, -EHOSTUNREACH, "%s: %u times in a row nobody could write",
                         p->store->description, p->fails);
    return backoff_wait(p->store, backoff_ms(p->fails, FAIL_WAIT_MS, 0, randombytes_random()), e);
}

static int probe_absent(struct probe *p, struct error *e)
{
    int r = 0;
    for (unsigned done = 0; r == 0 && done < PROBE_ROUNDS;) {
        char key[STORE_KEY_MAX];
        new_key(p, key);
        int told = run_round(p, key, NULL, e);
        done += told > 0;
        r = go_on(p, told, e);
    }
    return r;
}

struct match_key {
    char key[STORE_KEY_MAX];
    char etag[STORE_ETAG_MAX];
};

static void remove_keys(struct probe *p, const struct match_key *keys, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        store_remove(p->store, keys[i].key, NULL);
}

/* All or none. */
static int make_keys(struct probe *p, struct match_key *keys, unsigned count, struct error *e)
{
    int r = 0;
    unsigned n = 0;
    for (; r == 0 && n < count; n++) {
        char body[BODY_MAX];
        new_key(p, keys[n].key);
        new_body(body, 0);
        r = store_put(p->store, keys[n].key, bytes_of(body), STORE_ALWAYS, NULL, keys[n].etag, e);
    }
    if (r < 0)
        remove_keys(p, keys, n);
    return r;
}

static int probe_match(struct probe *p, struct error *e)
{
    int r = 0;
    for (unsigned done = 0; r == 0 && done < PROBE_ROUNDS;) {
        struct match_key keys[PROBE_ROUNDS];
        unsigned count = PROBE_ROUNDS - done, used = 0;
        r = make_keys(p, keys, count, e);
        if (r < 0)
            return r;
        r = backoff_wait(p->store, KEY_REST_MS, e);
        while (r == 0 && used < count) {
            int told = run_round(p, keys[used].key, keys[used].etag, e);
            used++;
            done += told > 0;
            r = go_on(p, told, e);
        }
        remove_keys(p, keys + used, count - used);
    }
    return r;
}

/* 1: refused, as it must be. */
static int match_nothing(struct probe *p, const char *etag, struct error *e)
{
    char key[STORE_KEY_MAX], body[BODY_MAX];
    struct error why = { 0 };
    new_key(p, key);
    new_body(body, 0);
    int r = store_put(p->store, key, bytes_of(body), STORE_IF_MATCH, etag, NULL, &why);
    store_remove(p->store, key, NULL);
    if (r == 0)
        return unfit(e, p->store, "If-Match made an object that was not there");
    if (r == -ESTALE || r == -EBUSY || r == -EHOSTUNREACH)
        return r == -ESTALE;
    error_pass(e, &why);
    return r;
}

/* An If-Match of nothing must not make something: then a dropped head would come back. */
static int probe_nothing(struct probe *p, struct error *e)
{
    struct match_key other; /* whose etag is like one */
    int r = make_keys(p, &other, 1, e), told = 0;
    if (r < 0)
        return r;
    while (r == 0 && told == 0) {
        told = match_nothing(p, other.etag, e);
        r = go_on(p, told, e);
    }
    remove_keys(p, &other, 1);
    return r;
}

static int remove_left(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    if (info->now_ns - info->modified_ns < LEFT_AGE_NS)
        return 0;
    log_debug("probe: removing %s, left by a killed probe", key);
    return store_remove(arg, key, e);
}

int probe_conditions(struct store *s, struct error *e)
{
    struct probe p = { .store = s };
    randombytes_buf(p.random, sizeof(p.random));
    int64_t started = clock_boot_ns();
    int r = store_list(s, "probe/", remove_left, s, e);
    if (r == 0)
        r = probe_nothing(&p, e);
    if (r == 0)
        r = probe_absent(&p, e);
    if (r == 0)
        r = probe_match(&p, e);
    if (r < 0) {
        error_prefix(e, "probe the store");
        return r;
    }
    log_info("probed the store's conditions in %lld ms", (long long)(clock_boot_ns() - started) / 1000000);
    return 0;
}
