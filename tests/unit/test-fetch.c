/* SPDX-License-Identifier: MIT */
#include "sync/fetch.h"

#include "index/base/mem.h"
#include "sync/pack.h"
#include "tests/unit/fetched.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cmocka.h>

static void flip(uint32_t frame, int times)
{
    struct twin_rule rule = {
        .operations = "G", .action = TWIN_FLIP, .value = fetched.frames[frame].offset + 100, .times = times
    };
    twin_store_rule(fetched.twin, &rule);
}

/* Fails if flights are not looked up before a new one starts: 8 GETs. */
static void readers_of_one_frame_share_one_get(void **state)
{
    struct fetched_reader r[8];
    twin_store_hold(fetched.twin, "");
    for (int i = 0; i < 8; i++)
        fetched_start(&r[i], 5);
    assert_true(twin_store_wait_held(fetched.twin, 1));
    fetched_wait_readers(8);
    twin_store_release(fetched.twin);
    for (int i = 0; i < 8; i++)
        assert_int_equal(fetched_finish(&r[i]), 0);
    assert_int_equal(fetched_gets(), 1);
}

/* Fails if a frame leaves the table of flights before it is in the cache or in memory. */
static void a_frame_is_fetched_once_under_any_interleaving(void **state)
{
    for (int round = 0; round < 20; round++) {
        struct fetched_reader r[8];
        cache_forget(fetched.cache, &fetched.frames[round]);
        for (int i = 0; i < 8; i++)
            fetched_start(&r[i], (uint32_t)round);
        for (int i = 0; i < 8; i++)
            assert_int_equal(fetched_finish(&r[i]), 0);
        assert_int_equal(fetched_gets(), round + 1);
    }
}

static void what_is_cached_needs_no_store(void **state)
{
    assert_int_equal(fetched_get(3, NULL), 0);
    fetched_open_again();
    fetched_fail(-EHOSTUNREACH, -1);
    assert_int_equal(fetched_get(3, NULL), 0);
    assert_int_equal(fetched_gets(), 1);
}

/* Frames of 40 KiB: a gap of one is merged over, one of two is not. */
static void near_frames_come_in_one_get(void **state)
{
    uint32_t which[] = { 9, 1, 2, 4, 3, 6, 1, 10 }; /* 1-4, 6 in one; 9, 10 in another */
    struct twin_request first, second;
    assert_int_equal(fetched_warm(which, 8, SOURCE_DEMAND, NULL), 0);
    assert_int_equal(fetched_gets(), 2);
    assert_true(twin_store_request(fetched.twin, 0, &first) && twin_store_request(fetched.twin, 1, &second));
    if (second.offset < first.offset)
        first = second;
    assert_int_equal(first.offset, fetched.frames[1].offset);
    assert_int_equal(first.length, fetched.frames[6].offset + fetched.frames[6].sealed - fetched.frames[1].offset);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(fetched_get(which[i], NULL), 0);
    assert_int_equal(fetched_warm(which, 8, SOURCE_BACKGROUND, NULL), 0);
    assert_int_equal(fetched_gets(), 2);
    assert_false(cache_has(fetched.cache, &fetched.frames[5]));
}

static void a_range_has_at_most_4_mib(void **state)
{
    uint32_t all[FETCHED_FRAMES];
    assert_true(FETCHED_FRAMES * FETCHED_RAW < 4u << 20);
    for (uint32_t i = 0; i < FETCHED_FRAMES; i++)
        all[i] = i;
    assert_int_equal(fetched_warm(all, FETCHED_FRAMES, SOURCE_DEMAND, NULL), 0);
    assert_int_equal(fetched_gets(), 1);
}

static void rot_in_the_cache_is_fetched_again(void **state)
{
    char pack[PACK_TEXT];
    assert_int_equal(fetched_warm(&(uint32_t){ 7 }, 1, SOURCE_DEMAND, NULL), 0);
    assert_int_equal(fetched_get(7, NULL), 0);
    pack_text(&fetched.frames[7].pack, pack);
    pack[WRITER_TEXT - 1] = '-';
    _cleanup_free_ char *path = mem_printf("%s/demo/%s", fetched.cache_path, pack);
    _cleanup_close_ int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "rotten", 6, fetched.frames[7].offset + 50), 6);
    fetched_open_again();
    assert_int_equal(fetched_get(7, NULL), 0);
    assert_int_equal(fetched_gets(), 2);
    fetched_open_again();
    assert_int_equal(fetched_get(7, NULL), 0);
    assert_int_equal(fetched_gets(), 2);
}

static void one_wrong_answer_is_asked_for_again(void **state)
{
    flip(7, 1);
    assert_int_equal(fetched_get(7, NULL), 0);
    assert_int_equal(fetched_gets(), 2);
    twin_store_rule(fetched.twin,
                    &(struct twin_rule){ .operations = "G", .action = TWIN_TRUNCATE, .value = 1, .times = 1 });
    assert_int_equal(fetched_get(8, NULL), 0);
    assert_int_equal(fetched_gets(), 4);
}

