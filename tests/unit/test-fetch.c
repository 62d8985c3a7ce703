/* SPDX-License-Identifier: MIT */
#include "sync/fetch.h"

#include "index/base/mem.h"
#include "sync/pack.h"
#include "tests/unit/twin-store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cmocka.h>

#define FRAMES 60u
#define RAW (40u * 1024) /* incompressible: two frames are further apart than FRAME alone */

static const struct keys keys = { .master = "master", .store_id = "store" };
static const struct writer writer = { .state = "state", .rand = "rand" };

/* One box with one pack of FRAMES frames in a twin store, a cache, and a fetch over both. */
static struct {
    char directory[64], cache_path[96], key[STORE_KEY_MAX];
    struct twin_store *twin;
    struct cache *cache;
    struct fetch *fetch;
    struct locator frames[FRAMES];
} w;

static uint32_t content(uint32_t frame, uint32_t i)
{
    uint32_t x = frame * 2654435761u + i * 40503u + 1;
    return (x ^ x >> 15) * 2246822519u;
}

static void make_pack(void)
{
    static uint32_t words[RAW / 4];
    struct seal_context seal = { &keys, "demo" };
    struct pack *p = pack_new(&seal, &writer);
    for (uint32_t f = 0; f < FRAMES; f++) {
        for (uint32_t i = 0; i < RAW / 4; i++)
            words[i] = content(f, i);
        pack_add(p, FRAME_DATA, (struct bytes){ (uint8_t *)words, RAW }, NULL, 0, &w.frames[f]);
    }
    pack_finish(p);
    pack_key("demo", pack_name(p), w.key);
    twin_store_set(w.twin, w.key, pack_bytes(p));
    pack_free(p);
}

static void open_fetch(unsigned timeout_s)
{
    struct fetch_config c = { .store = twin_store_get(w.twin),
                              .seal = { &keys, "demo" },
                              .cache = w.cache,
                              .timeout_s = timeout_s,
                              .background_threads = 2 };
    assert_int_equal(fetch_new(&c, &w.fetch, NULL), 0);
}

/* A new process's view: nothing in memory, the cache as it is. */
static void open_fetch_again(void)
{
    fetch_free(mem_steal(w.fetch));
    open_fetch(0);
}

static int set_up(void **state)
{
    snprintf(w.directory, sizeof(w.directory), "/tmp/test-fetch.XXXXXX");
    assert_non_null(mkdtemp(w.directory));
    snprintf(w.cache_path, sizeof(w.cache_path), "%s/cache", w.directory);
    w.twin = twin_store_new();
    make_pack();
    assert_int_equal(cache_open(w.cache_path, "demo", 0, &w.cache, NULL), 0);
    open_fetch(0);
    return 0;
}

static void remove_all(const char *path)
{
    _cleanup_free_ char *command = mem_printf("rm -rf %s", path);
    assert_int_equal(system(command), 0);
}

static int tear_down(void **state)
{
    twin_store_release(w.twin); /* a failed test may have left threads there */
    fetch_free(mem_steal(w.fetch));
    cache_close(mem_steal(w.cache));
    twin_store_free(mem_steal(w.twin));
    remove_all(w.directory);
    return 0;
}

static int get_frame(uint32_t n, struct error *e)
{
    _cleanup_(frame_dropp) struct frame *f = NULL;
    int r = source_get(fetch_source(w.fetch), &w.frames[n], FRAME_DATA, &f, e);
    if (r < 0)
        return r;
    if (f->len != RAW)
        return -EILSEQ;
    for (uint32_t i = 0; i < RAW / 4; i++)
        if (((uint32_t *)(void *)f->data)[i] != content(n, i))
            return -EILSEQ;
    return 0;
}

static unsigned gets(void)
{
    struct twin_counts c;
    twin_store_counts(w.twin, &c);
    return c.gets;
}

struct reader {
    pthread_t thread;
    uint32_t frame;
    int result;
    struct error error;
};

static void *read_frame(void *arg)
{
    struct reader *r = arg;
    r->result = get_frame(r->frame, &r->error);
    return NULL;
}

