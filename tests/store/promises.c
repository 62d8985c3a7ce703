/* SPDX-License-Identifier: MIT */
#include "tests/store/promises.h"

#include "index/base/mem.h"
#include "sync/probe.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include <cmocka.h>

static struct bytes text(const char *s)
{
    return (struct bytes){ (const uint8_t *)s, strlen(s) };
}

static const char *key_of(const struct promises *p, const char *name)
{
    static _Thread_local char key[STORE_KEY_MAX];
    snprintf(key, sizeof(key), "%s%s", p->area, name);
    return key;
}

static int put(const struct promises *p, const char *name, const char *body, enum store_condition condition,
               const char *etag, char *ret_etag)
{
    struct error e = { 0 };
    int r = store_put(p->store, key_of(p, name), text(body), condition, etag, ret_etag, &e);
    if (r < 0 && r != -ESTALE)
        print_error("%s\n", e.text);
    return r;
}

static void expect_body(const struct promises *p, const char *name, const char *body)
{
    _cleanup_(buf_release) struct buf got = { 0 };
    assert_int_equal(store_get(p->store, key_of(p, name), 0, 0, 1000, &got, NULL, NULL), 0);
    assert_string_equal(buf_string(&got), body);
}

static void discard(const struct promises *p, const char *name)
{
    assert_int_equal(store_remove(p->store, key_of(p, name), NULL), 0);
}

static void what_was_put_is_read_and_put_again_replaces_it(void **state)
{
    const struct promises *p = *state;
    assert_int_equal(put(p, "pack/w/1", "one", STORE_ALWAYS, NULL, NULL), 0);
    expect_body(p, "pack/w/1", "one");
    assert_int_equal(put(p, "pack/w/1", "second", STORE_ALWAYS, NULL, NULL), 0);
    expect_body(p, "pack/w/1", "second");
    discard(p, "pack/w/1");
}

static void an_absent_object_is_unknown_and_its_removal_succeeds(void **state)
{
    const struct promises *p = *state;
    struct error e = { 0 };
    struct store_info info;
    _cleanup_(buf_release) struct buf got = { 0 };
    buf_add(&got, "kept", 4);
    assert_int_equal(store_get(p->store, key_of(p, "snap/none"), 0, 0, 10, &got, NULL, &e), -ENOENT);
    assert_int_equal(e.kind, ERROR_UNKNOWN);
    assert_int_equal(got.len, 4);
    assert_int_equal(store_get(p->store, key_of(p, "snap/none"), 3, 2, 10, &got, NULL, &e), -ENOENT);
    assert_int_equal(store_stat(p->store, key_of(p, "snap/none"), &info, &e), -ENOENT);
    assert_int_equal(e.kind, ERROR_UNKNOWN);
    assert_int_equal(store_remove(p->store, key_of(p, "snap/none"), &e), 0);
}

static void if_absent_creates_once(void **state)
{
    const struct promises *p = *state;
    struct error e = { 0 };
    assert_int_equal(put(p, "head", "first", STORE_IF_ABSENT, NULL, NULL), 0);
    assert_int_equal(store_put(p->store, key_of(p, "head"), text("other"), STORE_IF_ABSENT, NULL, NULL, &e), -ESTALE);
    assert_int_equal(e.kind, ERROR_FAILED);
    expect_body(p, "head", "first");
    discard(p, "head");
    assert_int_equal(put(p, "head", "again", STORE_IF_ABSENT, NULL, NULL), 0);
    expect_body(p, "head", "again");
    discard(p, "head");
}

static void if_match_replaces_only_what_was_read(void **state)
{
    const struct promises *p = *state;
    char first[STORE_ETAG_MAX], second[STORE_ETAG_MAX], third[STORE_ETAG_MAX];
    assert_int_equal(put(p, "head", "a", STORE_IF_ABSENT, NULL, first), 0);
    assert_int_equal(put(p, "head", "b", STORE_IF_MATCH, first, second), 0);
    assert_string_not_equal(first, second);
    assert_int_equal(put(p, "head", "c", STORE_IF_MATCH, first, third), -ESTALE);
    expect_body(p, "head", "b");

    struct store_info info;
    _cleanup_(buf_release) struct buf got = { 0 };
    assert_int_equal(store_get(p->store, key_of(p, "head"), 0, 0, 10, &got, &info, NULL), 0);
    assert_string_equal(info.etag, second);
    assert_int_equal(put(p, "head", "d", STORE_IF_MATCH, info.etag, third), 0);
    assert_int_equal(store_stat(p->store, key_of(p, "head"), &info, NULL), 0);
    assert_string_equal(info.etag, third);
    discard(p, "head");
}

