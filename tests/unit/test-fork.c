/* SPDX-License-Identifier: MIT */
#include "sync/fork.h"

#include "index/base/mem.h"
#include "tests/unit/twin-store.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const struct keys keys = { .master = { 1 }, .store_id = { 2 } };
static const struct seal_context context = { &keys, "demo" };

static int make_store(void **state)
{
    *state = twin_store_new();
    return 0;
}

static int free_store(void **state)
{
    twin_store_free(*state);
    return 0;
}
static const struct node node = { .name = "a-1.x" };

static struct fork made(uint8_t snapshot, uint8_t parent)
{
    struct fork f = {
        .snapshot = { { snapshot } }, .parent = { { parent } }, .incarnation = { 4 }, .writer = { { 5 }, { 6 } }
    };
    fork_name_new(&f, &node, 17);
    return f;
}

static void names_are_read_from_the_right(void **state)
{
    struct fork f = made(1, 0), got = { 0 };
    assert_int_equal(fork_name_parse(f.name, &got), 0);
    assert_string_equal(got.node, "a-1.x");
    assert_true(got.epoch == 17);
    static const char *const bad[] = { "a-1",
                                       "a--0123456789abcdef",
                                       "a-0-0123456789abcdef",
                                       "a-01-0123456789abcdef",
                                       "a-1-0123456789abcdeF",
                                       "a-1_0123456789abcdef",
                                       "-1-0123456789abcdef",
                                       "a/b-1-0123456789abcdef",
                                       "a-99999999999999999999-0123456789abcdef",
                                       "" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(fork_name_parse(bad[i], &got), -EINVAL);
}

static void a_fork_comes_back_and_the_newest_is_found(void **state)
{
    struct store *s = twin_store_get(*state);
    /* In one tick of the store's clock: then who names whom decides. */
    struct fork f[3] = { made(1, 0), made(2, 1), made(3, 2) };
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fork_put(s, &context, &f[i], NULL), 0);
    _cleanup_free_ struct fork *all = NULL;
    size_t count = 0;
    assert_int_equal(fork_list(s, &context, &all, &count, NULL), 0);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < 3; i++)
        all[i].modified_ns = 0;
    const struct fork *newest = NULL, *older = NULL;
    char id[FORK_ID_MAX];
    assert_int_equal(fork_find(all, count, "demo", "fork:a-1.x-17", &newest, NULL), 0);
    assert_string_equal(newest->name, f[2].name);
    assert_memory_equal(&newest->parent, &f[2].parent, sizeof(newest->parent));
    assert_memory_equal(&newest->writer, &f[2].writer, sizeof(newest->writer));
    assert_memory_equal(newest->incarnation, f[2].incarnation, sizeof(newest->incarnation));
    assert_true(newest->time_s == f[2].time_s);
    assert_int_equal(fork_find(all, count, "demo", f[0].name, &older, NULL), 0);
    assert_int_equal(older->snapshot.b[0], 1);
    assert_int_equal(fork_find(all, count, "demo", "a-1.x-18", &older, NULL), -ENOENT);
    fork_id(all, count, newest, id);
    assert_string_equal(id, "fork:a-1.x-17");
    fork_id(all, count, older, id);
    assert_string_equal(id + strlen("fork:"), f[0].name);

    assert_int_equal(fork_remove(s, "demo", f[2].name, NULL), 0);
    free(mem_steal(all));
    assert_int_equal(fork_list(s, &context, &all, &count, NULL), 0);
    assert_int_equal(fork_find(all, count, "demo", "a-1.x-17", &newest, NULL), 0);
    assert_string_equal(newest->name, f[1].name);
}

/* A clone's: which of the two is meant is never guessed, but a whole name is always one. */
static void what_two_forks_are_called_is_neither(void **state)
{
    struct store *s = twin_store_get(*state);
    struct fork f[3] = { made(1, 0), made(2, 1), made(3, 1) };
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(fork_put(s, &context, &f[i], NULL), 0);
    _cleanup_free_ struct fork *all = NULL;
    const struct fork *found = NULL;
    struct error e = { 0 };
    size_t count = 0;
    assert_int_equal(fork_list(s, &context, &all, &count, NULL), 0);
    assert_int_equal(fork_find(all, count, "demo", "fork:a-1.x-17", &found, &e), -EEXIST);
    assert_null(found);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_null(strstr(e.text, f[0].name)); /* the older one is none of them */
    assert_non_null(strstr(e.text, f[1].name));
    assert_non_null(strstr(e.text, f[2].name));
    for (size_t i = 0; i < 3; i++) {
        char id[FORK_ID_MAX];
        fork_id(all, count, &all[i], id);
        assert_int_equal(fork_find(all, count, "demo", id, &found, NULL), 0);
        assert_ptr_equal(found, &all[i]);
    }
}

