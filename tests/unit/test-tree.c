/* SPDX-License-Identifier: MIT */
#include "index/tree.h"

#include "index/base/mem.h"
#include "tests/unit/twin.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define DIRECTORIES 60
#define FILES 30 /* in each */

struct world {
    struct twin *twin;
    struct tree_root root;
    struct tree *tree;
};

static struct bytes text(const char *s)
{
    return (struct bytes){ (const uint8_t *)s, strlen(s) };
}

static int setup(void **state)
{
    static char paths[DIRECTORIES * FILES + 2][32];
    static struct twin_file files[DIRECTORIES * FILES + 2];
    struct world *w = mem_new(1, sizeof(*w));
    size_t n = 0;
    for (unsigned d = 0; d < DIRECTORIES; d++)
        for (unsigned f = 0; f < FILES; f++, n++) {
            snprintf(paths[n], sizeof(paths[n]), "project/d%02u/f%02u", d, f);
            files[n] = (struct twin_file){ .path = paths[n], .content = paths[n] };
        }
    files[n++] = (struct twin_file){ .path = "home/link", .type = ENTRY_LINK, .target = "project/d00/f00" };
    files[n++] = (struct twin_file){ .path = "home/lost", .type = ENTRY_LINK, .target = "project/d00/none" };
    w->twin = twin_new();
    w->root = twin_tree(w->twin, files, n);
    w->tree = twin_open(w->twin, &w->root);
    twin_reset(w->twin);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    tree_close(w->tree);
    twin_free(w->twin);
    free(w);
    return 0;
}

static void key_of(const char *path, struct buf *k)
{
    assert_int_equal(key_from_path(text(path), k), 0);
}

/* Rule O5: positions count all entries in key order, and lead back to them. */
static void an_entry_is_found_by_key_and_by_position(void **state)
{
    struct world *w = *state;
    _cleanup_(buf_release) struct buf key = { 0 }, again = { 0 };
    uint64_t count = tree_count(w->tree);
    assert_int_equal(count, DIRECTORIES * FILES + DIRECTORIES + 2 + 2);
    assert_true(w->root.depth >= 1);
    for (uint64_t i = 0; i < count; i++) {
        _cleanup_(entry_release) struct entry a = { 0 }, b = { 0 };
        uint64_t position;
        assert_int_equal(tree_at(w->tree, i, &key, &a, NULL), 0);
        assert_int_equal(tree_find(w->tree, buf_bytes(&key), &position, &b, NULL), 0);
        assert_int_equal(position, i);
        assert_true(entry_same(&a, &b));
        if (i > 0)
            assert_true(bytes_compare(buf_bytes(&again), buf_bytes(&key)) < 0);
        buf_clear(&again);
        buf_add(&again, key.data, key.len);
    }
    struct error e = { 0 };
    assert_int_equal(tree_at(w->tree, count, NULL, NULL, &e), -ENOENT);
    static const char *const absent[] = { "a", "zz", "project/d00/f000", "project/d99", "home/a", "project/d59/zz/z" };
    for (size_t i = 0; i < sizeof(absent) / sizeof(*absent); i++) {
        key_of(absent[i], &key);
        assert_int_equal(tree_find(w->tree, buf_bytes(&key), NULL, NULL, &e), -ENOENT);
        assert_int_equal(e.kind, ERROR_UNKNOWN);
    }
}

static void a_link_leads_to_its_first_name_or_is_damage(void **state)
{
    struct world *w = *state;
    _cleanup_(buf_release) struct buf key = { 0 };
    _cleanup_(entry_release) struct entry n = { 0 }, first = { 0 }, lost = { 0 };
    struct error e = { 0 };
    key_of("home/link", &key);
    assert_int_equal(tree_find(w->tree, buf_bytes(&key), NULL, &n, &e), 0);
    assert_int_equal(n.type, ENTRY_LINK);
    assert_int_equal(tree_resolve(w->tree, &n, &e), 0);
    key_of("project/d00/f00", &key);
    assert_int_equal(tree_find(w->tree, buf_bytes(&key), NULL, &first, &e), 0);
    assert_true(entry_same(&n, &first));
    assert_int_equal(n.ino, first.ino);
    key_of("home/lost", &key);
    assert_int_equal(tree_find(w->tree, buf_bytes(&key), NULL, &lost, &e), 0);
    assert_int_equal(tree_resolve(w->tree, &lost, &e), -EBADMSG);
    assert_int_equal(e.kind, ERROR_DAMAGED);
}