/* A store that says 404 here would have its caller create a head that someone dropped. */
static void if_match_of_an_absent_object_is_stale(void **state)
{
    const struct promises *p = *state;
    char etag[STORE_ETAG_MAX];
    assert_int_equal(put(p, "head", "a", STORE_IF_ABSENT, NULL, etag), 0);
    discard(p, "head");
    assert_int_equal(put(p, "head", "b", STORE_IF_MATCH, etag, NULL), -ESTALE);
    assert_int_equal(store_get(p->store, key_of(p, "head"), 0, 0, 10, &(struct buf){ 0 }, NULL, NULL), -ENOENT);
}

static void a_range_is_exactly_what_was_asked_for_or_an_error(void **state)
{
    const struct promises *p = *state;
    struct error e = { 0 };
    _cleanup_(buf_release) struct buf got = { 0 };
    assert_int_equal(put(p, "pack/w/2", "0123456789", STORE_ALWAYS, NULL, NULL), 0);
    assert_int_equal(store_get(p->store, key_of(p, "pack/w/2"), 3, 4, 4, &got, NULL, NULL), 0);
    assert_string_equal(buf_string(&got), "3456");
    assert_int_equal(store_get(p->store, key_of(p, "pack/w/2"), 0, 10, 10, &got, NULL, NULL), 0);
    assert_string_equal(buf_string(&got), "0123456789");
    assert_int_equal(store_get(p->store, key_of(p, "pack/w/2"), 9, 1, 10, &got, NULL, NULL), 0);
    assert_string_equal(buf_string(&got), "9");

    assert_int_equal(store_get(p->store, key_of(p, "pack/w/2"), 8, 3, 10, &got, NULL, &e), -EBADMSG);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_int_equal(store_get(p->store, key_of(p, "pack/w/2"), 10, 1, 10, &got, NULL, &e), -EBADMSG);
    assert_int_equal(store_get(p->store, key_of(p, "pack/w/2"), 99, 1, 10, &got, NULL, &e), -EBADMSG);
    assert_string_equal(buf_string(&got), "9");
    discard(p, "pack/w/2");
}

static void a_larger_object_than_expected_is_refused(void **state)
{
    const struct promises *p = *state;
    struct error e = { 0 };
    _cleanup_(buf_release) struct buf got = { 0 };
    assert_int_equal(put(p, "head", "0123456789", STORE_ALWAYS, NULL, NULL), 0);
    assert_int_equal(store_get(p->store, key_of(p, "head"), 0, 0, 9, &got, NULL, &e), -EFBIG);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_int_equal(store_get(p->store, key_of(p, "head"), 0, 0, 10, &got, NULL, &e), 0);
    discard(p, "head");
}

static void empty_and_large_objects_come_back_whole(void **state)
{
    const struct promises *p = *state;
    size_t n = 20u << 20;
    _cleanup_free_ uint8_t *large = mem_new(1, n);
    for (size_t i = 0; i < n; i += 251)
        large[i] = (uint8_t)(i >> 8);
    _cleanup_(buf_release) struct buf got = { 0 };
    struct error e = { 0 };
    int r = store_put(p->store, key_of(p, "pack/w/large"), (struct bytes){ large, n }, STORE_IF_ABSENT, NULL, NULL, &e);
    assert_string_equal(e.text, "");
    assert_int_equal(r, 0);
    assert_int_equal(store_get(p->store, key_of(p, "pack/w/large"), 0, 0, n, &got, NULL, NULL), 0);
    assert_int_equal(got.len, n);
    assert_memory_equal(got.data, large, n);
    assert_int_equal(store_get(p->store, key_of(p, "pack/w/large"), n - 300000, 300000, n, &got, NULL, NULL), 0);
    assert_memory_equal(got.data, large + n - 300000, 300000);
    discard(p, "pack/w/large");

    assert_int_equal(put(p, "pack/w/empty", "", STORE_ALWAYS, NULL, NULL), 0);
    assert_int_equal(store_get(p->store, key_of(p, "pack/w/empty"), 0, 0, 0, &got, NULL, NULL), 0);
    assert_int_equal(got.len, 0);
    discard(p, "pack/w/empty");
}