static void start(struct reader *r, uint32_t frame)
{
    r->frame = frame;
    assert_int_equal(pthread_create(&r->thread, NULL, read_frame, r), 0);
}

static int finish(struct reader *r)
{
    pthread_join(r->thread, NULL);
    return r->result;
}

/* Until n reads wait: there is no signal for it, so look often. At most 10 s. */
static void wait_for_readers(unsigned n)
{
    struct fetch_stats s = { 0 };
    for (int i = 0; i < 10000 && s.waiting_reads != n; i++) {
        fetch_get_stats(w.fetch, &s);
        usleep(1000);
    }
    assert_int_equal(s.waiting_reads, n);
}

static void wait_for_outage(void)
{
    struct fetch_stats s = { 0 };
    for (int i = 0; i < 10000 && s.unreachable_since == 0; i++) {
        fetch_get_stats(w.fetch, &s);
        usleep(1000);
    }
    assert_true(s.unreachable_since != 0);
}

static void fail_gets(int code, int times)
{
    struct twin_rule rule = { .operations = "G", .action = TWIN_FAIL, .value = code, .times = times };
    twin_store_rule(w.twin, &rule);
}

static void flip(uint32_t frame, int times)
{
    struct twin_rule rule = {
        .operations = "G", .action = TWIN_FLIP, .value = w.frames[frame].offset + 100, .times = times
    };
    twin_store_rule(w.twin, &rule);
}

/* Fails if flights are not looked up before a new one starts: 8 GETs. */
static void readers_of_one_frame_share_one_get(void **state)
{
    struct reader r[8];
    twin_store_hold(w.twin, "");
    for (int i = 0; i < 8; i++)
        start(&r[i], 5);
    assert_true(twin_store_wait_held(w.twin, 1));
    wait_for_readers(8);
    twin_store_release(w.twin);
    for (int i = 0; i < 8; i++)
        assert_int_equal(finish(&r[i]), 0);
    assert_int_equal(gets(), 1);
}

/* Fails if a frame leaves the table of flights before it is in the cache or in memory. */
static void a_frame_is_fetched_once_under_any_interleaving(void **state)
{
    for (int round = 0; round < 20; round++) {
        struct reader r[8];
        cache_forget(w.cache, &w.frames[round]);
        for (int i = 0; i < 8; i++)
            start(&r[i], (uint32_t)round);
        for (int i = 0; i < 8; i++)
            assert_int_equal(finish(&r[i]), 0);
        assert_int_equal(gets(), round + 1);
    }
}

static void what_is_cached_needs_no_store(void **state)
{
    assert_int_equal(get_frame(3, NULL), 0);
    open_fetch_again();
    fail_gets(-EHOSTUNREACH, -1);
    assert_int_equal(get_frame(3, NULL), 0);
    assert_int_equal(gets(), 1);
}

static int warm_frames(const uint32_t *which, size_t count, enum source_urgency urgency, struct error *e)
{
    _cleanup_free_ struct locator *l = mem_new(count, sizeof(*l));
    for (size_t i = 0; i < count; i++)
        l[i] = w.frames[which[i]];
    return source_warm(fetch_source(w.fetch), l, count, urgency, e);
}

/* Frames of 40 KiB: a gap of one is merged over, one of two is not. */
static void near_frames_come_in_one_get(void **state)
{
    uint32_t which[] = { 9, 1, 2, 4, 3, 6, 1, 10 }; /* 1-4, 6 in one; 9, 10 in another */
    struct twin_request first, second;
    assert_int_equal(warm_frames(which, 8, SOURCE_DEMAND, NULL), 0);
    assert_int_equal(gets(), 2);
    assert_true(twin_store_request(w.twin, 0, &first) && twin_store_request(w.twin, 1, &second));
    if (second.offset < first.offset)
        first = second;
    assert_int_equal(first.offset, w.frames[1].offset);
    assert_int_equal(first.length, w.frames[6].offset + w.frames[6].sealed - w.frames[1].offset);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(get_frame(which[i], NULL), 0);
    assert_int_equal(warm_frames(which, 8, SOURCE_BACKGROUND, NULL), 0);
    assert_int_equal(gets(), 2);
    assert_false(cache_has(w.cache, &w.frames[5]));
}

