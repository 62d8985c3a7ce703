/* SPDX-License-Identifier: MIT */
#include "sync/check.h"

#include "index/base/mem.h"
#include "index/page.h"
#include "sync/fetch.h"
#include "sync/pack.h"
#include "sync/push.h"
#include "sync/snapshots.h"
#include "tests/unit/twin-store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/*
 * Trees of two leaves of two entries each, written with the box's own keys: every page opens, and it is their parents
 * that are right or wrong about them.
 */

static const struct keys keys = { .master = { 1 }, .store_id = { 2 } };
static const struct seal_context context = { &keys, "demo" };

static struct twin_store *twin;
static struct push *push;
static struct {
    size_t count;
    char object[STORE_KEY_MAX], what[128], path[64];
    uint8_t snapshot;
    uint64_t entries;
} found;

static void key_of(const char *path, struct buf *ret)
{
    assert_int_equal(key_from_path((struct bytes){ (const uint8_t *)path, strlen(path) }, ret), 0);
}

static struct page_ref send_page(struct page_builder *b)
{
    _cleanup_(buf_release) struct buf bytes = { 0 };
    struct page_ref ret = { .count = b->total };
    page_builder_put(b, &bytes);
    page_builder_release(b);
    assert_int_equal(push_meta(push, FRAME_PAGE, buf_bytes(&bytes), &ret.frame, NULL), 0);
    return ret;
}

static struct page_ref send_leaf(const char *first, const char *last)
{
    const char *paths[] = { first, last };
    struct page_builder b = { 0 };
    _cleanup_(buf_release) struct buf key = { 0 };
    for (size_t i = 0; i < 2; i++) {
        key_of(paths[i], &key);
        page_builder_entry(&b, buf_bytes(&key), &(struct entry){ .type = ENTRY_FIFO, .ino = (uint32_t)i + 1 });
    }
    return send_page(&b);
}

/* A parent that says of two leaves that they end at these paths. */
static struct page_ref send_root(const struct page_ref *left, const char *left_end, const struct page_ref *right,
                                 const char *right_end)
{
    struct page_builder b = { .level = 1 };
    _cleanup_(buf_release) struct buf key = { 0 };
    key_of(left_end, &key);
    page_builder_child(&b, buf_bytes(&key), left);
    key_of(right_end, &key);
    page_builder_child(&b, buf_bytes(&key), right);
    return send_page(&b);
}

static void put_snapshot(uint8_t n, const struct page_ref *root)
{
    char key[STORE_KEY_MAX];
    _cleanup_(buf_release) struct buf sealed = { 0 };
    struct snapshot s = { .id = { { n } }, .box = "demo", .node = "a", .epoch = 1, .meta = (char *)(uintptr_t) "{}" };
    s.root = (struct tree_root){ .page = *root, .depth = 1 };
    snapshots_seal(&s, &context, &sealed);
    snapshots_key("demo", &s.id, key);
    twin_store_set(twin, key, buf_bytes(&sealed));
    twin_store_move_clock(twin, 1000000000); /* check goes from the oldest to the newest */
}

/* The store has what was sent, and a head over snapshot 1. */
static void finish(void)
{
    _cleanup_free_ struct snapshot_pack *packs = NULL;
    size_t count = 0;
    struct push_stats stats;
    struct head h = { .box = "demo",
                      .incarnation = { 7 },
                      .epoch = 1,
                      .seq = 1,
                      .state = HEAD_FREE,
                      .node = "a",
                      .path = (char *)(uintptr_t) "/root/demo",
                      .ttl_s = 60,
                      .root = { { 1 } },
                      .write = { { 9 } } };
    assert_int_equal(push_finish(push, &packs, &count, &stats, NULL), 0);
    assert_int_equal(head_write(twin_store_get(twin), &context, &h, NULL), 0);
}

static void see(void *arg, const struct check_finding *f)
{
    (void)arg;
    found.count++;
    snprintf(found.object, sizeof(found.object), "%s", f->object);
    snprintf(found.what, sizeof(found.what), "%s", f->what);
    snprintf(found.path, sizeof(found.path), "%s", f->path ? f->path : "");
    found.snapshot = f->snapshot ? f->snapshot->b[0] : 0;
    found.entries = f->entries;
}

