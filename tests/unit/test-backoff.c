/* SPDX-License-Identifier: MIT */
#include "sync/backoff.h"

#include "index/base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void waits_spread_from_nothing_to_a_bound_that_doubles(void **state)
{
    assert_int_equal(backoff_ms(1, 100, 0, 0), 0);
    assert_int_equal(backoff_ms(1, 100, 0, 100), 100);
    assert_int_equal(backoff_ms(1, 100, 0, 101), 0);
    assert_int_equal(backoff_ms(4, 100, 0, 800), 800);
    for (uint32_t random = 0; random < 100000; random += 7)
        assert_true(backoff_ms(40, 100, 0, random) <= 10000);
}

/* Fails if a server can make us wait for as long as it likes. */
static void what_the_server_asks_for_is_waited_but_not_for_ever(void **state)
{
    assert_int_equal(backoff_ms(1, 100, 3, 0), 3000);
    assert_int_equal(backoff_ms(1, 100, 4000000, 0), BACKOFF_ASKED_MAX_S * 1000);
}

static void a_wait_lasts_and_can_be_cancelled(void **state)
{
    struct store s = { 0 };
    struct error e = { 0 };
    int64_t started = clock_boot_ns();
    assert_int_equal(backoff_wait(&s, 70, &e), 0);
    assert_true(clock_boot_ns() - started >= 70000000);
    store_cancel(&s);
    assert_int_equal(backoff_wait(&s, 1000000, &e), -ECANCELED);
    assert_int_equal(e.kind, ERROR_INTERRUPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_spread_from_nothing_to_a_bound_that_doubles),
        cmocka_unit_test(what_the_server_asks_for_is_waited_but_not_for_ever),
        cmocka_unit_test(a_wait_lasts_and_can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
