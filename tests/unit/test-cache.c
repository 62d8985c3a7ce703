/* SPDX-License-Identifier: MIT */
#include "index/cache.h"

#include "index/base/clock.h"
#include "index/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include <cmocka.h>

#define FRAME 10000u

static char directory[64], inside[96];

static int make_directory(void **state)
{
    snprintf(directory, sizeof(directory), "/tmp/test-cache.XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(inside, sizeof(inside), "%s/cache", directory);
    return 0;
}

static void run(const char *fmt, const char *argument)
{
    _cleanup_free_ char *command = mem_printf(fmt, argument);
    assert_int_equal(system(command), 0);
}

static int remove_directory(void **state)
{
    run("rm -rf %s", directory);
    return 0;
}

static struct pack_name pack(uint8_t n)
{
    return (struct pack_name){ .writer = { .state = { 1 }, .rand = { 2 } }, .id = { n } };
}

static struct locator frame(uint8_t p, uint32_t n)
{
    return (struct locator){ .pack = pack(p), .offset = n * FRAME, .sealed = FRAME, .raw = 1 };
}

static uint8_t content(uint8_t p, uint32_t at)
{
    return (uint8_t)(p * 31 + at * 7 + at / 251);
}

static struct cache *open_cache(uint64_t limit)
{
    struct cache *c = NULL;
    struct error e = { 0 };
    if (cache_open(inside, "demo", limit, &c, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        abort();
    }
    return c;
}

/* Frames [from, from + count) of pack p in one put. */
static int put(struct cache *c, uint8_t p, uint32_t from, uint32_t count, bool keep)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    _cleanup_free_ struct locator *l = mem_new(count, sizeof(*l));
    struct pack_name name = pack(p);
    struct error e = { 0 };
    for (uint32_t i = from * FRAME; i < (from + count) * FRAME; i++)
        buf_fill(&b, content(p, i), 1);
    for (uint32_t i = 0; i < count; i++)
        l[i] = frame(p, from + i);
    return cache_put(c, &name, from * FRAME, buf_bytes(&b), l, count, keep, &e);
}

static bool has_right_bytes(struct cache *c, uint8_t p, uint32_t n)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    struct locator l = frame(p, n);
    if (cache_get(c, &l, &b, NULL) < 0)
        return false;
    assert_int_equal(b.len, FRAME);
    for (uint32_t i = 0; i < FRAME; i++)
        assert_int_equal(b.data[i], content(p, n * FRAME + i));
    return true;
}

static bool has(struct cache *c, uint8_t p, uint32_t n)
{
    struct locator l = frame(p, n);
    return cache_has(c, &l);
}

static uint64_t blocks_in_use(const char *path)
{
    uint64_t sum = 0;
    _cleanup_free_ char *box = mem_printf("%s/demo", path);
    DIR *d = opendir(box);
    for (struct dirent *x; d && (x = readdir(d));) {
        struct stat st;
        if (x->d_name[0] != '.' && fstatat(dirfd(d), x->d_name, &st, 0) == 0)
            sum += (uint64_t)st.st_blocks * 512;
    }
    if (d)
        closedir(d);
    return sum;
}

static void what_was_put_is_read_also_after_opening_again(void **state)
{
    _cleanup_(cache_closep) struct cache *c = open_cache(0);
    assert_int_equal(put(c, 1, 3, 4, false), 0);
    assert_true(has_right_bytes(c, 1, 3));
    assert_true(has_right_bytes(c, 1, 6));
    assert_false(has(c, 1, 2));
    assert_false(has(c, 2, 3));
    assert_int_equal(cache_bytes(c), 4 * FRAME);
    cache_close(mem_steal(c));
    c = open_cache(0);
    assert_true(has_right_bytes(c, 1, 5));
    assert_int_equal(cache_bytes(c), 4 * FRAME);
}

static void a_forgotten_frame_is_gone_and_its_neighbours_are_not(void **state)
{
    _cleanup_(cache_closep) struct cache *c = open_cache(0);
    struct locator l = frame(1, 1);
    assert_int_equal(put(c, 1, 0, 3, false), 0);
    cache_forget(c, &l);
    assert_false(has(c, 1, 1));
    assert_true(has_right_bytes(c, 1, 0));
    assert_true(has_right_bytes(c, 1, 2));
    assert_int_equal(cache_bytes(c), 2 * FRAME);
}

