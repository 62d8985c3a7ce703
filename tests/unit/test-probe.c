/* SPDX-License-Identifier: MIT */
#include "sync/probe.h"

#include "index/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A store in memory that keeps its conditions, or breaks them in one of the ways that servers were seen to. */

enum temper {
    GOOD,
    IGNORES, /* every PUT is done */
    IGNORES_MATCH,
    TWO_STEPS, /* compares, then replaces */
    MAKES,     /* If-Match of nothing makes it */
    LIES,      /* says no to the one whose bytes it kept, and yes to another */
    TOO_OFTEN, /* 429 for all but every fourth PUT */
    OUT,       /* 503 for every conditional PUT */
};

#define OBJECTS_MAX 256

struct object {
    char key[STORE_KEY_MAX];
    struct buf body;
    unsigned etag;
};

struct twin {
    struct store store;
    enum temper temper;
    pthread_mutex_t mutex;
    struct object objects[OBJECTS_MAX];
    unsigned etags, puts;
    unsigned racing; /* writers between their comparison and their write */
};

static struct object *find(struct twin *t, const char *key)
{
    for (size_t i = 0; i < OBJECTS_MAX; i++)
        if (strcmp(t->objects[i].key, key) == 0)
            return &t->objects[i];
    return NULL;
}

static bool condition_met(struct twin *t, const char *key, enum store_condition condition, const char *etag)
{
    const struct object *o = find(t, key);
    char now[16];
    snprintf(now, sizeof(now), "%u", o ? o->etag : 0);
    if (condition == STORE_ALWAYS || t->temper == IGNORES)
        return true;
    if (condition == STORE_IF_ABSENT)
        return !o;
    return t->temper == IGNORES_MATCH || (o ? strcmp(now, etag) == 0 : t->temper == MAKES);
}

static void write_object(struct twin *t, const char *key, struct bytes data, char *ret_etag)
{
    struct object *o = find(t, key);
    if (!o)
        o = find(t, "");
    assert_non_null(o);
    strcpy(o->key, key);
    buf_clear(&o->body);
    buf_add(&o->body, data.data, data.len);
    o->etag = ++t->etags;
    if (ret_etag)
        snprintf(ret_etag, STORE_ETAG_MAX, "%u", o->etag);
}

static int put_locked(struct twin *t, const char *key, struct bytes data, enum store_condition condition,
                      const char *etag, char *ret_etag)
{
    unsigned nth = t->puts++;
    if (condition != STORE_ALWAYS && (t->temper == OUT || (t->temper == TOO_OFTEN && nth % 4 != 0)))
        return t->temper == OUT ? -EHOSTUNREACH : -EBUSY;
    bool met = condition_met(t, key, condition, etag);
    if (t->temper == TWO_STEPS) {
        pthread_mutex_unlock(&t->mutex);
        sched_yield();
        pthread_mutex_lock(&t->mutex);
    }
    if (!met)
        return -ESTALE;
    write_object(t, key, data, ret_etag);
    if (t->temper == LIES && condition != STORE_ALWAYS)
        ((uint8_t *)find(t, key)->body.data)[0] ^= 1;
    return 0;
}

static int twin_put(struct store *s, const char *key, struct bytes data, enum store_condition condition,
                    const char *etag, char *ret_etag, struct error *e)
{
    struct twin *t = (struct twin *)s;
    pthread_mutex_lock(&t->mutex);
    int r = put_locked(t, key, data, condition, etag, ret_etag);
    pthread_mutex_unlock(&t->mutex);
    return r < 0 ? error_set(e, r == -ESTALE ? ERROR_FAILED : ERROR_STORE, r, "twin") : 0;
}

static int twin_get(struct store *s, const char *key, uint64_t offset, uint64_t length, size_t max, struct buf *ret,
                    struct store_info *ret_info, struct error *e)
{
    struct twin *t = (struct twin *)s;
    pthread_mutex_lock(&t->mutex);
    const struct object *o = find(t, key);
    buf_clear(ret);
    if (o)
        buf_add(ret, o->body.data, o->body.len);
    pthread_mutex_unlock(&t->mutex);
    return o ? 0 : error_set(e, ERROR_UNKNOWN, -ENOENT, "twin");
}

static int twin_list(struct store *s, const char *prefix,
                     int (*each)(void *arg, const char *key, const struct store_info *info, struct error *e), void *arg,
                     struct error *e)
{
    static const int64_t ages_s[] = { 10, 7200 };
    char key[32];
    for (int i = 0; i < 2; i++) { /* one of a probe that runs, one of a probe that was killed */
        struct store_info info = { .modified_ns = 1, .now_ns = 1 + ages_s[i] * 1000000000 };
        snprintf(key, sizeof(key), "probe/left-%d", i);
        int r = each(arg, key, &info, e);
        if (r != 0)
            return r;
    }
    return 0;
}

static int twin_remove(struct store *s, const char *key, struct error *e)
{
    struct twin *t = (struct twin *)s;
    pthread_mutex_lock(&t->mutex);
    struct object *o = find(t, key);
    if (o)
        o->key[0] = '\0';
    pthread_mutex_unlock(&t->mutex);
    return 0;
}

static unsigned objects(const struct twin *t)
{
    unsigned n = 0;
    for (size_t i = 0; i < OBJECTS_MAX; i++)
        n += t->objects[i].key[0] != '\0';
    return n;
}

static int probe(enum temper temper, struct twin *t, struct error *e)
{
    static const struct store_operations operations = {
        .get = twin_get, .put = twin_put, .list = twin_list, .remove = twin_remove
    };
    *t = (struct twin){ .store = { .operations = &operations }, .temper = temper };
    pthread_mutex_init(&t->mutex, NULL);
    write_object(t, "probe/left-0", (struct bytes){ 0 }, NULL);
    write_object(t, "probe/left-1", (struct bytes){ 0 }, NULL);
    int r = probe_conditions(&t->store, e);
    assert_non_null(find(t, "probe/left-0"));
    assert_null(find(t, "probe/left-1"));
    assert_int_equal(objects(t), 1); /* fit or not, no key of the probe's stays */
    for (size_t i = 0; i < OBJECTS_MAX; i++)
        buf_release(&t->objects[i].body);
    return r;
}

static void a_good_store_passes_with_all_rounds_run(void **state)
{
    static struct twin t;
    assert_int_equal(probe(GOOD, &t, NULL), 0);
    assert_true(t.puts >= 2 * PROBE_ROUNDS * PROBE_WRITERS);
}

/* Fails if one winner is taken for granted: each of these lets two nodes hold a box. */
static void a_store_where_two_win_is_refused(void **state)
{
    static const enum temper tempers[] = { IGNORES, IGNORES_MATCH, TWO_STEPS, MAKES, LIES };
    for (size_t i = 0; i < sizeof(tempers) / sizeof(tempers[0]); i++) {
        static struct twin t;
        struct error e = { 0 };
        assert_int_equal(probe(tempers[i], &t, &e), -ENOTSUP);
        assert_int_equal(e.kind, ERROR_STORE);
        assert_true(e.hint[0] != '\0');
    }
}

static void rounds_without_a_winner_are_repeated_within_reason(void **state)
{
    static struct twin t;
    struct error e = { 0 };
    assert_int_equal(probe(TOO_OFTEN, &t, &e), 0);
    assert_int_equal(probe(OUT, &t, &e), -EHOSTUNREACH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_store_passes_with_all_rounds_run),
        cmocka_unit_test(a_store_where_two_win_is_refused),
        cmocka_unit_test(rounds_without_a_winner_are_repeated_within_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