static void a_range_has_at_most_4_mib(void **state)
{
    uint32_t all[FRAMES];
    assert_true(FRAMES * RAW < 4u << 20);
    for (uint32_t i = 0; i < FRAMES; i++)
        all[i] = i;
    assert_int_equal(warm_frames(all, FRAMES, SOURCE_DEMAND, NULL), 0);
    assert_int_equal(gets(), 1);
}

static void rot_in_the_cache_is_fetched_again(void **state)
{
    char pack[PACK_TEXT];
    assert_int_equal(warm_frames(&(uint32_t){ 7 }, 1, SOURCE_DEMAND, NULL), 0);
    assert_int_equal(get_frame(7, NULL), 0);
    pack_text(&w.frames[7].pack, pack);
    pack[WRITER_TEXT - 1] = '-';
    _cleanup_free_ char *path = mem_printf("%s/demo/%s", w.cache_path, pack);
    _cleanup_close_ int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "rotten", 6, w.frames[7].offset + 50), 6);
    open_fetch_again();
    assert_int_equal(get_frame(7, NULL), 0);
    assert_int_equal(gets(), 2);
    open_fetch_again();
    assert_int_equal(get_frame(7, NULL), 0);
    assert_int_equal(gets(), 2);
}

static void one_wrong_answer_is_asked_for_again(void **state)
{
    flip(7, 1);
    assert_int_equal(get_frame(7, NULL), 0);
    assert_int_equal(gets(), 2);
    twin_store_rule(w.twin, &(struct twin_rule){ .operations = "G", .action = TWIN_TRUNCATE, .value = 1, .times = 1 });
    assert_int_equal(get_frame(8, NULL), 0);
    assert_int_equal(gets(), 4);
}

/* Fails if spoiled bytes get into the cache, or the error into a table. */
static void damage_in_the_store_is_eio_and_not_remembered(void **state)
{
    struct error e = { 0 };
    flip(7, 2);
    assert_int_equal(get_frame(7, &e), -EIO);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    char pack[PACK_TEXT], offset[32];
    pack_text(&w.frames[7].pack, pack);
    snprintf(offset, sizeof(offset), "%u", w.frames[7].offset);
    assert_non_null(strstr(e.text, pack));
    assert_non_null(strstr(e.text, offset));
    assert_int_equal(gets(), 2);
    assert_false(cache_has(w.cache, &w.frames[7]));
    assert_int_equal(get_frame(7, NULL), 0);
    assert_int_equal(gets(), 3);
}

static void damage_hits_only_the_damaged_frame_of_a_range(void **state)
{
    uint32_t which[] = { 20, 21, 22 };
    flip(21, -1);
    assert_int_equal(warm_frames(which, 3, SOURCE_DEMAND, NULL), 0); /* decodes nothing */
    assert_int_equal(get_frame(20, NULL), 0);
    assert_int_equal(get_frame(21, NULL), -EIO);
    assert_int_equal(get_frame(22, NULL), 0);
}

static void a_pack_that_is_gone_is_said_at_once(void **state)
{
    struct error e = { 0 };
    assert_int_equal(store_remove(twin_store_get(w.twin), w.key, NULL), 0);
    assert_int_equal(get_frame(0, &e), -ENOENT);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_int_equal(gets(), 1);
    make_pack(); /* under another name: the old frames stay gone, the new ones come */
    assert_int_equal(get_frame(0, NULL), 0);
}

static void a_frame_of_another_kind_does_not_open(void **state)
{
    _cleanup_(frame_dropp) struct frame *f = NULL;
    assert_int_equal(source_get(fetch_source(w.fetch), &w.frames[1], FRAME_PAGE, &f, NULL), -EIO);
    assert_int_equal(get_frame(1, NULL), 0);
    assert_int_equal(source_get(fetch_source(w.fetch), &w.frames[1], FRAME_PAGE, &f, NULL), -EIO);
}