/* Fails if spoiled bytes get into the cache, or the error into a table. */
static void damage_in_the_store_is_eio_and_not_remembered(void **state)
{
    struct error e = { 0 };
    flip(7, 2);
    assert_int_equal(fetched_get(7, &e), -EIO);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    char pack[PACK_TEXT], offset[32];
    pack_text(&fetched.frames[7].pack, pack);
    snprintf(offset, sizeof(offset), "%u", fetched.frames[7].offset);
    assert_non_null(strstr(e.text, pack));
    assert_non_null(strstr(e.text, offset));
    assert_int_equal(fetched_gets(), 2);
    assert_false(cache_has(fetched.cache, &fetched.frames[7]));
    assert_int_equal(fetched_get(7, NULL), 0);
    assert_int_equal(fetched_gets(), 3);
}

static void damage_hits_only_the_damaged_frame_of_a_range(void **state)
{
    uint32_t which[] = { 20, 21, 22 };
    flip(21, -1);
    assert_int_equal(fetched_warm(which, 3, SOURCE_DEMAND, NULL), 0); /* decodes nothing */
    assert_int_equal(fetched_get(20, NULL), 0);
    assert_int_equal(fetched_get(21, NULL), -EIO);
    assert_int_equal(fetched_get(22, NULL), 0);
}

static void a_pack_that_is_gone_is_said_at_once(void **state)
{
    struct error e = { 0 };
    assert_int_equal(store_remove(twin_store_get(fetched.twin), fetched.key, NULL), 0);
    assert_int_equal(fetched_get(0, &e), -ENOENT);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_int_equal(fetched_gets(), 1);
    fetched_pack(); /* under another name: the old frames stay gone, the new ones come */
    assert_int_equal(fetched_get(0, NULL), 0);
}

static void a_frame_of_another_kind_does_not_open(void **state)
{
    _cleanup_(frame_dropp) struct frame *f = NULL;
    assert_int_equal(source_get(fetch_source(fetched.fetch), &fetched.frames[1], FRAME_PAGE, &f, NULL), -EIO);
    assert_int_equal(fetched_get(1, NULL), 0);
    assert_int_equal(source_get(fetch_source(fetched.fetch), &fetched.frames[1], FRAME_PAGE, &f, NULL), -EIO);
}

/* One locator behind the end of the object: its range fails, its neighbours come all the same. */
static void an_impossible_locator_does_not_spoil_its_neighbours(void **state)
{
    struct locator l[3] = { fetched.frames[58], fetched.frames[59], fetched.frames[59] };
    l[2].offset += l[2].sealed + 8192;
    l[2].sealed = 100000;
    struct error e = { 0 };
    assert_int_equal(source_warm(fetch_source(fetched.fetch), l, 3, SOURCE_DEMAND, &e), -EIO);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_true(cache_has(fetched.cache, &l[0]));
    assert_true(cache_has(fetched.cache, &l[1]));
}

/* Fails if an unreachable store is an error, or if waiting reads are not counted. */
static void reads_wait_for_a_store_that_is_away(void **state)
{
    struct fetched_reader r;
    struct fetch_stats s;
    fetched_fail(-EHOSTUNREACH, 2);
    fetched_start(&r, 9);
    assert_true(twin_store_wait_requests(fetched.twin, 1));
    fetched_wait_readers(1);
    assert_int_equal(fetched_finish(&r), 0);
    assert_int_equal(fetched_gets(), 3);
    fetch_get_stats(fetched.fetch, &s);
    assert_int_equal(s.waiting_reads, 0);
    assert_int_equal(s.unreachable_since, 0);
    assert_int_equal(s.gets, 3);
}

/* Fails if the pause (1 to 2 s after four failures) is slept to its end: the success of another read ends it. */
static void a_success_wakes_those_who_wait(void **state)
{
    struct fetched_reader r;
    struct timespec before, after;
    struct twin_rule away = { .operations = "G", .action = TWIN_FAIL, .value = -EHOSTUNREACH, .times = 4 };
    twin_store_rule(fetched.twin, &away);
    fetched_start(&r, 9);
    assert_true(twin_store_wait_requests(fetched.twin, 4));
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert_int_equal(fetched_get(30, NULL), 0);
    assert_int_equal(fetched_finish(&r), 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    int64_t ms = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
    assert_true(ms < 900);
}

/* Fails, too, if who comes new has to wait for the end of an old pause. */
static void a_time_limit_ends_the_wait(void **state)
{
    struct error e = { 0 };
    fetch_free(mem_steal(fetched.fetch));
    fetched_open(2);
    fetched_fail(-EHOSTUNREACH, -1);
    assert_int_equal(fetched_get(9, &e), -ETIMEDOUT);
    assert_int_equal(e.kind, ERROR_STORE);
    twin_store_clear_rules(fetched.twin);
    assert_int_equal(fetched_get(9, NULL), 0);
}

static void stopping_ends_all_waits(void **state)
{
    struct fetched_reader r[3];
    fetched_fail(-EHOSTUNREACH, -1);
    for (uint32_t i = 0; i < 3; i++)
        fetched_start(&r[i], i);
    fetched_wait_readers(3);
    fetch_stop(fetched.fetch);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fetched_finish(&r[i]), -ECANCELED);
    assert_int_equal(fetched_get(40, NULL), -ECANCELED);
}