static void a_fork_whose_answer_is_lost_is_there_once(void **state)
{
    struct store *s = twin_store_get(*state);
    struct twin_counts n;
    struct fork f = made(1, 0);
    twin_store_rule(*state, &(struct twin_rule){ "P", "fork", TWIN_DROP_AFTER, 0, 1 });
    assert_int_equal(fork_put(s, &context, &f, NULL), 0);
    twin_store_counts(*state, &n);
    assert_int_equal(n.puts, 1);

    f = made(2, 1);
    twin_store_rule(*state, &(struct twin_rule){ "P", "fork", TWIN_FAIL, -EHOSTUNREACH, 1 });
    assert_int_equal(fork_put(s, &context, &f, NULL), 0);
    twin_store_rule(*state, &(struct twin_rule){ "PG", "fork", TWIN_FAIL, -EHOSTUNREACH, -1 });
    f = made(3, 2);
    assert_int_equal(fork_put(s, &context, &f, NULL), -EHOSTUNREACH);
}

static void a_damaged_fork_is_still_one(void **state)
{
    struct store *s = twin_store_get(*state);
    twin_store_set(*state, "box/demo/fork/b-3-0123456789abcdef", (struct bytes){ (const uint8_t *)"rot", 3 });
    _cleanup_free_ struct fork *all = NULL;
    size_t count = 0;
    assert_int_equal(fork_list(s, &context, &all, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_true(all[0].damaged && all[0].epoch == 3);
    assert_string_equal(all[0].node, "b");
}

static void put_pack(struct twin_store *t, uint8_t n, size_t size)
{
    static const uint8_t zeros[64];
    char text[PACK_TEXT], key[STORE_KEY_MAX];
    struct pack_name p = { .id = { n } };
    pack_text(&p, text);
    snprintf(key, sizeof(key), "box/demo/pack/%s", text);
    twin_store_set(t, key, (struct bytes){ zeros, size });
}

/* Fails if only one of the three is looked at: a fork that refers to what prune is about to take is none. */
static void packs_that_are_gone_short_or_condemned_are_named(void **state)
{
    struct store *s = twin_store_get(*state);
    for (uint8_t i = 1; i <= 4; i++)
        put_pack(*state, i, i == 3 ? 10 : 20);
    _cleanup_(condemned_release) struct condemned c = { 0 };
    condemned_add_pack(&c, &(struct pack_name){ .id = { 4 } }, 5);
    condemned_sort(&c);
    struct head h = { 0 };
    assert_int_equal(condemned_put(s, &context, &c, h.condemned, NULL), 0);

    struct fork_pack packs[] = {
        { .name = { .id = { 5 } }, .size = 20 }, { .name = { .id = { 4 } }, .size = 20 },
        { .name = { .id = { 3 } }, .size = 20 }, { .name = { .id = { 2 } } },
        { .name = { .id = { 1 } }, .size = 20 }, { .name = { .id = { 1 } }, .size = 20 },
    };
    assert_int_equal(fork_verify(s, &context, &h, packs, 6, NULL), 3);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(packs[i].missing, packs[i].name.id[0] >= 3);
    h.condemned[0] = 0;
    assert_int_equal(fork_verify(s, &context, &h, packs, 6, NULL), 2);
    strcpy(h.condemned, "00112233445566778899aabbccddeeff");
    assert_int_equal(fork_verify(s, &context, &h, packs, 6, NULL), -ENOENT); /* nothing is known without the list */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_from_the_right),
        cmocka_unit_test_setup_teardown(a_fork_comes_back_and_the_newest_is_found, make_store, free_store),
        cmocka_unit_test_setup_teardown(what_two_forks_are_called_is_neither, make_store, free_store),
        cmocka_unit_test_setup_teardown(a_fork_whose_answer_is_lost_is_there_once, make_store, free_store),
        cmocka_unit_test_setup_teardown(a_damaged_fork_is_still_one, make_store, free_store),
        cmocka_unit_test_setup_teardown(packs_that_are_gone_short_or_condemned_are_named, make_store, free_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