struct seen {
    struct buf paths;
    unsigned count, stop_after;
    uint64_t first;
};

static int see(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    struct seen *s = arg;
    _cleanup_(buf_release) struct buf path = { 0 };
    assert_int_equal(key_to_path(key, &path), 0);
    if (s->count == 0)
        s->first = position;
    assert_int_equal(position, s->first + s->count);
    buf_printf(&s->paths, "%s ", path.data);
    return ++s->count == s->stop_after ? 42 : 0;
}

static unsigned scan(struct world *w, struct bytes prefix, struct bytes from, struct seen *s, int expected)
{
    buf_clear(&s->paths);
    s->count = 0;
    assert_int_equal(tree_scan(w->tree, prefix, from, see, s, NULL), expected);
    return s->count;
}

static void a_scan_gives_the_run_of_a_prefix_from_anywhere(void **state)
{
    struct world *w = *state;
    struct bytes none = { 0 };
    _cleanup_(buf_release) struct buf prefix = { 0 }, from = { 0 };
    struct seen s = { 0 };
    assert_int_equal(scan(w, none, none, &s, 0), tree_count(w->tree));

    assert_int_equal(key_directory_prefix(text("project/d07"), &prefix), 0);
    assert_int_equal(scan(w, buf_bytes(&prefix), none, &s, 0), FILES);
    assert_non_null(strstr(buf_string(&s.paths), "project/d07/f00 "));
    assert_null(strstr(buf_string(&s.paths), "d08"));
    key_of("project/d07/f27a", &from);
    assert_int_equal(scan(w, buf_bytes(&prefix), buf_bytes(&from), &s, 0), FILES - 28);
    assert_string_equal(buf_string(&s.paths), "project/d07/f28 project/d07/f29 ");
    key_of("project/d08/f00", &from);
    assert_int_equal(scan(w, buf_bytes(&prefix), buf_bytes(&from), &s, 0), 0);

    assert_int_equal(key_subtree_prefix(text("project"), &prefix), 0);
    assert_int_equal(scan(w, buf_bytes(&prefix), none, &s, 0), DIRECTORIES * (FILES + 1));
    assert_int_equal(key_subtree_prefix(text("zebra"), &prefix), 0);
    assert_int_equal(scan(w, buf_bytes(&prefix), none, &s, 0), 0);

    s.stop_after = 40; /* in the second leaf or later */
    assert_int_equal(scan(w, none, none, &s, 42), 40);
    buf_release(&s.paths);
}

/* Fails if a scan looks at its neighbours' leaves: then `ls` of one directory would fetch others. */
static void a_scan_reads_no_pages_outside_its_prefix(void **state)
{
    struct world *w = *state;
    _cleanup_(buf_release) struct buf prefix = { 0 };
    for (unsigned d = 0; d < DIRECTORIES; d++) {
        char dir[32];
        snprintf(dir, sizeof(dir), "project/d%02u", d);
        assert_int_equal(key_directory_prefix(text(dir), &prefix), 0);
        tree_close(w->tree);
        w->tree = twin_open(w->twin, &w->root);

        /* How many leaves hold a part of it, told by the pages' own keys. */
        unsigned leaves = 0, above = 0;
        struct tree_spot spot;
        assert_int_equal(tree_spot_of(w->tree, 0, buf_bytes(&prefix), &spot, NULL), 0);
        for (;;) {
            leaves++;
            if (!key_starts_with((struct bytes){ spot.last, spot.last_len }, buf_bytes(&prefix)))
                break;
            if (tree_spot_at(w->tree, 0, spot.start + spot.ref.count, &spot, NULL) < 0)
                break;
        }
        above = twin_count(w->twin).page_gets; /* inner pages only */
        struct seen s = { 0 };
        assert_int_equal(scan(w, buf_bytes(&prefix), (struct bytes){ 0 }, &s, 0), FILES);
        buf_release(&s.paths);
        assert_int_equal(twin_count(w->twin).page_gets, above + leaves);
        twin_reset(w->twin);
    }
}