static void cancelling_the_store_ends_waits_too(void **state)
{
    struct fetched_reader r;
    fetched_fail(-EHOSTUNREACH, -1);
    fetched_start(&r, 1);
    assert_true(twin_store_wait_requests(fetched.twin, 1));
    store_cancel(twin_store_get(fetched.twin));
    assert_int_equal(fetched_finish(&r), -ECANCELED);
    store_resume(twin_store_get(fetched.twin));
}

static void a_deleted_cache_costs_gets_and_no_more(void **state)
{
    uint32_t which[] = { 1, 2, 3 };
    assert_int_equal(fetched_warm(which, 3, SOURCE_DEMAND, NULL), 0);
    fetched_remove(fetched.cache_path);
    assert_int_equal(fetched_get(2, NULL), 0);
    assert_int_equal(fetched_warm(which, 3, SOURCE_DEMAND, NULL), 0);
    assert_int_equal(fetched_gets(), 3); /* 1 to 3; 2; 1 to 3 again, for 1 and 3 */
}

static void reads_go_on_without_a_cache(void **state)
{
    fetch_free(mem_steal(fetched.fetch));
    cache_close(mem_steal(fetched.cache));
    fetched_open(0);
    for (uint32_t i = 0; i < FETCHED_FRAMES; i++)
        assert_int_equal(fetched_get(i, NULL), 0);
    assert_int_equal(fetched_get(FETCHED_FRAMES - 1, NULL), 0); /* from memory */
    assert_int_equal(fetched_gets(), FETCHED_FRAMES);
}

static int set_up_small(void **state)
{
    fetched_set_up(state);
    fetched_tear_down(state);
    snprintf(fetched.directory, sizeof(fetched.directory), "/tmp/test-fetch.XXXXXX");
    assert_non_null(mkdtemp(fetched.directory));
    snprintf(fetched.cache_path, sizeof(fetched.cache_path), "%s/cache", fetched.directory);
    assert_int_equal(mkdir(fetched.cache_path, 0700), 0);
    assert_int_equal(mount("tmpfs", fetched.cache_path, "tmpfs", 0, "size=300k"), 0);
    fetched.twin = twin_store_new();
    fetched_pack();
    assert_int_equal(cache_open(fetched.cache_path, "demo", 0, &fetched.cache, NULL), 0);
    fetched_open(0);
    return 0;
}

static int tear_down_small(void **state)
{
    twin_store_release(fetched.twin);
    fetch_free(mem_steal(fetched.fetch));
    cache_close(mem_steal(fetched.cache));
    assert_int_equal(umount(fetched.cache_path), 0);
    return fetched_tear_down(state);
}

static void a_full_disk_does_not_hinder_reads(void **state)
{
    uint32_t all[FETCHED_FRAMES];
    struct error e = { 0 };
    for (uint32_t i = 0; i < FETCHED_FRAMES; i++) {
        all[i] = i;
        assert_int_equal(fetched_get(i, NULL), 0);
    }
    assert_int_equal(fetched_warm(all, FETCHED_FRAMES, SOURCE_BACKGROUND, &e), -ENOSPC);
    assert_int_equal(e.kind, ERROR_FAILED);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fetched_set_up, fetched_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(readers_of_one_frame_share_one_get),
        TEST(a_frame_is_fetched_once_under_any_interleaving),
        TEST(what_is_cached_needs_no_store),
        TEST(near_frames_come_in_one_get),
        TEST(a_range_has_at_most_4_mib),
        TEST(rot_in_the_cache_is_fetched_again),
        TEST(one_wrong_answer_is_asked_for_again),
        TEST(damage_in_the_store_is_eio_and_not_remembered),
        TEST(damage_hits_only_the_damaged_frame_of_a_range),
        TEST(a_pack_that_is_gone_is_said_at_once),
        TEST(a_frame_of_another_kind_does_not_open),
        TEST(an_impossible_locator_does_not_spoil_its_neighbours),
        TEST(reads_wait_for_a_store_that_is_away),
        TEST(a_success_wakes_those_who_wait),
        TEST(a_time_limit_ends_the_wait),
        TEST(stopping_ends_all_waits),
        TEST(cancelling_the_store_ends_waits_too),
        TEST(a_deleted_cache_costs_gets_and_no_more),
        TEST(reads_go_on_without_a_cache),
        cmocka_unit_test_setup_teardown(a_full_disk_does_not_hinder_reads, set_up_small, tear_down_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