/* One locator behind the end of the object: its range fails, its neighbours come all the same. */
static void an_impossible_locator_does_not_spoil_its_neighbours(void **state)
{
    struct locator l[3] = { w.frames[58], w.frames[59], w.frames[59] };
    l[2].offset += l[2].sealed + 8192;
    l[2].sealed = 100000;
    struct error e = { 0 };
    assert_int_equal(source_warm(fetch_source(w.fetch), l, 3, SOURCE_DEMAND, &e), -EIO);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_true(cache_has(w.cache, &l[0]));
    assert_true(cache_has(w.cache, &l[1]));
}

/* Fails if an unreachable store is an error, or if waiting reads are not counted. */
static void reads_wait_for_a_store_that_is_away(void **state)
{
    struct reader r;
    struct fetch_stats s;
    fail_gets(-EHOSTUNREACH, 2);
    start(&r, 9);
    assert_true(twin_store_wait_requests(w.twin, 1));
    wait_for_readers(1);
    assert_int_equal(finish(&r), 0);
    assert_int_equal(gets(), 3);
    fetch_get_stats(w.fetch, &s);
    assert_int_equal(s.waiting_reads, 0);
    assert_int_equal(s.unreachable_since, 0);
    assert_int_equal(s.gets, 3);
}

/* Fails if the pause (1 to 2 s after four failures) is slept to its end: the success of another read ends it. */
static void a_success_wakes_those_who_wait(void **state)
{
    struct reader r;
    struct timespec before, after;
    struct twin_rule away = { .operations = "G", .action = TWIN_FAIL, .value = -EHOSTUNREACH, .times = 4 };
    twin_store_rule(w.twin, &away);
    start(&r, 9);
    assert_true(twin_store_wait_requests(w.twin, 4));
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert_int_equal(get_frame(30, NULL), 0);
    assert_int_equal(finish(&r), 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
    int64_t ms = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
    assert_true(ms < 900);
}

/* Fails, too, if who comes new has to wait for the end of an old pause. */
static void a_time_limit_ends_the_wait(void **state)
{
    struct error e = { 0 };
    fetch_free(mem_steal(w.fetch));
    open_fetch(2);
    fail_gets(-EHOSTUNREACH, -1);
    assert_int_equal(get_frame(9, &e), -ETIMEDOUT);
    assert_int_equal(e.kind, ERROR_STORE);
    twin_store_clear_rules(w.twin);
    assert_int_equal(get_frame(9, NULL), 0);
}

static void stopping_ends_all_waits(void **state)
{
    struct reader r[3];
    fail_gets(-EHOSTUNREACH, -1);
    for (uint32_t i = 0; i < 3; i++)
        start(&r[i], i);
    wait_for_readers(3);
    fetch_stop(w.fetch);
    for (int i = 0; i < 3; i++)
        assert_int_equal(finish(&r[i]), -ECANCELED);
    assert_int_equal(get_frame(40, NULL), -ECANCELED);
}

static void cancelling_the_store_ends_waits_too(void **state)
{
    struct reader r;
    fail_gets(-EHOSTUNREACH, -1);
    start(&r, 1);
    assert_true(twin_store_wait_requests(w.twin, 1));
    store_cancel(twin_store_get(w.twin));
    assert_int_equal(finish(&r), -ECANCELED);
    store_resume(twin_store_get(w.twin));
}

static void *warm_in_background(void *arg)
{
    struct reader *r = arg;
    uint32_t far_apart[] = { 0, 10, 20, 30, 40, 50 };
    r->result = warm_frames(far_apart, 6, SOURCE_BACKGROUND, &r->error);
    return NULL;
}

/* Fails if background starts GETs while a read waits: the gate would hold more, or other, requests. */
static void reads_go_before_background(void **state)
{
    struct reader background, r;
    twin_store_hold(w.twin, "");
    assert_int_equal(pthread_create(&background.thread, NULL, warm_in_background, &background), 0);
    assert_true(twin_store_wait_held(w.twin, 2)); /* as many as there are background threads */
    start(&r, 55);
    assert_true(twin_store_wait_held(w.twin, 3));
    struct twin_request q;
    assert_true(twin_store_request(w.twin, 2, &q));
    assert_int_equal(q.offset, w.frames[55].offset);

    /* The read of a frame that background has queued takes it from there. */
    struct reader queued;
    start(&queued, 50);
    assert_true(twin_store_wait_held(w.twin, 4));
    assert_true(twin_store_request(w.twin, 3, &q));
    assert_int_equal(q.offset, w.frames[50].offset);

    twin_store_release(w.twin);
    assert_int_equal(finish(&r), 0);
    assert_int_equal(finish(&queued), 0);
    assert_int_equal(finish(&background), 0);
    assert_int_equal(gets(), 7);
}

static void *warm_the_first_ten(void *arg)
{
    struct reader *r = arg;
    uint32_t which[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    r->result = warm_frames(which, r->frame, SOURCE_BACKGROUND, &r->error);
    return NULL;
}

static void start_warming(struct reader *background, uint32_t count)
{
    background->frame = count;
    assert_int_equal(pthread_create(&background->thread, NULL, warm_the_first_ten, background), 0);
    assert_true(twin_store_wait_held(w.twin, 1));
}

/* Fails if it waits for 400 KiB that nobody reads; or if a second reader has a third GET. */
static void a_read_does_not_wait_for_a_big_background_range(void **state)
{
    struct reader background, r[2];
    struct twin_request q;
    twin_store_hold(w.twin, "");
    start_warming(&background, 10);
    for (int i = 0; i < 2; i++)
        start(&r[i], 9);
    assert_true(twin_store_wait_held(w.twin, 2));
    wait_for_readers(2);
    assert_true(twin_store_request(w.twin, 1, &q));
    assert_int_equal(q.offset, w.frames[9].offset);
    assert_int_equal(q.length, w.frames[9].sealed);

    twin_store_release(w.twin);
    for (int i = 0; i < 2; i++)
        assert_int_equal(finish(&r[i]), 0);
    assert_int_equal(finish(&background), 0);
    assert_int_equal(gets(), 2);
    open_fetch_again();
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(get_frame(i, NULL), 0);
    assert_int_equal(gets(), 2);
}

static void a_read_waits_for_a_small_background_range(void **state)
{
    struct reader background, r;
    twin_store_hold(w.twin, "");
    start_warming(&background, 3);
    start(&r, 2);
    wait_for_readers(1);
    twin_store_release(w.twin);
    assert_int_equal(finish(&r), 0);
    assert_int_equal(finish(&background), 0);
    assert_int_equal(gets(), 1);
}

/* What was overtaken fails, alone, after the read has what it wanted. */
static void an_overtaken_frame_may_fail_by_itself(void **state)
{
    struct reader background, r;
    twin_store_hold(w.twin, "");
    start_warming(&background, 10);
    start(&r, 9);
    assert_true(twin_store_wait_held(w.twin, 2));
    twin_store_rule(w.twin, &(struct twin_rule){ .operations = "G", .action = TWIN_TRUNCATE, .value = 1, .times = 4 });
    twin_store_release(w.twin);
    finish(&r);
    finish(&background);
    twin_store_clear_rules(w.twin);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(get_frame(i, NULL), 0);
}

/* The two running background GETs end while a read still waits: no third one starts. */
static void background_starts_nothing_while_a_read_waits(void **state)
{
    struct reader background, r;
    struct twin_rule away = { .operations = "G", .action = TWIN_FAIL, .value = -EHOSTUNREACH, .times = 3 };
    twin_store_hold(w.twin, "");
    assert_int_equal(pthread_create(&background.thread, NULL, warm_in_background, &background), 0);
    assert_true(twin_store_wait_held(w.twin, 2));
    twin_store_rule(w.twin, &away); /* for the read: half a second and more in which background could start */
    start(&r, 55);
    assert_true(twin_store_wait_held(w.twin, 3));
    twin_store_release(w.twin);
    assert_int_equal(finish(&r), 0);
    assert_int_equal(finish(&background), 0);
    struct twin_request q;
    for (size_t i = 2; i < 6; i++) {
        assert_true(twin_store_request(w.twin, i, &q));
        assert_int_equal(q.offset, w.frames[55].offset);
    }
    assert_int_equal(gets(), 2 + 4 + 4);
}

static void *warm_one_in_background(void *arg)
{
    struct reader *r = arg;
    r->result = warm_frames(&r->frame, 1, SOURCE_BACKGROUND, &r->error);
    return NULL;
}

/* Fails if a background range tries again by its own clock: its pause is at most 250 ms. */
static void background_does_not_try_again_while_a_read_waits(void **state)
{
    struct reader background = { .frame = 0 }, r;
    struct twin_request q;
    fail_gets(-EHOSTUNREACH, 1);
    assert_int_equal(pthread_create(&background.thread, NULL, warm_one_in_background, &background), 0);
    wait_for_outage();
    twin_store_hold(w.twin, "");
    start(&r, 55);
    assert_true(twin_store_wait_held(w.twin, 1));
    usleep(500000); /* what must not happen gives no signal */
    assert_false(twin_store_request(w.twin, 2, &q));
    twin_store_release(w.twin);
    assert_int_equal(finish(&r), 0);
    assert_int_equal(finish(&background), 0);
    assert_int_equal(gets(), 3);
}

static void a_deleted_cache_costs_gets_and_no_more(void **state)
{
    uint32_t which[] = { 1, 2, 3 };
    assert_int_equal(warm_frames(which, 3, SOURCE_DEMAND, NULL), 0);
    remove_all(w.cache_path);
    assert_int_equal(get_frame(2, NULL), 0);
    assert_int_equal(warm_frames(which, 3, SOURCE_DEMAND, NULL), 0);
    assert_int_equal(gets(), 3); /* 1 to 3; 2; 1 to 3 again, for 1 and 3 */
}

static void reads_go_on_without_a_cache(void **state)
{
    fetch_free(mem_steal(w.fetch));
    cache_close(mem_steal(w.cache));
    open_fetch(0);
    for (uint32_t i = 0; i < FRAMES; i++)
        assert_int_equal(get_frame(i, NULL), 0);
    assert_int_equal(get_frame(FRAMES - 1, NULL), 0); /* from memory */
    assert_int_equal(gets(), FRAMES);
}

static int set_up_small(void **state)
{
    set_up(state);
    tear_down(state);
    snprintf(w.directory, sizeof(w.directory), "/tmp/test-fetch.XXXXXX");
    assert_non_null(mkdtemp(w.directory));
    snprintf(w.cache_path, sizeof(w.cache_path), "%s/cache", w.directory);
    assert_int_equal(mkdir(w.cache_path, 0700), 0);
    assert_int_equal(mount("tmpfs", w.cache_path, "tmpfs", 0, "size=300k"), 0);
    w.twin = twin_store_new();
    make_pack();
    assert_int_equal(cache_open(w.cache_path, "demo", 0, &w.cache, NULL), 0);
    open_fetch(0);
    return 0;
}

static int tear_down_small(void **state)
{
    twin_store_release(w.twin);
    fetch_free(mem_steal(w.fetch));
    cache_close(mem_steal(w.cache));
    assert_int_equal(umount(w.cache_path), 0);
    return tear_down(state);
}

static void a_full_disk_does_not_hinder_reads(void **state)
{
    uint32_t all[FRAMES];
    struct error e = { 0 };
    for (uint32_t i = 0; i < FRAMES; i++) {
        all[i] = i;
        assert_int_equal(get_frame(i, NULL), 0);
    }
    assert_int_equal(warm_frames(all, FRAMES, SOURCE_BACKGROUND, &e), -ENOSPC);
    assert_int_equal(e.kind, ERROR_FAILED);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

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
        TEST(reads_go_before_background),
        TEST(a_read_does_not_wait_for_a_big_background_range),
        TEST(a_read_waits_for_a_small_background_range),
        TEST(an_overtaken_frame_may_fail_by_itself),
        TEST(background_starts_nothing_while_a_read_waits),
        TEST(background_does_not_try_again_while_a_read_waits),
        TEST(a_deleted_cache_costs_gets_and_no_more),
        TEST(reads_go_on_without_a_cache),
        cmocka_unit_test_setup_teardown(a_full_disk_does_not_hinder_reads, set_up_small, tear_down_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
