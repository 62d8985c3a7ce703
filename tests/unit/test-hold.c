/* SPDX-License-Identifier: MIT */
#include "sync/hold.h"

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
static const struct node node = { .name = "a", .state = { 1, 2, 3, 4, 5, 6, 7, 8 } };

static void a_hold_is_listed_with_all_it_says(void **state)
{
    struct store *s = twin_store_get(*state);
    struct writer first, second;
    struct snapshot_id id = { { 9 } };
    hold_new_writer(&node, &first);
    hold_new_writer(&node, &second);
    assert_memory_not_equal(&first, &second, sizeof(first));
    assert_int_equal(hold_put(s, &context, &first, &node, &id, NULL), 0);
    twin_store_move_clock(*state, 60000000000);

    _cleanup_free_ struct hold *all = NULL;
    size_t count = 0;
    assert_int_equal(hold_list(s, &context, &all, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_memory_equal(&all[0].writer, &first, sizeof(first));
    assert_memory_equal(&all[0].snapshot, &id, sizeof(id));
    assert_string_equal(all[0].node, "a");
    assert_false(all[0].damaged);
    assert_true(all[0].time_s > 1600000000);
    assert_true(all[0].age_ns >= 60000000000 && all[0].age_ns < 600000000000);

    assert_int_equal(hold_put(s, &context, &first, &node, &id, NULL), 0); /* again: rule L5 */
    assert_int_equal(hold_remove(s, "demo", &first, NULL), 0);
    assert_int_equal(hold_remove(s, "demo", &first, NULL), 0);
    free(mem_steal(all));
    assert_int_equal(hold_list(s, &context, &all, &count, NULL), 0);
    assert_int_equal(count, 0);
}

/* Fails if what cannot be read is left out: prune would take away what it holds. */
static void a_damaged_hold_still_holds(void **state)
{
    struct store *s = twin_store_get(*state);
    twin_store_set(*state, "box/demo/hold/0102030405060708-1111111111111111",
                   (struct bytes){ (const uint8_t *)"rot", 3 });
    _cleanup_free_ struct hold *all = NULL;
    size_t count = 0;
    assert_int_equal(hold_list(s, &context, &all, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_true(all[0].damaged);
    assert_int_equal(all[0].writer.rand[0], 0x11);
}

static void a_key_that_is_no_holds_is_damage_and_an_outage_no_short_list(void **state)
{
    struct store *s = twin_store_get(*state);
    struct hold *all = NULL;
    size_t count = 0;
    struct error e = { 0 };
    struct writer w;
    hold_new_writer(&node, &w);
    assert_int_equal(hold_put(s, &context, &w, &node, &(struct snapshot_id){ 0 }, NULL), 0);
    twin_store_rule(*state, &(struct twin_rule){ "G", "hold", TWIN_FAIL, -EHOSTUNREACH, 1 });
    assert_int_equal(hold_list(s, &context, &all, &count, &e), -EHOSTUNREACH);
    twin_store_set(*state, "box/demo/hold/what", (struct bytes){ (const uint8_t *)"x", 1 });
    assert_int_equal(hold_list(s, &context, &all, &count, &e), -EBADMSG);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_null(all);
}

static void strays_are_those_of_this_state_that_nobody_here_knows(void **state)
{
    struct hold ours = { 0 }, foreign = { 0 };
    hold_new_writer(&node, &ours.writer);
    foreign.writer.state[0] = 99;
    assert_true(hold_is_stray(&ours, &node, NULL, 0));
    assert_false(hold_is_stray(&ours, &node, &ours.writer, 1));
    assert_false(hold_is_stray(&foreign, &node, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_hold_is_listed_with_all_it_says, make_store, free_store),
        cmocka_unit_test_setup_teardown(a_damaged_hold_still_holds, make_store, free_store),
        cmocka_unit_test_setup_teardown(a_key_that_is_no_holds_is_damage_and_an_outage_no_short_list, make_store,
                                        free_store),
        cmocka_unit_test(strays_are_those_of_this_state_that_nobody_here_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