static void ages_come_from_the_store_s_own_clock(void **state)
{
    const struct promises *p = *state;
    struct store_info got, st;
    _cleanup_(buf_release) struct buf body = { 0 };
    assert_int_equal(put(p, "head", "12345", STORE_ALWAYS, NULL, NULL), 0);
    assert_int_equal(store_get(p->store, key_of(p, "head"), 0, 0, 10, &body, &got, NULL), 0);
    assert_int_equal(store_stat(p->store, key_of(p, "head"), &st, NULL), 0);
    assert_int_equal(got.size, 5);
    assert_int_equal(st.size, 5);
    assert_true(got.modified_ns > 0 && got.modified_ns == st.modified_ns);
    int64_t age = st.now_ns - st.modified_ns;
    assert_true(age >= -2000000000LL && age < 60000000000LL);
    discard(p, "head");
}

struct listed {
    const struct promises *p;
    char text[4096];
    uint64_t bytes;
    unsigned count, stop_after;
};

static int note(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    struct listed *l = arg;
    assert_memory_equal(key, l->p->area, strlen(l->p->area));
    size_t used = strlen(l->text);
    snprintf(l->text + used, sizeof(l->text) - used, "%s ", key + strlen(l->p->area));
    l->bytes += info->size;
    assert_true(info->modified_ns > 0 && info->now_ns > 0);
    if (++l->count == l->stop_after)
        return error_say(e, ERROR_FAILED, -EPIPE, "enough");
    return 0;
}

