/* SPDX-License-Identifier: MIT */
#include "sync/prune.h"

#include "index/base/mem.h"
#include "sync/pack.h"
#include "sync/snapshots.h"
#include "tests/unit/twin-store.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define HOUR (3600 * 1000000000LL)
#define DAY (24 * HOUR)

static const struct keys keys = { .master = { 1 }, .store_id = { 2 } };
static const struct seal_context context = { &keys, "demo" };

struct side { /* one node */
    char path[64];
    int dir;
    struct node node;
    struct journal *journal;
    struct box_record record;
    struct lease lease;
};

static struct twin_store *twin;
static struct side a, b;

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static void side_make(struct side *s, const char *name)
{
    *s = (struct side){ .path = "/tmp/test-prune.XXXXXX", .node = { .state = { (uint8_t)name[0] } } };
    s->dir = open(mkdtemp(s->path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    strcpy(s->node.name, name);
    assert_int_equal(journal_open(s->dir, s->path, true, &s->journal, NULL), 0);
    assert_int_equal(journal_load(s->journal, &s->record, NULL), 0);
    s->lease = (struct lease){ .store = twin_store_get(twin),
                               .seal = context,
                               .journal = s->journal,
                               .record = &s->record,
                               .box_dir = s->dir,
                               .node = &s->node,
                               .ttl_s = 7200 };
}

static void side_remove(struct side *s)
{
    journal_close(s->journal);
    box_record_release(&s->record);
    close(s->dir);
    nftw(s->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct snapshot_id id(uint8_t n)
{
    return (struct snapshot_id){ { n } };
}

static struct writer writer(uint8_t n)
{
    return (struct writer){ { 'a' }, { n } };
}

static struct pack_name pack(uint8_t w, uint8_t n)
{
    return (struct pack_name){ .writer = writer(w), .id = { n } };
}

static void put_pack(uint8_t w, uint8_t n)
{
    char key[STORE_KEY_MAX];
    struct pack_name p = pack(w, n);
    pack_key("demo", &p, key);
    twin_store_set(twin, key, (struct bytes){ (const uint8_t *)"pack", 4 });
}

/* A snapshot whose only pack is its own number's, of writer w. Its tree is empty: the access list refers to the pack.
 */
static void put_snapshot(uint8_t n, uint8_t parent, uint8_t w)
{
    char key[STORE_KEY_MAX];
    struct locator at = { .pack = pack(w, n), .sealed = 100, .raw = 100 };
    struct snapshot s = { .id = id(n), .parent = id(parent), .epoch = 1, .meta = (char *)(uintptr_t) "{}" };
    _cleanup_(buf_release) struct buf sealed = { 0 };
    strcpy(s.box, "demo");
    strcpy(s.node, "a");
    s.root.empty = true;
    s.access = (struct snapshot_frames){ &at, 1 };
    snapshots_seal(&s, &context, &sealed);
    snapshots_key("demo", &s.id, key);
    twin_store_set(twin, key, buf_bytes(&sealed));
    put_pack(w, n);
}

static bool exists(const char *key)
{
    struct store_info info;
    return store_stat(twin_store_get(twin), key, &info, NULL) == 0;
}

static bool has_snapshot(uint8_t n)
{
    char key[STORE_KEY_MAX];
    struct snapshot_id i = id(n);
    snapshots_key("demo", &i, key);
    return exists(key);
}

static bool has_pack(uint8_t w, uint8_t n)
{
    char key[STORE_KEY_MAX];
    struct pack_name p = pack(w, n);
    pack_key("demo", &p, key);
    return exists(key);
}

/* Three snapshots of one hour, the third is the root; the box is free. */
static int setup(void **state)
{
    (void)state;
    twin = twin_store_new();
    twin_store_move_clock(twin, 1000 * DAY);
    side_make(&a, "a");
    side_make(&b, "b");
    memset(a.record.incarnation, 7, sizeof(a.record.incarnation));
    for (uint8_t n = 1; n <= 3; n++)
        put_snapshot(n, (uint8_t)(n - 1), 1);
    struct lease_commit first = { .root = id(3), .pin = "", .path = "/root/demo", .then = BOX_MOUNTED };
    int r = lease_create(&a.lease, &first, NULL);
    return r < 0 ? r : lease_free(&a.lease, BOX_NONE, NULL);
}

static int teardown(void **state)
{
    (void)state;
    side_remove(&a);
    side_remove(&b);
    twin_store_free(twin);
    return 0;
}

static int prune_with(struct side *s, struct retention_policy policy, struct error *e)
{
    struct prune_result result;
    struct prune_config c = { .lease = &s->lease, .policy = policy };
    int r = prune_run(&c, &result, e);
    if (r == 0)
        prune_result_release(&result);
    return r;
}

static int prune(struct side *s)
{
    struct error e = { 0 };
    int r = prune_with(s, (struct retention_policy){ 1, 1, 1 }, &e);
    if (r < 0)
        print_message("%s\n", e.text);
    return r;
}

static void read_head(struct head *h)
{
    assert_int_equal(head_read(twin_store_get(twin), &context, h, NULL), 0);
}

static bool is_condemned(uint8_t n)
{
    _cleanup_(head_releasep) struct head h = { 0 };
    _cleanup_(condemned_release) struct condemned c = { 0 };
    struct snapshot_id i = id(n);
    read_head(&h);
    assert_int_equal(condemned_get(twin_store_get(twin), &context, h.condemned, &c, NULL), 0);
    return condemned_find_snapshot(&c, &i) != NULL;
}

static void expect_state(enum head_state state)
{
    _cleanup_(head_releasep) struct head h = { 0 };
    read_head(&h);
    assert_int_equal(h.state, state);
}

static void what_is_unneeded_is_condemned_and_deleted_a_day_later(void **state)
{
    (void)state;
    twin_store_move_clock(twin, 25 * HOUR);
    assert_int_equal(prune(&a), 0);
    assert_true(is_condemned(1) && is_condemned(2) && !is_condemned(3));
    assert_true(has_snapshot(1) && has_pack(1, 1));
    twin_store_move_clock(twin, 24 * HOUR - HOUR / 60);
    assert_int_equal(prune(&b), 0);
    assert_true(has_snapshot(1) && has_pack(1, 1));
    twin_store_move_clock(twin, HOUR);
    assert_int_equal(prune(&b), 0);
    assert_false(has_snapshot(1) || has_pack(1, 1) || has_snapshot(2) || has_pack(1, 2));
    assert_true(has_snapshot(3) && has_pack(1, 3));
    expect_state(HEAD_FREE);
}

static void young_packs_and_those_of_a_living_writer_are_not_condemned(void **state)
{
    (void)state;
    struct store *s = twin_store_get(twin);
    struct writer w = writer(2);
    struct snapshot_id none = { { 0 } };
    put_pack(2, 50); /* being sent under a hold, for days */
    assert_int_equal(hold_put(s, &context, &w, &b.node, &none, NULL), 0);
    for (int day = 0; day < 4; day++) {
        twin_store_move_clock(twin, DAY);
        put_pack(3, (uint8_t)(60 + day)); /* younger than a day */
        assert_int_equal(prune(&a), 0);
        assert_true(has_pack(2, 50));
        assert_true(has_pack(3, (uint8_t)(60 + day)));
    }
    assert_false(has_pack(3, 60)); /* condemned on the second day, deleted on the third */
    assert_int_equal(hold_remove(s, "demo", &w, NULL), 0);
    assert_int_equal(prune(&a), 0);
    twin_store_move_clock(twin, DAY);
    assert_int_equal(prune(&a), 0);
    assert_false(has_pack(2, 50));
}

static void a_held_snapshot_and_a_fork_s_stay_with_their_packs(void **state)
{
    (void)state;
    struct store *s = twin_store_get(twin);
    struct writer w = writer(9);
    struct snapshot_id held = id(1);
    struct fork f = { .snapshot = id(2), .incarnation = { 7 }, .writer = writer(8) };
    fork_name_new(&f, &b.node, 1);
    assert_int_equal(hold_put(s, &context, &w, &b.node, &held, NULL), 0);
    assert_int_equal(fork_put(s, &context, &f, NULL), 0);
    put_pack(8, 70); /* the fork's writer is gone, but the fork names it */
    for (int day = 0; day < 21; day++) {
        twin_store_move_clock(twin, DAY);
        assert_int_equal(prune(&a), 0);
    }
    assert_true(has_snapshot(1) && has_pack(1, 1) && has_snapshot(2) && has_pack(1, 2) && has_pack(8, 70));
    assert_int_equal(fork_remove(s, "demo", f.name, NULL), 0);
    for (int day = 0; day < 2; day++) {
        assert_int_equal(prune(&a), 0);
        twin_store_move_clock(twin, DAY);
    }
    assert_int_equal(prune(&a), 0);
    assert_false(has_snapshot(2) || has_pack(1, 2) || has_pack(8, 70));
    assert_true(has_snapshot(1) && has_pack(1, 1));
}

static void *prune_in_thread(void *arg)
{
    return (void *)(intptr_t)prune(arg);
}

/*
 * FORMAT.md, attack 12: the hold comes after prune has listed the holds, and its maker reads the head before the list
 * is named. Fails if what is condemned is deleted without a second marking.
 */
static void a_hold_that_races_with_the_list_is_seen_by_the_second_marking(void **state)
{
    (void)state;
    struct store *s = twin_store_get(twin);
    struct writer w = writer(9);
    struct snapshot_id held = id(1);
    _cleanup_(head_releasep) struct head h = { 0 };
    pthread_t t;
    void *result;
    twin_store_move_clock(twin, 25 * HOUR);
    twin_store_hold(twin, "/snap/"); /* read after the holds were listed */
    pthread_create(&t, NULL, prune_in_thread, &a);
    assert_true(twin_store_wait_held(twin, 1));
    assert_int_equal(hold_put(s, &context, &w, &b.node, &held, NULL), 0);
    read_head(&h);
    assert_string_equal(h.condemned, ""); /* so b goes on, and uses the snapshot for a week */
    twin_store_release(twin);
    pthread_join(t, &result);
    assert_int_equal((intptr_t)result, 0);
    assert_true(is_condemned(1));
    for (int day = 0; day < 7; day++) {
        twin_store_move_clock(twin, DAY);
        assert_int_equal(prune(&a), 0);
        assert_true(has_snapshot(1) && has_pack(1, 1));
        assert_true(is_condemned(1)); /* nobody else may begin to use it */
    }
    assert_int_equal(hold_remove(s, "demo", &w, NULL), 0);
    assert_int_equal(prune(&a), 0);
    assert_false(has_snapshot(1) || has_pack(1, 1));
}

/* Attack 13 needs this: a prune that is suspended before its deletes may go on whatever policies say meanwhile. */
static void what_is_condemned_stays_so_under_a_wider_policy(void **state)
{
    (void)state;
    twin_store_move_clock(twin, 25 * HOUR);
    assert_int_equal(prune(&a), 0);
    twin_store_move_clock(twin, HOUR);
    assert_int_equal(prune_with(&b, (struct retention_policy){ 100, 100, 100 }, NULL), 0);
    assert_true(is_condemned(1) && is_condemned(2));
}

/* Fails without the look at the head before each batch. */
static void who_takes_the_box_meanwhile_ends_the_prune(void **state)
{
    (void)state;
    _cleanup_(head_releasep) struct head h = { 0 };
    pthread_t t;
    void *result;
    twin_store_move_clock(twin, 25 * HOUR);
    assert_int_equal(prune(&a), 0);
    twin_store_move_clock(twin, 25 * HOUR);
    twin_store_hold(twin, "/snap/");
    pthread_create(&t, NULL, prune_in_thread, &a);
    assert_true(twin_store_wait_held(twin, 1));
    struct lease_take take = { .then = BOX_ACQUIRED };
    assert_int_equal(lease_acquire(&b.lease, &h, &take, NULL), 0); /* `pruning` may be taken at once */
    twin_store_release(twin);
    pthread_join(t, &result);
    assert_int_equal((intptr_t)result, -ESTALE);
    assert_true(has_snapshot(1) && has_pack(1, 1));
    expect_state(HEAD_HELD);
}

static void a_box_held_elsewhere_is_left_alone_and_the_holder_s_stays_held(void **state)
{
    (void)state;
    struct error e = { 0 };
    _cleanup_(head_releasep) struct head h = { 0 };
    struct twin_counts n;
    struct lease_take take = { .then = BOX_ACQUIRED };
    assert_int_equal(lease_acquire(&b.lease, &h, &take, NULL), 0);
    twin_store_move_clock(twin, 50 * DAY); /* expired, too */
    twin_store_reset(twin);
    assert_int_equal(prune_with(&a, RETENTION_DEFAULT, &e), -EBUSY);
    assert_int_equal(e.kind, ERROR_HELD);
    twin_store_counts(twin, &n);
    assert_int_equal(n.puts + n.removes, 0);
    assert_int_equal(prune(&b), 0);
    expect_state(HEAD_HELD);
    assert_true(is_condemned(1));
}

static void a_box_with_a_damaged_hold_is_left_alone(void **state)
{
    (void)state;
    struct error e = { 0 };
    char key[STORE_KEY_MAX];
    struct writer w = writer(9);
    hold_key("demo", &w, key);
    twin_store_set(twin, key, (struct bytes){ (const uint8_t *)"rot", 3 });
    twin_store_move_clock(twin, 50 * DAY);
    assert_int_equal(prune_with(&a, RETENTION_DEFAULT, &e), -EBADMSG);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_non_null(strstr(e.text, key));
    assert_false(is_condemned(1));
    expect_state(HEAD_FREE);
}

/* A list that a killed prune left is litter; one that the head names is not, however old. */
static void only_lists_that_no_head_names_are_removed(void **state)
{
    (void)state;
    static const char orphan[] = "box/demo/condemned/0123456789abcdef0123456789abcdef";
    struct writer w = writer(9);
    struct snapshot_id held = id(1);
    twin_store_set(twin, orphan, (struct bytes){ (const uint8_t *)"x", 1 });
    twin_store_move_clock(twin, 25 * HOUR);
    assert_int_equal(prune(&a), 0);
    assert_false(exists(orphan));
    assert_int_equal(hold_put(twin_store_get(twin), &context, &w, &b.node, &held, NULL), 0);
    twin_store_move_clock(twin, 90 * DAY);
    assert_int_equal(prune(&a), 0);
    twin_store_move_clock(twin, 90 * DAY);
    assert_int_equal(prune(&a), 0);
    assert_true(is_condemned(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
        TEST(what_is_unneeded_is_condemned_and_deleted_a_day_later),
        TEST(young_packs_and_those_of_a_living_writer_are_not_condemned),
        TEST(a_held_snapshot_and_a_fork_s_stay_with_their_packs),
        TEST(a_hold_that_races_with_the_list_is_seen_by_the_second_marking),
        TEST(what_is_condemned_stays_so_under_a_wider_policy),
        TEST(who_takes_the_box_meanwhile_ends_the_prune),
        TEST(a_box_held_elsewhere_is_left_alone_and_the_holder_s_stays_held),
        TEST(a_box_with_a_damaged_hold_is_left_alone),
        TEST(only_lists_that_no_head_names_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