static int count_page(void *arg, const struct locator *page, uint8_t level, struct error *e)
{
    unsigned *levels = arg;
    levels[level]++;
    for (unsigned above = level + 1; above <= TREE_DEPTH_MAX; above++)
        levels[TREE_DEPTH_MAX + 1] += levels[above] == 0 && above <= levels[TREE_DEPTH_MAX + 2];
    return 0;
}

static void pages_are_told_from_the_top_and_warmed_but_leaves_not_read(void **state)
{
    struct world *w = *state;
    unsigned levels[TREE_DEPTH_MAX + 3] = { [TREE_DEPTH_MAX + 2] = w->root.depth };
    assert_int_equal(tree_pages(w->tree, false, count_page, levels, NULL), 0);
    struct twin_counts c = twin_count(w->twin);
    unsigned total = 0, inner = 0;
    for (unsigned i = 0; i <= TREE_DEPTH_MAX; i++)
        total += levels[i];
    inner = total - levels[0];
    assert_int_equal(levels[TREE_DEPTH_MAX + 1], 0); /* no level before the one above it */
    assert_int_equal(levels[w->root.depth], 1);
    assert_true(levels[0] > DIRECTORIES * FILES / PAGE_ITEMS_MAX);
    assert_int_equal(c.warmed, total);
    assert_int_equal(c.warms, w->root.depth + 1);
    assert_int_equal(c.page_gets, inner);
}

static int note_page(void *arg, const struct locator *page, uint8_t level, struct error *e)
{
    struct locator *last = arg;
    last[level] = *page;
    return 0;
}

static int read_all(struct world *w, struct error *e)
{
    struct seen s = { 0 };
    tree_close(w->tree);
    w->tree = twin_open(w->twin, &w->root);
    int r = tree_scan(w->tree, (struct bytes){ 0 }, (struct bytes){ 0 }, see, &s, e);
    buf_release(&s.paths);
    return r;
}

/* A page that decodes but is not the one that its parent means: each check of a promise in turn. */
static void a_page_in_anothers_place_is_damage(void **state)
{
    struct world *w = *state;
    struct locator last[TREE_DEPTH_MAX + 1];
    struct error e = { 0 };
    assert_int_equal(tree_pages(w->tree, false, note_page, last, NULL), 0);
    _cleanup_(buf_release) struct buf leaf = { 0 };
    struct bytes b = twin_bytes(w->twin, &last[0]);
    buf_add(&leaf, b.data, b.len);

    struct bytes inner = twin_bytes(w->twin, &last[1]);
    twin_replace(w->twin, &last[0], inner.data, inner.len);
    assert_int_equal(read_all(w, &e), -EBADMSG);
    assert_non_null(strstr(e.text, "of another level"));
    char pack[PACK_TEXT];
    pack_text(&last[0].pack, pack);
    assert_non_null(strstr(e.text, pack)); /* it names the page */
    assert_int_equal(e.kind, ERROR_DAMAGED);

    /* A leaf with one entry, before, at, and behind its place. */
    static const struct {
        const char *path, *why;
    } wrong[] = { { "project/d59/f29", "another number" }, { "project", "another number" } };
    for (size_t i = 0; i < 2; i++) {
        struct page_builder p = { 0 };
        struct entry n = { .type = ENTRY_FIFO };
        _cleanup_(buf_release) struct buf key = { 0 }, bytes = { 0 };
        key_of(wrong[i].path, &key);
        page_builder_entry(&p, buf_bytes(&key), &n);
        page_builder_put(&p, &bytes);
        page_builder_release(&p);
        twin_replace(w->twin, &last[0], bytes.data, bytes.len);
        assert_int_equal(read_all(w, &e), -EBADMSG);
        assert_non_null(strstr(e.text, wrong[i].why));
    }
    twin_replace(w->twin, &last[0], leaf.data, leaf.len);
    assert_int_equal(read_all(w, &e), 0);
}