static void a_list_is_complete_and_in_order_of_whole_keys(void **state)
{
    const struct promises *p = *state;
    static const char *const names[] = {
        "pack/a/1", "pack/a-b/1", "pack/a.b", "pack/a0", "pack/b/2", "packet", "hold/x"
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(put(p, names[i], names[i], STORE_ALWAYS, NULL, NULL), 0);

    struct listed l = { .p = p };
    assert_int_equal(store_list(p->store, key_of(p, "pack/"), note, &l, NULL), 0);
    assert_string_equal(l.text, "pack/a-b/1 pack/a.b pack/a/1 pack/a0 pack/b/2 ");
    assert_int_equal(l.bytes, 10 + 8 + 8 + 7 + 8);
    l = (struct listed){ .p = p };
    assert_int_equal(store_list(p->store, key_of(p, "pack/a"), note, &l, NULL), 0);
    assert_string_equal(l.text, "pack/a-b/1 pack/a.b pack/a/1 pack/a0 ");
    l = (struct listed){ .p = p };
    assert_int_equal(store_list(p->store, key_of(p, ""), note, &l, NULL), 0);
    assert_string_equal(l.text, "hold/x pack/a-b/1 pack/a.b pack/a/1 pack/a0 pack/b/2 packet ");
    l = (struct listed){ .p = p };
    assert_int_equal(store_list(p->store, key_of(p, "none/"), note, &l, NULL), 0);
    assert_string_equal(l.text, "");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        discard(p, names[i]);
    assert_int_equal(store_list(p->store, key_of(p, ""), note, &l, NULL), 0);
    assert_string_equal(l.text, "");
}

struct named {
    char text[4096];
    unsigned count, stop_after;
};

static int note_name(void *arg, const char *name, struct error *e)
{
    struct named *l = arg;
    size_t used = strlen(l->text);
    snprintf(l->text + used, sizeof(l->text) - used, "%s ", name);
    if (++l->count == l->stop_after)
        return error_say(e, ERROR_FAILED, -EPIPE, "enough");
    return 0;
}

/* So that `ls` need not list every pack of every box. */
static void names_are_told_once_whatever_lies_below_them(void **state)
{
    const struct promises *p = *state;
    static const char *const names[] = { "a/head", "a/pack/1/2", "a/pack/1/3", "a-b/head", "a.b/x/y", "b", "c/d" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(put(p, names[i], "x", STORE_ALWAYS, NULL, NULL), 0);

    struct named l = { 0 };
    assert_int_equal(store_list_names(p->store, key_of(p, ""), note_name, &l, NULL), 0);
    assert_string_equal(l.text, "a-b a.b a c ");
    l = (struct named){ 0 };
    assert_int_equal(store_list_names(p->store, key_of(p, "a/"), note_name, &l, NULL), 0);
    assert_string_equal(l.text, "pack ");
    l = (struct named){ 0 };
    assert_int_equal(store_list_names(p->store, key_of(p, "none/"), note_name, &l, NULL), 0);
    assert_int_equal(store_list_names(p->store, key_of(p, "b/"), note_name, &l, NULL), 0);
    assert_string_equal(l.text, "");
    assert_int_equal(store_list_names(p->store, key_of(p, "a"), note_name, &l, NULL), -EINVAL);

    struct error e = { 0 };
    l = (struct named){ .stop_after = 2 };
    assert_int_equal(store_list_names(p->store, key_of(p, ""), note_name, &l, &e), -EPIPE);
    assert_string_equal(l.text, "a-b a.b ");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        discard(p, names[i]);
    l = (struct named){ 0 };
    assert_int_equal(store_list_names(p->store, key_of(p, ""), note_name, &l, NULL), 0);
    assert_string_equal(l.text, "");
}

static void the_caller_s_error_ends_a_list(void **state)
{
    const struct promises *p = *state;
    struct error e = { 0 };
    assert_int_equal(put(p, "hold/1", "x", STORE_ALWAYS, NULL, NULL), 0);
    assert_int_equal(put(p, "hold/2", "x", STORE_ALWAYS, NULL, NULL), 0);
    struct listed l = { .p = p, .stop_after = 1 };
    assert_int_equal(store_list(p->store, key_of(p, "hold/"), note, &l, &e), -EPIPE);
    assert_string_equal(l.text, "hold/1 ");
    assert_non_null(strstr(e.text, "enough"));
    discard(p, "hold/1");
    discard(p, "hold/2");
}

struct racer {
    const struct promises *p;
    pthread_barrier_t *start;
    enum store_condition condition;
    const char *etag;
    unsigned number;
    int result;
};

static void *race(void *arg)
{
    struct racer *r = arg;
    char body[32];
    snprintf(body, sizeof(body), "writer %u", r->number);
    pthread_barrier_wait(r->start);
    r->result = store_put(r->p->store, key_of(r->p, "head"), text(body), r->condition, r->etag, NULL, NULL);
    return NULL;
}

/* Fails if comparing and replacing are two steps: about one round in three then has two winners. */
static void of_16_racing_writers_one_wins(void **state)
{
    const struct promises *p = *state;
    for (int round = 0; round < 20; round++) {
        char etag[STORE_ETAG_MAX] = "";
        bool match = round % 2;
        if (match)
            assert_int_equal(put(p, "head", "before", STORE_ALWAYS, NULL, etag), 0);
        pthread_barrier_t start;
        pthread_t threads[16];
        struct racer racers[16];
        pthread_barrier_init(&start, NULL, 16);
        for (unsigned i = 0; i < 16; i++) {
            racers[i] = (struct racer){ p, &start, match ? STORE_IF_MATCH : STORE_IF_ABSENT, etag, i, 0 };
            assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
        }
        int winner = -1;
        for (unsigned i = 0; i < 16; i++) {
            pthread_join(threads[i], NULL);
            assert_true(racers[i].result == 0 || racers[i].result == -ESTALE);
            assert_true(racers[i].result != 0 || winner < 0);
            winner = racers[i].result == 0 ? (int)i : winner;
        }
        pthread_barrier_destroy(&start);
        char body[32];
        snprintf(body, sizeof(body), "writer %d", winner);
        expect_body(p, "head", body);
        discard(p, "head");
    }
}

static void the_race_probe_accepts_it(void **state)
{
    const struct promises *p = *state;
    struct error e = { 0 };
    probe_conditions(p->store, &e);
    assert_string_equal(e.text, "");
    struct listed l = { .p = p };
    assert_int_equal(store_list(p->store, "probe/", note, &l, NULL), 0); /* note takes none of these */
}

static void put_many(struct promises *p, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        char name[32];
        snprintf(name, sizeof(name), "pack/many/%04u", i);
        assert_int_equal(put(p, name, "x", STORE_ALWAYS, NULL, NULL), 0);
    }
}

struct many {
    struct promises *p;
    unsigned next;
};

static int remove_in_order(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    struct many *m = arg;
    char name[32];
    snprintf(name, sizeof(name), "pack/many/%04u", m->next++);
    assert_string_equal(key, key_of(m->p, name));
    return store_remove(m->p->store, key, e);
}

/* More than one page of S3; and what prune does: removing while it lists. */
static void long_lists_are_whole_also_while_they_shrink(void **state)
{
    struct promises *p = *state;
    unsigned count = p->many ? 1100 : 50;
    put_many(p, 0, count);
    struct many m = { .p = p };
    char prefix[STORE_KEY_MAX];
    snprintf(prefix, sizeof(prefix), "%spack/many/", p->area);
    assert_int_equal(store_list(p->store, prefix, remove_in_order, &m, NULL), 0);
    assert_int_equal(m.next, count);
    struct listed l = { .p = p };
    assert_int_equal(store_list(p->store, key_of(p, ""), note, &l, NULL), 0);
    assert_int_equal(l.count, 0);
}

static void a_cancelled_store_sends_nothing_until_it_is_resumed(void **state)
{
    const struct promises *p = *state;
    struct error e = { 0 };
    store_cancel(p->store);
    assert_int_equal(store_put(p->store, key_of(p, "head"), text("x"), STORE_ALWAYS, NULL, NULL, &e), -ECANCELED);
    assert_int_equal(e.kind, ERROR_INTERRUPTED);
    store_resume(p->store);
    assert_int_equal(store_get(p->store, key_of(p, "head"), 0, 0, 10, &(struct buf){ 0 }, NULL, &e), -ENOENT);
}

static void what_is_no_key_is_refused(void **state)
{
    const struct promises *p = *state;
    assert_int_equal(store_put(p->store, "../out", text("x"), STORE_ALWAYS, NULL, NULL, NULL), -EINVAL);
    assert_int_equal(store_get(p->store, "/etc/passwd", 0, 0, 10, &(struct buf){ 0 }, NULL, NULL), -EINVAL);
    assert_int_equal(store_remove(p->store, "", NULL), -EINVAL);
    assert_int_equal(store_list(p->store, "box/../", note, NULL, NULL), -EINVAL);
}

int promises_run(struct store *s, bool many)
{
    static struct promises p;
    uint32_t random[2];
    p.store = s;
    p.many = many;
    assert_int_equal(getrandom(random, sizeof(random), 0), sizeof(random));
    snprintf(p.area, sizeof(p.area), "box/promises-%08x%08x/", random[0], random[1]);
#define PROMISE(f) cmocka_unit_test_prestate(f, &p)
    const struct CMUnitTest tests[] = {
        PROMISE(what_was_put_is_read_and_put_again_replaces_it),
        PROMISE(an_absent_object_is_unknown_and_its_removal_succeeds),
        PROMISE(if_absent_creates_once),
        PROMISE(if_match_replaces_only_what_was_read),
        PROMISE(if_match_of_an_absent_object_is_stale),
        PROMISE(a_range_is_exactly_what_was_asked_for_or_an_error),
        PROMISE(a_larger_object_than_expected_is_refused),
        PROMISE(empty_and_large_objects_come_back_whole),
        PROMISE(ages_come_from_the_store_s_own_clock),
        PROMISE(a_list_is_complete_and_in_order_of_whole_keys),
        PROMISE(names_are_told_once_whatever_lies_below_them),
        PROMISE(the_caller_s_error_ends_a_list),
        PROMISE(of_16_racing_writers_one_wins),
        PROMISE(the_race_probe_accepts_it),
        PROMISE(long_lists_are_whole_also_while_they_shrink),
        PROMISE(a_cancelled_store_sends_nothing_until_it_is_resumed),
        PROMISE(what_is_no_key_is_refused),
    };
    return cmocka_run_group_tests_name(s->description, tests, NULL, NULL);
}