static void check(void)
{
    _cleanup_(fetch_freep) struct fetch *fetch = NULL;
    struct fetch_config f = { .store = twin_store_get(twin), .seal = context };
    struct check_result result;
    memset(&found, 0, sizeof(found));
    assert_int_equal(fetch_new(&f, &fetch, NULL), 0);
    struct check_config c = { .store = f.store, .seal = context, .source = fetch_source(fetch), .found = see };
    assert_int_equal(check_run(&c, &result, NULL), 0);
    assert_int_equal(result.findings, found.count);
}

static int setup(void **state)
{
    (void)state;
    twin = twin_store_new();
    struct push_config c = {
        .store = twin_store_get(twin), .seal = context, .writer = { .state = { 'a' }, .rand = { 1 } }, .threads = 1
    };
    return push_new(&c, &push, NULL);
}

static int teardown(void **state)
{
    (void)state;
    push_free(push);
    twin_store_free(twin);
    return 0;
}

static void what_is_right_is_found_right(void **state)
{
    (void)state;
    struct page_ref left = send_leaf("project/a", "project/b"), right = send_leaf("project/c", "project/d");
    struct page_ref root = send_root(&left, "project/b", &right, "project/d");
    put_snapshot(1, &root);
    put_snapshot(2, &root);
    finish();
    check();
    assert_int_equal(found.count, 0);
}

static void expect_misplaced(uint8_t snapshot, const struct page_ref *page, const char *path, const char *why)
{
    char object[STORE_KEY_MAX];
    pack_key("demo", &page->frame.pack, object);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.object, object);
    assert_int_equal(found.snapshot, snapshot);
    assert_string_equal(found.path, path);
    assert_int_equal(found.entries, 2);
    if (!strstr(found.what, "another one's place") || !strstr(found.what, why))
        fail_msg("%s", found.what);
}

/* A reader refuses the page (index/tree). Fails if check compares only levels and numbers of entries. */
static void a_page_that_ends_elsewhere_is_found(void **state)
{
    (void)state;
    struct page_ref left = send_leaf("project/a", "project/b"), other = send_leaf("project/c", "project/e");
    struct page_ref root = send_root(&left, "project/b", &other, "project/d");
    put_snapshot(1, &root);
    finish();
    check();
    expect_misplaced(1, &other, "project/d", "its keys end elsewhere");
}

static void a_page_that_begins_in_its_neighbour_is_found(void **state)
{
    (void)state;
    struct page_ref left = send_leaf("project/a", "project/b"), other = send_leaf("project/aa", "project/d");
    struct page_ref root = send_root(&left, "project/b", &other, "project/d");
    put_snapshot(1, &root);
    finish();
    check();
    expect_misplaced(1, &other, "project/d", "its keys begin too early");
}

/* Each of the pages is right where an older snapshot has it, and was looked at there. */
static void a_page_that_is_right_in_another_snapshot_is_found(void **state)
{
    (void)state;
    struct page_ref left = send_leaf("project/a", "project/b"), right = send_leaf("project/c", "project/d");
    struct page_ref good = send_root(&left, "project/b", &right, "project/d");
    struct page_ref bad = send_root(&left, "project/b", &left, "project/d");
    put_snapshot(1, &good);
    put_snapshot(2, &bad);
    finish();
    check();
    expect_misplaced(2, &left, "project/d", "its keys begin too early");
}

/* Fails if what is wrong with the place is remembered of the page. */
static void a_page_in_a_wrong_place_is_right_in_its_own(void **state)
{
    (void)state;
    struct page_ref left = send_leaf("project/a", "project/b"), right = send_leaf("project/c", "project/d");
    struct page_ref bad = send_root(&left, "project/b", &right, "project/e");
    struct page_ref good = send_root(&left, "project/b", &right, "project/d");
    put_snapshot(1, &bad);
    put_snapshot(2, &good);
    finish();
    check();
    expect_misplaced(1, &right, "project/e", "its keys end elsewhere");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_right_is_found_right, setup, teardown),
        cmocka_unit_test_setup_teardown(a_page_that_ends_elsewhere_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(a_page_that_begins_in_its_neighbour_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(a_page_that_is_right_in_another_snapshot_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(a_page_in_a_wrong_place_is_right_in_its_own, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
