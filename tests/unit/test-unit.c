/* SPDX-License-Identifier: MIT */
#include "cli/unit.h"

#include "index/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool has(const struct words *w, const char *property)
{
    _cleanup_free_ char *word = mem_printf("--property=%s", property);
    return words_has(w, word);
}

static void a_box_is_limited_and_one_process_too_much_is_not_the_end_of_it(void **state)
{
    _cleanup_(words_release) struct words w = { 0 };
    struct unit u = { .kind = UNIT_BOX, .name = "demo", .memory_max = 1500ull << 20 };
    unit_argv(&u, "/usr/bin/ag-box", "/run/box/demo/ready-box", &w);
    static const char *const expected[] = {
        "Type=exec",
        "CollectMode=inactive-or-failed",
        "KillMode=mixed",
        "TimeoutStopSec=20",
        "Delegate=yes",
        "TasksMax=4096",
        "MemorySwapMax=0",
        "OOMPolicy=continue",
        "MemoryMax=1572864000",
        "ManagedOOMPreference=avoid",
        "After=boxfs-demo.service",
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        if (!has(&w, expected[i]))
            fail_msg("no %s", expected[i]);
    assert_true(words_has(&w, "--unit=boxrun-demo"));
    static const char *const end[] = { "--setenv=AGBOX_READY=/run/box/demo/ready-box", "--", "/usr/bin/ag-box",
                                       "boxrun", "demo" };
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(w.items[w.count - 5 + i], end[i]);
}

static void without_a_limit_there_is_none(void **state)
{
    _cleanup_(words_release) struct words w = { 0 };
    struct unit u = { .kind = UNIT_BOX, .name = "demo" };
    unit_argv(&u, "/usr/bin/ag-box", "/r", &w);
    for (size_t i = 0; i < w.count; i++)
        assert_int_not_equal(strncmp(w.items[i], "--property=MemoryMax=", 21), 0);
}

/* Whoever ends the tree by hand would take it from under the box. */
static void a_tree_is_no_ones_to_stop(void **state)
{
    _cleanup_(words_release) struct words w = { 0 };
    struct unit u = { .kind = UNIT_TREE, .name = "demo", .memory_max = 1 };
    unit_argv(&u, "/usr/bin/ag-box", "/r", &w);
    assert_true(has(&w, "RefuseManualStop=yes"));
    assert_true(has(&w, "KillMode=mixed"));
    assert_true(has(&w, "TimeoutStopSec=5"));
    assert_false(has(&w, "MemoryMax=1"));
    assert_true(words_has(&w, "--unit=boxfs-demo"));
}

/* A unit's properties can be read by everyone: of the environment nothing but the socket's name may be among them. */
static void no_secret_is_in_it(void **state)
{
    _cleanup_(words_release) struct words w = { 0 };
    struct unit u = { .kind = UNIT_BOX, .name = "demo" };
    setenv("BOX_PASSWORD", "correct horse", 1);
    unit_argv(&u, "/usr/bin/ag-box", "/r", &w);
    unsigned set = 0;
    for (size_t i = 0; i < w.count; i++) {
        assert_null(strstr(w.items[i], "correct horse"));
        set += strncmp(w.items[i], "--setenv", 8) == 0;
    }
    assert_int_equal(set, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_is_limited_and_one_process_too_much_is_not_the_end_of_it),
        cmocka_unit_test(without_a_limit_there_is_none),
        cmocka_unit_test(a_tree_is_no_ones_to_stop),
        cmocka_unit_test(no_secret_is_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
