/* SPDX-License-Identifier: MIT */
#include "sync/push.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "sync/pack.h"
#include "tests/unit/twin-store.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#define MIB (1024u * 1024)

static const struct keys keys = { .master = "master", .store_id = "store" };

struct area {
    char root[64];
    int dir;
    struct twin_store *twin;
    struct journal *journal;
    struct cache *cache;
    struct push *push;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static int setup(void **state)
{
    static struct area a;
    a = (struct area){ .root = "/tmp/test-push.XXXXXX" };
    char path[128];
    if (!mkdtemp(a.root))
        return -1;
    a.dir = open(a.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    a.twin = twin_store_new();
    snprintf(path, sizeof(path), "%s/cache", a.root);
    *state = &a;
    return cache_open(path, "demo", 0, &a.cache, NULL) < 0 || journal_open(a.dir, a.root, true, &a.journal, NULL) < 0;
}

static int teardown(void **state)
{
    struct area *a = *state;
    push_free(a->push);
    journal_close(a->journal);
    cache_close(a->cache);
    twin_store_free(a->twin);
    close(a->dir);
    return nftw(a->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct push_config config(const struct area *a)
{
    return (struct push_config){
        .store = twin_store_get(a->twin),
        .seal = { &keys, "demo" },
        .writer = { .state = "state", .rand = "rand" },
    };
}

static void begin(struct area *a, struct push_config c)
{
    push_free(a->push);
    a->push = NULL;
    assert_int_equal(push_new(&c, &a->push, NULL), 0);
}

static void finish(struct area *a, struct push_stats *stats)
{
    struct error e = { 0 };
    _cleanup_free_ struct snapshot_pack *packs = NULL;
    size_t count;
    if (push_finish(a->push, &packs, &count, stats, &e) < 0)
        fail_msg("%s", e.text);
}

/* A file of the test's directory, open for reading. */
static int file_with(struct area *a, const char *name, const void *data, size_t n)
{
    int fd = openat(a->dir, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(fd_pwrite_all(fd, data, n, 0, NULL), 0);
    return fd;
}

static void random_bytes(struct buf *b, size_t n, uint8_t seed)
{
    uint8_t s[randombytes_SEEDBYTES] = { seed };
    buf_clear(b);
    buf_reserve(b, n);
    randombytes_buf_deterministic(b->data, n, s);
    b->len = n;
}

static struct push_ticket *send_fd(struct area *a, int fd, uint64_t size, const char *directory)
{
    struct push_ticket *t = NULL;
    struct entry n = { .type = ENTRY_FILE, .size = size };
    struct error e = { 0 };
    struct bytes d = { (const uint8_t *)directory, strlen(directory) };
    if (push_content(a->push, fd, &n, d, &t, &e) < 0)
        fail_msg("%s", e.text);
    return t;
}

static struct push_ticket *send_bytes(struct area *a, const void *data, size_t n, const char *directory)
{
    _cleanup_close_ int fd = file_with(a, "file", data, n);
    return send_fd(a, fd, n, directory);
}

static void redeem(struct area *a, struct push_ticket *t, struct entry *n)
{
    struct error e = { 0 };
    if (push_ticket_redeem(a->push, t, n, &e) < 0)
        fail_msg("%s", e.text);
}

/* The decoded bytes of a frame, from the store. */
static void fetch(struct area *a, const struct locator *l, enum frame_kind kind, struct buf *ret)
{
    _cleanup_(buf_release) struct buf sealed = { 0 };
    char key[STORE_KEY_MAX];
    pack_key("demo", &l->pack, key);
    struct error e = { 0 };
    if (store_get(twin_store_get(a->twin), key, l->offset, l->sealed, l->sealed, &sealed, NULL, &e) < 0 ||
        pack_frame_open(&(struct seal_context){ &keys, "demo" }, l, kind, buf_bytes(&sealed), ret, &e) < 0)
        fail_msg("%s", e.text);
}

/* Reads the content back through its extents and compares; holes read as zeros. */
static void expect_content(struct area *a, const struct entry *n, const void *data, size_t size)
{
    _cleanup_free_ uint8_t *got = mem_new(size + 1, 1);
    _cleanup_free_ struct extent *listed = NULL;
    size_t count = n->extent_count;
    const struct extent *x = n->extents;
    for (size_t i = 0; i < n->list_count; i++) {
        _cleanup_(buf_release) struct buf raw = { 0 };
        fetch(a, &n->list[i], FRAME_EXTENTS, &raw);
        assert_int_equal(extents_decode(buf_bytes(&raw), &listed, &count, NULL), 0);
        x = listed;
    }
    struct hash_key identity;
    keys_identity(&keys, "demo", &identity);
    for (size_t i = 0; i < count; i++) {
        _cleanup_(buf_release) struct buf raw = { 0 };
        struct hash h;
        fetch(a, &x[i].frame, FRAME_DATA, &raw);
        assert_true(x[i].within + x[i].length <= raw.len && x[i].start + x[i].length <= size);
        memcpy(got + x[i].start, raw.data + x[i].within, x[i].length);
        hash_bytes(&identity, got + x[i].start, x[i].length, &h);
        assert_true(hash_equal(&h, &x[i].hash));
    }
    assert_memory_equal(got, data, size);
}

static void small_files_of_one_directory_share_a_frame_and_come_back(void **state)
{
    struct area *a = *state;
    struct entry n[4] = { 0 };
    struct push_ticket *t[4];
    begin(a, config(a));
    t[0] = send_bytes(a, "first", 5, "a");
    t[1] = send_bytes(a, "second file", 11, "a");
    t[2] = send_bytes(a, "", 0, "a");
    t[3] = send_bytes(a, "elsewhere", 9, "b");
    assert_false(push_ticket_ready(t[3]));
    for (int i = 0; i < 4; i++)
        redeem(a, t[i], &n[i]);
    finish(a, NULL);

    expect_content(a, &n[0], "first", 5);
    expect_content(a, &n[1], "second file", 11);
    expect_content(a, &n[3], "elsewhere", 9);
    assert_int_equal(n[2].extent_count, 0);
    assert_memory_equal(&n[0].extents->frame, &n[1].extents->frame, sizeof(struct locator));
    assert_int_equal(n[1].extents->within, 5);
    assert_memory_not_equal(&n[0].extents->frame, &n[3].extents->frame, sizeof(struct locator));
    for (int i = 0; i < 4; i++)
        entry_release(&n[i]);
}

static void a_big_file_is_cut_by_content_and_listed_in_frames_of_its_own(void **state)
{
    struct area *a = *state;
    struct entry n = { 0 }, shifted = { 0 };
    struct push_stats stats;
    _cleanup_(buf_release) struct buf data = { 0 }, more = { 0 };
    random_bytes(&data, 20 * MIB + 12345, 1);
    begin(a, config(a));
    redeem(a, send_bytes(a, data.data, data.len, "a"), &n);
    assert_true(n.list_count > 0 && n.extent_count == 0);

    /* Some bytes in front: only the first chunk is new. Fails if cuts depend on the place. */
    buf_add(&more, "something new", 13);
    buf_add(&more, data.data, data.len);
    redeem(a, send_bytes(a, more.data, more.len, "a"), &shifted);
    finish(a, &stats);
    expect_content(a, &n, data.data, data.len);
    expect_content(a, &shifted, more.data, more.len);
    assert_in_range(stats.new_bytes, data.len, data.len + 5 * MIB);
    entry_release(&n);
    entry_release(&shifted);
}

static void equal_content_is_sent_once_in_a_run_and_not_again_against_what_is_known(void **state)
{
    struct area *a = *state;
    struct entry n[3] = { 0 };
    struct push_stats stats;
    struct push_config c = config(a);
    _cleanup_(buf_release) struct buf data = { 0 };
    c.cache = a->cache;
    random_bytes(&data, 300000, 2);
    begin(a, c);
    struct push_ticket *first = send_bytes(a, data.data, data.len, "a"),
                       *second = send_bytes(a, data.data, data.len, "b");
    redeem(a, first, &n[0]);
    redeem(a, second, &n[1]);
    finish(a, &stats);
    assert_int_equal(stats.new_bytes, data.len);
    assert_memory_equal(&n[0].extents->frame, &n[1].extents->frame, sizeof(struct locator));

    begin(a, c); /* another run: what it knows comes from the cache */
    redeem(a, send_bytes(a, data.data, data.len, "c"), &n[2]);
    finish(a, &stats);
    assert_int_equal(stats.new_bytes, 0);
    assert_int_equal(stats.packs, 0);
    assert_memory_equal(&n[0].extents->frame, &n[2].extents->frame, sizeof(struct locator));
    for (int i = 0; i < 3; i++)
        entry_release(&n[i]);
}

static void two_small_equal_files_in_one_open_frame_are_one(void **state)
{
    struct area *a = *state;
    struct entry n[2] = { 0 };
    begin(a, config(a));
    struct push_ticket *first = send_bytes(a, "same", 4, "a"), *second = send_bytes(a, "same", 4, "a");
    redeem(a, first, &n[0]);
    redeem(a, second, &n[1]);
    finish(a, NULL);
    assert_memory_equal(n[0].extents, n[1].extents, sizeof(struct extent));
    assert_int_equal(n[0].extents->frame.raw, 4);
    entry_release(&n[0]);
    entry_release(&n[1]);
}

static void sent_packs_are_in_the_cache_frame_by_frame(void **state)
{
    struct area *a = *state;
    struct entry n = { 0 };
    struct push_config c = config(a);
    _cleanup_(buf_release) struct buf sealed = { 0 }, raw = { 0 };
    c.cache = a->cache;
    begin(a, c);
    redeem(a, send_bytes(a, "content", 7, "a"), &n);
    finish(a, NULL);
    assert_int_equal(cache_get(a->cache, &n.extents->frame, &sealed, NULL), 0);
    assert_int_equal(pack_frame_open(&(struct seal_context){ &keys, "demo" }, &n.extents->frame, FRAME_DATA,
                                     buf_bytes(&sealed), &raw, NULL),
                     0);
    assert_memory_equal(raw.data, "content", 7);
    entry_release(&n);
}

static void holes_are_not_stored(void **state)
{
    struct area *a = *state;
    struct entry n = { 0 };
    struct push_stats stats;
    _cleanup_close_ int fd = openat(a->dir, "sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    _cleanup_free_ uint8_t *expected = mem_new(64 * MIB, 1);
    memset(expected + 3 * MIB, 'x', 8192);
    memset(expected + 40 * MIB, 'y', 100);
    assert_int_equal(fd_pwrite_all(fd, expected + 3 * MIB, 8192, 3 * MIB, NULL), 0);
    assert_int_equal(fd_pwrite_all(fd, expected + 40 * MIB, 100, 40 * MIB, NULL), 0);
    assert_int_equal(ftruncate(fd, 64 * MIB), 0);
    begin(a, config(a));
    redeem(a, send_fd(a, fd, 64 * MIB, "a"), &n);
    finish(a, &stats);
    assert_true(stats.bytes < MIB); /* of a file system that knows holes, as /tmp's is */
    assert_int_equal(n.extents[0].start, 3 * MIB);
    expect_content(a, &n, expected, 64 * MIB);

    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(ftruncate(fd, 100000), 0);
    redeem(a, send_fd(a, fd, 100000, "a"), &n);
    assert_int_equal(n.extent_count + n.list_count, 0);
}

static int touch_it(void *arg, uint64_t files, uint64_t bytes, uint64_t sent)
{
    /* Called between two windows: one byte of the file changes while it is read. */
    return files == 0 && pwrite(*(int *)arg, "!", 1, 5) != 1;
}

/* Fails without the second fstat. */
static void a_file_that_changes_while_it_is_read_is_said_to_have_changed(void **state)
{
    struct area *a = *state;
    struct error e = { 0 };
    struct push_ticket *t;
    _cleanup_(buf_release) struct buf data = { 0 };
    random_bytes(&data, 9 * MIB, 3);
    _cleanup_close_ int fd = file_with(a, "file", data.data, data.len);
    struct push_config c = config(a);
    c.progress = touch_it;
    c.progress_arg = &fd;
    begin(a, c);
    struct entry n = { .size = data.len };
    assert_int_equal(push_content(a->push, fd, &n, (struct bytes){ 0 }, &t, &e), -EAGAIN);
    assert_int_equal(e.kind, ERROR_BUSY);

    n.size = data.len + 1; /* it shrank */
    assert_int_equal(push_content(a->push, fd, &n, (struct bytes){ 0 }, &t, &e), -EAGAIN);

    bool torn = false; /* rule V1: it is taken as it is, if asked for */
    assert_int_equal(push_as_it_is(a->push, fd, &n, (struct bytes){ 0 }, &t, &torn, NULL), 0);
    assert_true(torn && n.size == data.len);
    push_ticket_free(t);
    finish(a, NULL); /* and the run goes on */
}

static int stop(void *arg, uint64_t files, uint64_t bytes, uint64_t sent)
{
    return 1;
}

static void progress_can_stop_the_run(void **state)
{
    struct area *a = *state;
    struct error e = { 0 };
    struct push_ticket *t;
    struct push_config c = config(a);
    c.progress = stop;
    begin(a, c);
    struct entry n = { .size = 1 };
    _cleanup_close_ int fd = file_with(a, "file", "x", 1);
    assert_int_equal(push_content(a->push, fd, &n, (struct bytes){ 0 }, &t, &e), -ECANCELED);
    assert_int_equal(e.kind, ERROR_INTERRUPTED);
}

static unsigned puts_of(struct area *a)
{
    struct twin_counts counts;
    twin_store_counts(a->twin, &counts);
    return counts.puts;
}

/* Some packs' worth of content that cannot be compressed. */
static void send_much(struct area *a, unsigned mib, struct entry *n)
{
    _cleanup_(buf_release) struct buf data = { 0 };
    random_bytes(&data, mib * MIB, 4);
    redeem(a, send_bytes(a, data.data, data.len, "big"), n);
}

/* Fails if packs are not journalled as the store has them, or if their footers are not believed. */
static void packs_of_a_killed_run_are_not_sent_again(void **state)
{
    struct area *a = *state;
    struct entry n = { 0 }, again = { 0 };
    struct push_config c = config(a);
    struct push_stats stats;
    struct locator page, same;
    struct bytes raw = { (const uint8_t *)"a page", 6 };
    c.journal = a->journal;
    begin(a, c);
    assert_int_equal(push_meta(a->push, FRAME_PAGE, raw, &page, NULL), 0);
    send_much(a, 40, &n);
    finish(a, &stats);
    assert_int_equal(puts_of(a), stats.packs);
    twin_store_reset(a->twin);

    begin(a, c); /* as after a kill: nothing but store and journal is left */
    assert_int_equal(push_meta(a->push, FRAME_PAGE, raw, &same, NULL), 0);
    assert_memory_equal(&page, &same, sizeof(page));
    send_much(a, 40, &again);
    _cleanup_free_ struct snapshot_pack *packs = NULL;
    size_t count;
    assert_int_equal(push_finish(a->push, &packs, &count, &stats, NULL), 0);
    assert_int_equal(count, 1);
    assert_true(pack_equal(&packs[0].name, &page.pack));
    assert_int_equal(stats.new_bytes, 0);
    assert_int_equal(puts_of(a), 0);
    entry_release(&n);
    entry_release(&again);
}

static void a_journalled_pack_that_is_gone_is_sent_anew(void **state)
{
    struct area *a = *state;
    struct entry n = { 0 }, again = { 0 };
    struct push_config c = config(a);
    struct push_stats stats;
    char key[STORE_KEY_MAX];
    c.journal = a->journal;
    begin(a, c);
    redeem(a, send_bytes(a, "content", 7, "a"), &n);
    finish(a, NULL);
    pack_key("demo", &n.extents->frame.pack, key);
    assert_int_equal(store_remove(twin_store_get(a->twin), key, NULL), 0);
    begin(a, c);
    redeem(a, send_bytes(a, "content", 7, "a"), &again);
    finish(a, &stats);
    assert_int_equal(stats.new_bytes, 7);
    expect_content(a, &again, "content", 7);
    entry_release(&n);
    entry_release(&again);
}

static void a_refused_put_stops_the_run_and_stays_the_answer(void **state)
{
    struct area *a = *state;
    struct error e = { 0 };
    struct entry n = { 0 };
    struct snapshot_pack *packs;
    size_t count;
    twin_store_rule(a->twin, &(struct twin_rule){ "P", "", TWIN_FAIL, -EACCES, -1 });
    begin(a, config(a));
    send_much(a, 12, &n);
    assert_int_equal(push_finish(a->push, &packs, &count, NULL, &e), -EACCES);
    struct push_ticket *t;
    _cleanup_close_ int fd = file_with(a, "file", "x", 1);
    assert_int_equal(push_content(a->push, fd, &(struct entry){ .size = 1 }, (struct bytes){ 0 }, &t, &e), -EACCES);
    assert_int_equal(push_close_frames(a->push, &e), -EACCES);
    entry_release(&n);
}

/* Fails without the stat: the pack would be sent again, or the run would end. */
static void a_lost_answer_is_settled_by_a_stat(void **state)
{
    struct area *a = *state;
    struct entry n = { 0 };
    twin_store_rule(a->twin, &(struct twin_rule){ "P", "", TWIN_DROP_AFTER, 0, 1 });
    begin(a, config(a));
    redeem(a, send_bytes(a, "content", 7, "a"), &n);
    finish(a, NULL);
    assert_int_equal(puts_of(a), 1);
    expect_content(a, &n, "content", 7);
    entry_release(&n);
}

static void a_store_that_was_away_for_a_moment_gets_the_pack(void **state)
{
    struct area *a = *state;
    struct entry n = { 0 };
    twin_store_rule(a->twin, &(struct twin_rule){ "PS", "", TWIN_FAIL, -EHOSTUNREACH, 2 });
    begin(a, config(a));
    redeem(a, send_bytes(a, "content", 7, "a"), &n);
    finish(a, NULL);
    expect_content(a, &n, "content", 7);
    entry_release(&n);
}

/* Fails without the LIST at the end. */
static void a_pack_that_vanishes_before_the_end_is_missed(void **state)
{
    struct area *a = *state;
    struct error e = { 0 };
    struct entry n = { 0 };
    struct push_config c = config(a);
    struct snapshot_pack *packs;
    size_t count;
    char key[STORE_KEY_MAX];
    c.cache = a->cache;
    begin(a, c);
    redeem(a, send_bytes(a, "content", 7, "a"), &n);
    finish(a, NULL);
    pack_key("demo", &n.extents->frame.pack, key);

    begin(a, c);
    entry_release(&n);
    redeem(a, send_bytes(a, "content", 7, "a"), &n); /* known by the cache */
    assert_int_equal(store_remove(twin_store_get(a->twin), key, NULL), 0);
    assert_int_equal(push_finish(a->push, &packs, &count, NULL, &e), -ENODATA);
    assert_int_equal(e.kind, ERROR_STORE);
    entry_release(&n);
}

static void metadata_lies_in_packs_of_its_own_that_are_told(void **state)
{
    struct area *a = *state;
    struct locator page, same, links;
    struct entry n = { 0 };
    struct push_stats stats;
    _cleanup_free_ struct snapshot_pack *packs = NULL;
    _cleanup_(buf_release) struct buf raw = { 0 };
    size_t count = 0;
    begin(a, config(a));
    assert_int_equal(push_meta(a->push, FRAME_PAGE, (struct bytes){ (const uint8_t *)"page", 4 }, &page, NULL), 0);
    assert_int_equal(push_meta(a->push, FRAME_PAGE, (struct bytes){ (const uint8_t *)"page", 4 }, &same, NULL), 0);
    assert_int_equal(push_meta(a->push, FRAME_LINKS, (struct bytes){ (const uint8_t *)"page", 4 }, &links, NULL), 0);
    redeem(a, send_bytes(a, "page", 4, "a"), &n);
    assert_int_equal(push_finish(a->push, &packs, &count, &stats, NULL), 0);
    assert_memory_equal(&page, &same, sizeof(page));
    assert_memory_not_equal(&page, &links, sizeof(page)); /* another kind is another frame */
    assert_int_equal(count, 1);
    assert_true(pack_equal(&packs[0].name, &page.pack));
    assert_false(pack_equal(&packs[0].name, &n.extents->frame.pack));
    assert_int_equal(packs[0].size, 4096);
    fetch(a, &page, FRAME_PAGE, &raw);
    assert_memory_equal(raw.data, "page", 4);
    expect_content(a, &n, "page", 4);
    entry_release(&n);
}

/* A park of 20 changed files: at most 200 KB beyond what changed, for packs, footers and padding together. */
static void a_small_run_costs_little_beyond_its_bytes(void **state)
{
    struct area *a = *state;
    struct push_stats stats;
    struct locator l;
    _cleanup_(buf_release) struct buf data = { 0 };
    begin(a, config(a));
    for (uint8_t i = 0; i < 20; i++) {
        struct entry n = { 0 };
        char directory[] = { (char)('a' + i / 4), 0 };
        random_bytes(&data, 5000, i);
        redeem(a, send_bytes(a, data.data, data.len, directory), &n);
        random_bytes(&data, 3000, (uint8_t)(100 + i));
        assert_int_equal(push_meta(a->push, FRAME_PAGE, buf_bytes(&data), &l, NULL), 0);
        entry_release(&n);
    }
    finish(a, &stats);
    assert_int_equal(stats.packs, 2);
    assert_true(stats.sent_bytes < 20 * (5000 + 3000) + 30000);
}

/* Content is let go as it is sent. Fails if queues or packs are not bounded. */
static void memory_stays_bounded_whatever_is_sent(void **state)
{
    struct area *a = *state;
    struct rusage before, after;
    struct push_config c = config(a);
    char url[128];
    struct store *file;
    snprintf(url, sizeof(url), "file://%s/store", a->root);
    assert_int_equal(store_open(&(struct store_config){ .url = url }, &file, NULL), 0);
    assert_int_equal(store_create(file, NULL), 0);
    c.store = file;
    begin(a, c);
    getrusage(RUSAGE_SELF, &before);
    _cleanup_(buf_release) struct buf data = { 0 };
    for (uint8_t i = 0; i < 240; i++) {
        struct entry n = { 0 };
        random_bytes(&data, 1 * MIB, i);
        redeem(a, send_bytes(a, data.data, data.len, "a"), &n);
        entry_release(&n);
    }
    finish(a, NULL);
    getrusage(RUSAGE_SELF, &after);
#ifndef __SANITIZE_ADDRESS__ /* it keeps what was freed for a while */
    assert_true(after.ru_maxrss - before.ru_maxrss < 150 * 1024);
#endif
    push_free(mem_steal(a->push));
    store_close(file);
}

#define IN_AREA(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_AREA(memory_stays_bounded_whatever_is_sent), /* first, so that no other test has been large before */
        IN_AREA(small_files_of_one_directory_share_a_frame_and_come_back),
        IN_AREA(a_big_file_is_cut_by_content_and_listed_in_frames_of_its_own),
        IN_AREA(equal_content_is_sent_once_in_a_run_and_not_again_against_what_is_known),
        IN_AREA(two_small_equal_files_in_one_open_frame_are_one),
        IN_AREA(sent_packs_are_in_the_cache_frame_by_frame),
        IN_AREA(holes_are_not_stored),
        IN_AREA(a_file_that_changes_while_it_is_read_is_said_to_have_changed),
        IN_AREA(progress_can_stop_the_run),
        IN_AREA(packs_of_a_killed_run_are_not_sent_again),
        IN_AREA(a_journalled_pack_that_is_gone_is_sent_anew),
        IN_AREA(a_refused_put_stops_the_run_and_stays_the_answer),
        IN_AREA(a_lost_answer_is_settled_by_a_stat),
        IN_AREA(a_store_that_was_away_for_a_moment_gets_the_pack),
        IN_AREA(a_pack_that_vanishes_before_the_end_is_missed),
        IN_AREA(metadata_lies_in_packs_of_its_own_that_are_told),
        IN_AREA(a_small_run_costs_little_beyond_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