/* Fails if a frame is given up because its file cannot be opened just now. */
static void without_descriptors_nothing_is_forgotten(void **state)
{
    struct rlimit before, none;
    struct cache *c = open_cache(0);
    assert_int_equal(put(c, 1, 0, 1, false), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){ 3, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool there = has(c, 1, 0), read = has_right_bytes(c, 1, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_false(there);
    assert_false(read);
    assert_true(has_right_bytes(c, 1, 0));
    cache_close(c);
}

/* Fails if a catalog that cannot be opened just now is taken for a rotten one, and all caches are thrown away. */
static void opened_without_descriptors_it_keeps_all(void **state)
{
    struct rlimit before;
    struct error e = { 0 };
    struct cache *c = open_cache(0);
    assert_int_equal(put(c, 1, 0, 1, false), 0);
    cache_close(c);
    int first = open("/", O_PATH | O_CLOEXEC);
    assert_true(first >= 0);
    close(first);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (int n = first, r = -1; r < 0; n++) {
        struct rlimit few = { (rlim_t)n, before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        r = cache_open(inside, "demo", 0, &c, &e);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_true(r == 0 || r == -EMFILE);
    }
    assert_true(has_right_bytes(c, 1, 0));
    cache_close(c);
}

static void frames_outside_of_the_bytes_are_refused(void **state)
{
    _cleanup_(cache_closep) struct cache *c = open_cache(0);
    struct pack_name name = pack(1);
    struct locator l = frame(1, 1);
    uint8_t bytes[FRAME] = { 0 };
    assert_int_equal(cache_put(c, &name, l.offset + 1, (struct bytes){ bytes, FRAME }, &l, 1, false, NULL), -EINVAL);
    assert_int_equal(cache_put(c, &name, l.offset, (struct bytes){ bytes, FRAME - 1 }, &l, 1, false, NULL), -EINVAL);
    assert_false(has(c, 1, 1));
}

/* Fails if use times are not written (frame 0 would go), or the limit is not looked at. */
static void the_least_recently_used_goes_when_the_limit_is_passed(void **state)
{
    _cleanup_(cache_closep) struct cache *c = open_cache(8 * FRAME);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(put(c, 1, i, 1, false), 0);
    assert_true(has_right_bytes(c, 1, 0));
    assert_int_equal(put(c, 2, 0, 1, false), 0);
    assert_true(has(c, 1, 0));
    assert_false(has(c, 1, 1));
    assert_true(has(c, 2, 0));
    assert_true(cache_bytes(c) <= 8 * FRAME);
}

static void kept_frames_stay_until_the_mark_is_taken_back(void **state)
{
    _cleanup_(cache_closep) struct cache *c = open_cache(8 * FRAME);
    struct locator marked_later = frame(1, 4);
    assert_int_equal(put(c, 1, 0, 4, true), 0);
    assert_int_equal(put(c, 1, 4, 1, false), 0);
    cache_keep(c, &marked_later);
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(put(c, 2, i, 1, false), 0);
    for (uint32_t i = 0; i < 5; i++)
        assert_true(has_right_bytes(c, 1, i));
    assert_true(cache_bytes(c) <= 8 * FRAME);

    assert_int_equal(cache_unkeep_all(c, NULL), 0);
    for (uint32_t i = 20; i < 40; i++)
        assert_int_equal(put(c, 2, i, 1, false), 0);
    for (uint32_t i = 0; i < 5; i++)
        assert_false(has(c, 1, i));
}

/* Fails if only the frame's own bytes are punched: frames of 10000 bytes share blocks with their neighbours. */
static void evicted_frames_give_their_blocks_back(void **state)
{
    _cleanup_(cache_closep) struct cache *c = open_cache(0);
    assert_int_equal(put(c, 1, 0, 200, false), 0);
    for (uint32_t i = 1; i < 199; i++) {
        struct locator l = frame(1, (i * 77) % 199);
        if (l.offset > 0)
            cache_forget(c, &l);
    }
    assert_true(has_right_bytes(c, 1, 0));
    assert_true(has_right_bytes(c, 1, 199));
    assert_true(blocks_in_use(inside) <= 32768);
    struct locator first = frame(1, 0), last = frame(1, 199);
    cache_forget(c, &first);
    cache_forget(c, &last);
    assert_int_equal(blocks_in_use(inside), 0);
}

static void a_deleted_directory_costs_a_fetch_and_no_more(void **state)
{
    _cleanup_(cache_closep) struct cache *c = open_cache(0);
    assert_int_equal(put(c, 1, 0, 2, false), 0);
    run("rm -rf %s", inside);
    assert_false(has(c, 1, 0));
    assert_false(has_right_bytes(c, 1, 1));
    assert_int_equal(put(c, 1, 0, 1, false), 0);
    assert_true(has_right_bytes(c, 1, 0));

    run("rm -rf %s", inside);
    assert_int_equal(put(c, 1, 1, 1, false), 0); /* without a read that would notice first */
    assert_true(has_right_bytes(c, 1, 1));
    run("rm -rf %s/demo", inside);
    assert_false(has(c, 1, 1));
    assert_int_equal(put(c, 1, 1, 1, false), 0);
    assert_true(has_right_bytes(c, 1, 1));
}

static void scribble(const char *path, off_t from, size_t len)
{
    _cleanup_close_ int fd = open(path, O_WRONLY);
    _cleanup_free_ uint8_t *junk = mem_new(1, len);
    memset(junk, 0xa5, len);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, junk, len, from), (ssize_t)len);
}

static void a_damaged_catalog_is_thrown_away(void **state)
{
    struct cache *c = open_cache(0);
    _cleanup_free_ char *path = mem_printf("%s/.catalog.db", inside);
    assert_int_equal(put(c, 1, 0, 2, false), 0);
    cache_close(c);
    scribble(path, 0, 8192);
    c = open_cache(0);
    assert_false(has(c, 1, 0));
    assert_int_equal(blocks_in_use(inside), 0);
    assert_int_equal(put(c, 1, 0, 2, false), 0);
    assert_true(has_right_bytes(c, 1, 1));
    cache_close(c);

    /* Damage behind the header shows at use only. */
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    scribble(path, 4096, (size_t)st.st_size - 4096);
    c = open_cache(0);
    has(c, 1, 0);
    assert_int_equal(put(c, 1, 5, 2, false), 0);
    assert_true(has_right_bytes(c, 1, 6));
    cache_close(c);
}

/* Fails if what stands in the way of a catalog is taken for damage, and all caches are thrown away. */
static void a_catalog_that_cannot_be_opened_is_an_error_and_stays(void **state)
{
    static const char *const in_its_way[] = { "mkdir %1$s/.catalog.db", "ln -s .catalog.db %1$s/.catalog.db" };
    struct cache *c = open_cache(0);
    assert_int_equal(put(c, 1, 0, 1, false), 0);
    cache_close(c);
    for (size_t i = 0; i < 2; i++) {
        struct error e = { 0 };
        run("mv %1$s/.catalog.db %1$s/aside", inside);
        run(in_its_way[i], inside);
        int r = cache_open(inside, "demo", 0, &c, &e);
        run("rm -rf %1$s/.catalog.db && mv %1$s/aside %1$s/.catalog.db", inside);
        assert_true(r < 0 && r != -EBADMSG && e.kind == ERROR_FAILED);
        assert_non_null(strstr(e.text, inside));
        assert_non_null(strstr(e.hint, inside));
        c = open_cache(0);
        assert_true(has_right_bytes(c, 1, 0));
        cache_close(c);
    }
}

static void a_catalog_that_cannot_be_written_is_an_error_and_stays(void **state)
{
    struct cache *c = open_cache(0);
    assert_int_equal(put(c, 1, 0, 1, false), 0);
    cache_close(c);
    run("mount --bind %1$s/.catalog.db %1$s/.catalog.db && mount -o remount,bind,ro %1$s/.catalog.db", inside);
    int r = cache_open(inside, "demo", 0, &c, NULL), written = r, cleared = r;
    if (r == 0) {
        written = put(c, 1, 1, 1, false);
        cleared = cache_known_clear(c, NULL);
        cache_close(c);
    }
    run("umount %s/.catalog.db", inside);
    assert_true(written < 0 && cleared < 0);
    c = open_cache(0);
    assert_true(has_right_bytes(c, 1, 0));
    cache_close(c);
}

static void room_is_where_nothing_goes_that_was_used_since(void **state)
{
    _cleanup_(cache_closep) struct cache *c = open_cache(100 * FRAME);
    assert_int_equal(put(c, 1, 0, 60, false), 0);
    int64_t since = clock_wall_ns();
    assert_int_equal(cache_room(c, 30 * FRAME, since, NULL), 0);
    assert_int_equal(cache_room(c, 80 * FRAME, since, NULL), 0); /* the old ones go */
    for (uint32_t i = 0; i < 60; i++) {
        struct locator l = frame(1, i);
        assert_true(cache_use(c, &l));
    }
    assert_int_equal(cache_room(c, 30 * FRAME, since, NULL), 0);
    assert_int_equal(cache_room(c, 80 * FRAME, since, NULL), -EFBIG);
}

/* Whoever counted what is here knows with one number whether that is still true. */
static void what_goes_is_counted_for_its_box(void **state)
{
    _cleanup_(cache_closep) struct cache *c = open_cache(100 * FRAME), *other = NULL;
    assert_int_equal(put(c, 1, 0, 60, false), 0);
    uint64_t before = cache_gone(c);
    assert_int_equal(cache_open(inside, "other", 100 * FRAME, &other, NULL), 0);
    assert_int_equal(put(other, 2, 0, 30, false), 0);
    assert_int_equal(cache_gone(c), before);
    assert_int_equal(put(other, 3, 0, 30, false), 0);
    uint64_t here = 0;
    for (uint32_t i = 0; i < 60; i++)
        here += has(c, 1, i) ? FRAME : 0;
    assert_true(here < 60 * FRAME);
    assert_int_equal(cache_gone(c) - before, 60 * FRAME - here);
    run("rm -rf %s", inside);
    assert_int_not_equal(cache_gone(c), before);
}

/* Fails without the reserve: then the cache leaves nothing to what else is written there. */
static void a_part_of_the_disk_stays_free(void **state)
{
    _cleanup_(cache_closep) struct cache *c = open_cache(0);
    struct statvfs v;
    int64_t since = clock_wall_ns();
    for (uint8_t p = 1; p < 20; p++) {
        assert_int_equal(put(c, p, 0, 20, false), 0);
        assert_int_equal(statvfs(inside, &v), 0);
        assert_true(v.f_bavail * 25 >= v.f_blocks); /* the catalog's own writes aside */
    }
    assert_int_equal(cache_room(c, 1 << 20, since, NULL), -ENOSPC);
    run("head -c 80K /dev/zero >%s/other", inside);
    assert_int_equal(cache_make_room(c, NULL), 0);
    assert_int_equal(statvfs(inside, &v), 0);
    assert_true(v.f_bavail * 25 >= v.f_blocks);
}

static int mount_small(void **state)
{
    return make_directory(state) < 0 || mkdir(inside, 0700) < 0 || mount("tmpfs", inside, "tmpfs", 0, "size=3m") < 0;
}

static int unmount_small(void **state)
{
    return umount(inside) < 0 || remove_directory(state) < 0;
}

/* Everything here is kept, so nothing can go. */
static void a_full_disk_is_told(void **state)
{
    _cleanup_(cache_closep) struct cache *c = open_cache(0);
    uint32_t n = 0;
    int r = 0;
    for (; n < 60 && (r = put(c, 1, n * 10, 10, true)) == 0; n++)
        ;
    assert_int_equal(r, -ENOSPC);
    assert_true(n > 5);
    for (uint32_t i = 0; i < n * 10; i++)
        assert_true(has_right_bytes(c, 1, i));
    assert_false(has(c, 1, n * 10));
}

/* Fails if files shrink only after the commit: the catalog's log has no room either. */
static void on_a_full_disk_old_frames_make_room(void **state)
{
    _cleanup_(cache_closep) struct cache *c = open_cache(0);
    for (uint8_t p = 1; p < 30; p++) {
        assert_int_equal(put(c, p, 0, 50, false), 0);
        for (uint32_t i = 0; i < 50; i++)
            assert_true(has_right_bytes(c, p, i));
    }
    assert_true(cache_bytes(c) <= 3u << 20);
}

static void *put_and_get(void *arg)
{
    uint8_t p = (uint8_t)(uintptr_t)arg;
    struct cache *c = open_cache(40 * FRAME);
    for (uint32_t i = 0; i < 60; i++) {
        if (put(c, p, i, 1, false) < 0)
            abort();
        /* May be punched by the other process while it is read: whoever opens the seal finds that. */
        _cleanup_(buf_release) struct buf b = { 0 };
        struct locator l = frame(p, i / 2);
        cache_get(c, &l, &b, NULL);
    }
    cache_close(c);
    return NULL;
}

/* Threads with connections of their own, in two processes. */
static void several_processes_share_one_cache(void **state)
{
    cache_close(open_cache(0));
    pid_t child = fork();
    pthread_t t[2];
    for (uintptr_t i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, put_and_get, (void *)(i + (child ? 1 : 11)));
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    if (child == 0)
        _exit(0);
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    _cleanup_(cache_closep) struct cache *c = open_cache(40 * FRAME);
    assert_true(cache_bytes(c) <= 40 * FRAME);
    assert_true(cache_bytes(c) > 20 * FRAME);
    for (uint8_t p = 1; p <= 12; p++)
        for (uint32_t i = 0; i < 60; i++)
            assert_true(!has(c, p, i) || has_right_bytes(c, p, i));
}

static void known_content_is_found_until_it_is_cleared(void **state)
{
    _cleanup_(cache_closep) struct cache *c = open_cache(0);
    struct known_extent x[2] = { { .hash = { { 1 } }, .length = 77, .frame = frame(1, 1), .within = 5 },
                                 { .hash = { { 2 } }, .length = 1u << 20, .frame = frame(1, 2) } };
    struct known_extent got;
    x[0].frame.raw = 4711;
    assert_int_equal(cache_known_add(c, x, 2, NULL), 0);
    assert_int_equal(cache_known_find(c, &x[0].hash, &got, NULL), 0);
    assert_int_equal(got.length, 77);
    assert_int_equal(got.within, 5);
    assert_memory_equal(&got.frame, &x[0].frame, sizeof(got.frame));
    assert_int_equal(cache_known_find(c, &(struct hash){ { 3 } }, &got, NULL), -ENOENT);

    struct cache *other = NULL;
    assert_int_equal(cache_open(inside, "other", 0, &other, NULL), 0);
    assert_int_equal(cache_known_find(other, &x[0].hash, &got, NULL), -ENOENT); /* packs belong to one box */
    cache_close(other);

    assert_int_equal(cache_known_clear(c, NULL), 0);
    assert_int_equal(cache_known_find(c, &x[1].hash, &got, NULL), -ENOENT);
}

/* Fails without the row's own checksum: a park would refer to another offset. */
static void a_rotten_known_row_is_not_believed(void **state)
{
    struct cache *c = open_cache(0);
    struct known_extent x = { .hash = { { 9, 8, 7, 6, 5, 4, 3, 2 } }, .length = 0x55, .frame = frame(1, 1) }, got;
    assert_int_equal(cache_known_add(c, &x, 1, NULL), 0);
    cache_close(c);

    _cleanup_free_ char *path = mem_printf("%s/.catalog.db", inside);
    _cleanup_close_ int fd = open(path, O_RDWR);
    static uint8_t all[1 << 20];
    ssize_t n = read(fd, all, sizeof(all));
    uint8_t *row = memmem(all, (size_t)n, x.hash.b, HASH_LEN);
    assert_non_null(row);
    assert_int_equal(row[HASH_LEN], 0x55);
    assert_int_equal(pwrite(fd, "\x56", 1, row + HASH_LEN - all), 1);

    c = open_cache(0);
    assert_int_equal(cache_known_find(c, &x.hash, &got, NULL), -ENOENT);
    cache_close(c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_directory, remove_directory)

static void on_alarm(int number)
{
    (void)number;
}

/* Whoever opens it stands still: that is waited for, but a signal is heard. */
static void the_wait_for_another_that_opens_it_can_be_ended(void **state)
{
    (void)state;
    cache_close(open_cache(0));
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    struct cache *c = NULL;
    struct error e = { 0 };
    int other = open(inside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_EX), 0);
    sigaction(SIGALRM, &action, NULL);
    ualarm(50000, 0);
    assert_int_equal(cache_open(inside, "demo", 0, &c, &e), -EINTR);
    assert_int_equal(e.kind, ERROR_INTERRUPTED);
    close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_put_is_read_also_after_opening_again),
        TEST(a_forgotten_frame_is_gone_and_its_neighbours_are_not),
        TEST(without_descriptors_nothing_is_forgotten),
        TEST(opened_without_descriptors_it_keeps_all),
        TEST(frames_outside_of_the_bytes_are_refused),
        TEST(the_least_recently_used_goes_when_the_limit_is_passed),
        TEST(kept_frames_stay_until_the_mark_is_taken_back),
        TEST(evicted_frames_give_their_blocks_back),
        TEST(a_deleted_directory_costs_a_fetch_and_no_more),
        TEST(a_damaged_catalog_is_thrown_away),
        TEST(a_catalog_that_cannot_be_opened_is_an_error_and_stays),
        TEST(a_catalog_that_cannot_be_written_is_an_error_and_stays),
        cmocka_unit_test_setup_teardown(a_full_disk_is_told, mount_small, unmount_small),
        cmocka_unit_test_setup_teardown(on_a_full_disk_old_frames_make_room, mount_small, unmount_small),
        TEST(room_is_where_nothing_goes_that_was_used_since),
        TEST(what_goes_is_counted_for_its_box),
        cmocka_unit_test_setup_teardown(a_part_of_the_disk_stays_free, mount_small, unmount_small),
        TEST(several_processes_share_one_cache),
        TEST(the_wait_for_another_that_opens_it_can_be_ended),
        TEST(known_content_is_found_until_it_is_cleared),
        TEST(a_rotten_known_row_is_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
