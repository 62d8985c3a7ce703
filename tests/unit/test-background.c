/* SPDX-License-Identifier: MIT */
#include "sync/fetch.h"

#include "tests/unit/fetched.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static void *warm_in_background(void *arg)
{
    struct fetched_reader *r = arg;
    uint32_t far_apart[] = { 0, 10, 20, 30, 40, 50 };
    r->result = fetched_warm(far_apart, 6, SOURCE_BACKGROUND, &r->error);
    return NULL;
}

/* Fails if background starts GETs while a read waits: the gate would hold more, or other, requests. */
static void reads_go_before_background(void **state)
{
    struct fetched_reader background, r;
    twin_store_hold(fetched.twin, "");
    assert_int_equal(pthread_create(&background.thread, NULL, warm_in_background, &background), 0);
    assert_true(twin_store_wait_held(fetched.twin, 2)); /* as many as there are background threads */
    fetched_start(&r, 55);
    assert_true(twin_store_wait_held(fetched.twin, 3));
    struct twin_request q;
    assert_true(twin_store_request(fetched.twin, 2, &q));
    assert_int_equal(q.offset, fetched.frames[55].offset);

    /* The read of a frame that background has queued takes it from there. */
    struct fetched_reader queued;
    fetched_start(&queued, 50);
    assert_true(twin_store_wait_held(fetched.twin, 4));
    assert_true(twin_store_request(fetched.twin, 3, &q));
    assert_int_equal(q.offset, fetched.frames[50].offset);

    twin_store_release(fetched.twin);
    assert_int_equal(fetched_finish(&r), 0);
    assert_int_equal(fetched_finish(&queued), 0);
    assert_int_equal(fetched_finish(&background), 0);
    assert_int_equal(fetched_gets(), 7);
}

static void *warm_the_first_ten(void *arg)
{
    struct fetched_reader *r = arg;
    uint32_t which[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    r->result = fetched_warm(which, r->frame, SOURCE_BACKGROUND, &r->error);
    return NULL;
}

static void start_warming(struct fetched_reader *background, uint32_t count)
{
    background->frame = count;
    assert_int_equal(pthread_create(&background->thread, NULL, warm_the_first_ten, background), 0);
    assert_true(twin_store_wait_held(fetched.twin, 1));
}

/* Fails if it waits for 400 KiB that nobody reads; or if a second reader has a third GET. */
static void a_read_does_not_wait_for_a_big_background_range(void **state)
{
    struct fetched_reader background, r[2];
    struct twin_request q;
    twin_store_hold(fetched.twin, "");
    start_warming(&background, 10);
    for (int i = 0; i < 2; i++)
        fetched_start(&r[i], 9);
    assert_true(twin_store_wait_held(fetched.twin, 2));
    fetched_wait_readers(2);
    assert_true(twin_store_request(fetched.twin, 1, &q));
    assert_int_equal(q.offset, fetched.frames[9].offset);
    assert_int_equal(q.length, fetched.frames[9].sealed);

    twin_store_release(fetched.twin);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fetched_finish(&r[i]), 0);
    assert_int_equal(fetched_finish(&background), 0);
    assert_int_equal(fetched_gets(), 2);
    fetched_open_again();
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(fetched_get(i, NULL), 0);
    assert_int_equal(fetched_gets(), 2);
}

static void a_read_waits_for_a_small_background_range(void **state)
{
    struct fetched_reader background, r;
    twin_store_hold(fetched.twin, "");
    start_warming(&background, 3);
    fetched_start(&r, 2);
    fetched_wait_readers(1);
    twin_store_release(fetched.twin);
    assert_int_equal(fetched_finish(&r), 0);
    assert_int_equal(fetched_finish(&background), 0);
    assert_int_equal(fetched_gets(), 1);
}

/* What was overtaken fails, alone, after the read has what it wanted. */
static void an_overtaken_frame_may_fail_by_itself(void **state)
{
    struct fetched_reader background, r;
    twin_store_hold(fetched.twin, "");
    start_warming(&background, 10);
    fetched_start(&r, 9);
    assert_true(twin_store_wait_held(fetched.twin, 2));
    twin_store_rule(fetched.twin,
                    &(struct twin_rule){ .operations = "G", .action = TWIN_TRUNCATE, .value = 1, .times = 4 });
    twin_store_release(fetched.twin);
    fetched_finish(&r);
    fetched_finish(&background);
    twin_store_clear_rules(fetched.twin);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(fetched_get(i, NULL), 0);
}

/* The two running background GETs end while a read still waits: no third one starts. */
static void background_starts_nothing_while_a_read_waits(void **state)
{
    struct fetched_reader background, r;
    struct twin_rule away = { .operations = "G", .action = TWIN_FAIL, .value = -EHOSTUNREACH, .times = 3 };
    twin_store_hold(fetched.twin, "");
    assert_int_equal(pthread_create(&background.thread, NULL, warm_in_background, &background), 0);
    assert_true(twin_store_wait_held(fetched.twin, 2));
    twin_store_rule(fetched.twin,
                    &away); /* for the read: half a second and more in which background could fetched_start */
    fetched_start(&r, 55);
    assert_true(twin_store_wait_held(fetched.twin, 3));
    twin_store_release(fetched.twin);
    assert_int_equal(fetched_finish(&r), 0);
    assert_int_equal(fetched_finish(&background), 0);
    struct twin_request q;
    for (size_t i = 2; i < 6; i++) {
        assert_true(twin_store_request(fetched.twin, i, &q));
        assert_int_equal(q.offset, fetched.frames[55].offset);
    }
    assert_int_equal(fetched_gets(), 2 + 4 + 4);
}

static void *warm_one_in_background(void *arg)
{
    struct fetched_reader *r = arg;
    r->result = fetched_warm(&r->frame, 1, SOURCE_BACKGROUND, &r->error);
    return NULL;
}

/* Fails if a background range tries again by its own clock: its pause is at most 250 ms. */
static void background_does_not_try_again_while_a_read_waits(void **state)
{
    struct fetched_reader background = { .frame = 0 }, r;
    struct twin_request q;
    fetched_fail(-EHOSTUNREACH, 1);
    assert_int_equal(pthread_create(&background.thread, NULL, warm_one_in_background, &background), 0);
    fetched_wait_outage();
    twin_store_hold(fetched.twin, "");
    fetched_start(&r, 55);
    assert_true(twin_store_wait_held(fetched.twin, 1));
    usleep(500000); /* what must not happen gives no signal */
    assert_false(twin_store_request(fetched.twin, 2, &q));
    twin_store_release(fetched.twin);
    assert_int_equal(fetched_finish(&r), 0);
    assert_int_equal(fetched_finish(&background), 0);
    assert_int_equal(fetched_gets(), 3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fetched_set_up, fetched_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_go_before_background),
        TEST(a_read_does_not_wait_for_a_big_background_range),
        TEST(a_read_waits_for_a_small_background_range),
        TEST(an_overtaken_frame_may_fail_by_itself),
        TEST(background_starts_nothing_while_a_read_waits),
        TEST(background_does_not_try_again_while_a_read_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