/* As many entries as promised, but keys out of the promised range. */
static void keys_outside_the_promised_range_are_damage(void **state)
{
    struct world *w = *state;
    struct locator last[TREE_DEPTH_MAX + 1];
    struct error e = { 0 };
    assert_int_equal(tree_pages(w->tree, false, note_page, last, NULL), 0);
    struct tree_spot spot;
    assert_int_equal(tree_spot_at(w->tree, 0, tree_count(w->tree) - 1, &spot, NULL), 0);
    for (unsigned shape = 0; shape < 2; shape++) {
        struct page_builder p = { 0 };
        struct entry n = { .type = ENTRY_FIFO };
        _cleanup_(buf_release) struct buf key = { 0 }, bytes = { 0 };
        for (uint64_t i = 0; i < spot.ref.count; i++) {
            char path[32];
            snprintf(path, sizeof(path), shape == 0 ? "a%03u" : "project/d59/z%03u", (unsigned)i);
            key_of(path, &key);
            if (shape == 0 && i + 1 == spot.ref.count)
                page_builder_entry(&p, (struct bytes){ spot.last, spot.last_len }, &n);
            else
                page_builder_entry(&p, buf_bytes(&key), &n);
        }
        page_builder_put(&p, &bytes);
        page_builder_release(&p);
        twin_replace(w->twin, &last[0], bytes.data, bytes.len);
        assert_int_equal(read_all(w, &e), -EBADMSG);
        assert_non_null(strstr(e.text, shape == 0 ? "begin too early" : "end elsewhere"));
    }
}

/* Reads the last leaf, and the way to it, anew. */
static int read_last(struct world *w, struct error *e)
{
    struct seen s = { 0 };
    struct tree_spot spot;
    _cleanup_(tree_closep) struct tree *t = twin_open(w->twin, &w->root);
    int r = tree_spot_at(t, 0, tree_count(t) - 1, &spot, e);
    if (r == 0)
        r = tree_scan(t, (struct bytes){ 0 }, (struct bytes){ spot.after, spot.after_len }, see, &s, e);
    buf_release(&s.paths);
    return r;
}

/* Any single damaged byte of a page is found or harmless: never a crash, never a loop. */
static void flipped_and_cut_pages_never_crash(void **state)
{
    struct world *w = *state;
    struct locator last[TREE_DEPTH_MAX + 1];
    assert_int_equal(tree_pages(w->tree, false, note_page, last, NULL), 0);
    for (unsigned level = 0; level <= 1; level++) {
        _cleanup_(buf_release) struct buf good = { 0 };
        struct bytes b = twin_bytes(w->twin, &last[level]);
        buf_add(&good, b.data, b.len);
        for (size_t i = 0; i < good.len; i++) {
            struct error e = { 0 };
            twin_flip(w->twin, &last[level], i, (uint8_t)(1u << (i % 8)));
            int r = read_last(w, &e);
            assert_true(r == 0 || r == -EBADMSG || r == -ENOENT);
            twin_replace(w->twin, &last[level], good.data, good.len);
        }
        for (size_t len = 0; len < good.len; len += 7) {
            twin_truncate(w->twin, &last[level], len);
            assert_int_equal(read_last(w, NULL), -EBADMSG);
            twin_replace(w->twin, &last[level], good.data, good.len);
        }
    }
}

static void errors_of_the_source_come_through_and_are_not_remembered(void **state)
{
    struct world *w = *state;
    struct error e = { 0 };
    for (unsigned n = 1; n <= 3; n++) {
        twin_fail(w->twin, n, -ETIMEDOUT, ERROR_STORE);
        assert_int_equal(read_all(w, &e), -ETIMEDOUT);
        assert_int_equal(e.kind, ERROR_STORE);
        twin_fail(w->twin, 0, 0, ERROR_FAILED);
        struct seen s = { 0 };
        assert_int_equal(scan(w, (struct bytes){ 0 }, (struct bytes){ 0 }, &s, 0), tree_count(w->tree));
        buf_release(&s.paths);
    }
}

static void *find_one(void *arg)
{
    struct world *w = arg;
    _cleanup_(buf_release) struct buf key = { 0 };
    key_of("project/d30/f15", &key);
    return (void *)(intptr_t)tree_find(w->tree, buf_bytes(&key), NULL, NULL, NULL);
}

/* Fails if a lock is held around source_get: the second reader would never reach the twin. */
static void no_lock_is_held_while_a_page_is_fetched(void **state)
{
    struct world *w = *state;
    pthread_t threads[2];
    twin_hold(w->twin);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, find_one, w), 0);
    twin_await(w->twin, 2);
    twin_release(w->twin);
    for (unsigned i = 0; i < 2; i++) {
        void *r;
        pthread_join(threads[i], &r);
        assert_null(r);
    }
}

static void *find_many(void *arg)
{
    struct world *w = arg;
    uint64_t count = tree_count(w->tree);
    _cleanup_(buf_release) struct buf key = { 0 };
    for (uint64_t i = 0; i < 4000; i++) {
        uint64_t position;
        if (tree_at(w->tree, i * 7919 % count, &key, NULL, NULL) < 0 ||
            tree_find(w->tree, buf_bytes(&key), &position, NULL, NULL) < 0 || position != i * 7919 % count)
            return arg;
    }
    return NULL;
}

/* With room for few pages, so that threads take pages that others put out. Race detectors see the rest. */
static void many_threads_share_a_small_room(void **state)
{
    struct world *w = *state;
    struct error e = { 0 };
    tree_close(w->tree);
    assert_int_equal(tree_open(twin_source(w->twin), &w->root, 12000, &w->tree, &e), 0);
    pthread_t threads[4];
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, find_many, w), 0);
    for (unsigned i = 0; i < 4; i++) {
        void *r;
        pthread_join(threads[i], &r);
        assert_null(r);
    }
    assert_true(twin_count(w->twin).page_gets > 1000); /* the room was too small indeed */
}

static void pages_in_the_room_are_not_fetched_again(void **state)
{
    struct world *w = *state;
    assert_null(find_many(w));
    assert_true(twin_count(w->twin).page_gets <= twin_count(w->twin).frames);
}

static void an_empty_tree_has_nothing(void **state)
{
    struct world *w = *state;
    struct tree_root root = { .empty = true };
    struct tree *t = twin_open(w->twin, &root);
    struct seen s = { 0 };
    unsigned levels[TREE_DEPTH_MAX + 3] = { 0 };
    assert_int_equal(tree_count(t), 0);
    assert_int_equal(tree_find(t, text("\1x"), NULL, NULL, NULL), -ENOENT);
    assert_int_equal(tree_at(t, 0, NULL, NULL, NULL), -ENOENT);
    assert_int_equal(tree_scan(t, (struct bytes){ 0 }, (struct bytes){ 0 }, see, &s, NULL), 0);
    assert_int_equal(tree_pages(t, false, count_page, levels, NULL), 0);
    assert_int_equal(s.count, 0);
    tree_close(t);

    root = w->root;
    root.depth = TREE_DEPTH_MAX + 1;
    assert_int_equal(tree_open(twin_source(w->twin), &root, 0, &t, NULL), -EBADMSG);
    root = w->root;
    root.page.count = UINT64_MAX;
    assert_int_equal(tree_open(twin_source(w->twin), &root, 0, &t, NULL), -EBADMSG);
}

/* 60 directories of 30 files are some 60 leaves; project/ itself has two or more. Fails if only what is read next is
 * asked for. */
static void the_pages_of_a_directory_are_asked_for_together(void **state)
{
    struct world *w = *state;
    _cleanup_(buf_release) struct buf prefix = { 0 };
    key_directory_prefix(text("project"), &prefix);
    tree_warm(w->tree, buf_bytes(&prefix));
    struct twin_counts c = twin_count(w->twin);
    assert_true(c.warms >= 1);
    assert_true(c.warmed >= 2);
    assert_true(c.page_gets <= 4); /* inner pages only */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_entry_is_found_by_key_and_by_position),
        TEST(a_link_leads_to_its_first_name_or_is_damage),
        TEST(a_scan_gives_the_run_of_a_prefix_from_anywhere),
        TEST(a_scan_reads_no_pages_outside_its_prefix),
        TEST(pages_are_told_from_the_top_and_warmed_but_leaves_not_read),
        TEST(a_page_in_anothers_place_is_damage),
        TEST(keys_outside_the_promised_range_are_damage),
        TEST(flipped_and_cut_pages_never_crash),
        TEST(errors_of_the_source_come_through_and_are_not_remembered),
        TEST(no_lock_is_held_while_a_page_is_fetched),
        TEST(many_threads_share_a_small_room),
        TEST(pages_in_the_room_are_not_fetched_again),
        TEST(an_empty_tree_has_nothing),
        TEST(the_pages_of_a_directory_are_asked_for_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
