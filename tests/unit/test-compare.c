/* SPDX-License-Identifier: MIT */
#include "index/compare.h"

#include "index/base/mem.h"
#include "index/cursor.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct twin *twin;

static int set_up(void **state)
{
    (void)state;
    twin = twin_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    twin_free(twin);
    return 0;
}

struct feed {
    struct compare *compare;
};

static int feed_entry(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    (void)position;
    struct change c = { .kind = CHANGE_PUT, .key = key, .entry = n, .content_known = true, .fd = -1 };
    return compare_change(((struct feed *)arg)->compare, &c, e);
}

/* Turns one tree into changes against another, as a full walk would come. */
static void changes(const struct tree_root *from, const struct tree_root *to, change_each each, void *arg)
{
    struct tree *base = twin_open(twin, from), *now = twin_open(twin, to);
    struct feed f = { compare_new(base, (struct bytes){ 0 }, each, arg) };
    assert_int_equal(tree_scan(now, (struct bytes){ 0 }, (struct bytes){ 0 }, feed_entry, &f, NULL), 0);
    assert_int_equal(compare_finish(f.compare, NULL), 0);
    compare_free(f.compare);
    tree_close(base);
    tree_close(now);
}

static void only_what_differs_comes_through(void **state)
{
    (void)state;
    const struct twin_file before[] = {
        { .path = "project/changed", .content = "1" },
        { .path = "project/d/e/f", .content = "1" },
        { .path = "project/d/g", .content = "1" },
        { .path = "project/first", .content = "1" },
        { .path = "project/gone", .content = "1" },
        { .path = "project/link", .type = ENTRY_LINK, .target = "project/first" },
        { .path = "project/same", .content = "1" },
        { .path = "project/to-file/x", .content = "1" },
        { .path = "project/zdir/stays", .content = "1" },
        { .path = "project/zdir/sub/x", .content = "1" },
    };
    const struct twin_file after[] = {
        { .path = "project/changed", .content = "2" },    { .path = "project/first", .content = "1" },
        { .path = "project/link", .content = "1" },       { .path = "project/new", .content = "1" },
        { .path = "project/same", .content = "1" },       { .path = "project/to-file", .content = "1" },
        { .path = "project/zdir/stays", .content = "1" },
    };
    struct tree_root a = twin_tree(twin, before, sizeof(before) / sizeof(*before));
    struct tree_root b = twin_tree(twin, after, sizeof(after) / sizeof(*after));
    struct buf text = { 0 };
    changes(&a, &b, scratch_print, &text);
    assert_string_equal(buf_string(&text), "put over project/changed\ndelete project/d\ndelete project/gone\n"
                                           "put over link project/link\nput project/new\nput over project/to-file\n"
                                           "delete project/d/*\ndelete project/to-file/*\n"
                                           "delete project/zdir/sub\ndelete project/zdir/sub/*\n");
    buf_clear(&text);
    changes(&b, &b, scratch_print, &text);
    assert_int_equal(text.len, 0);
    buf_release(&text);
}

/* A subtree's comparison never deletes above it, even when nothing of it came. */
static void below_a_prefix_nothing_else_is_touched(void **state)
{
    (void)state;
    const struct twin_file files[] = { { .path = "project/a/b/c" },
                                       { .path = "project/a/d" },
                                       { .path = "project/e" } };
    struct tree_root a = twin_tree(twin, files, 3);
    struct tree *base = twin_open(twin, &a);
    struct buf text = { 0 }, prefix = { 0 };
    assert_int_equal(key_subtree_prefix((struct bytes){ (const uint8_t *)"project/a", 9 }, &prefix), 0);
    struct compare *c = compare_new(base, buf_bytes(&prefix), scratch_print, &text);
    assert_int_equal(compare_finish(c, NULL), 0);
    compare_free(c);
    assert_string_equal(buf_string(&text), "delete project/a/b\ndelete project/a/d\ndelete project/a/b/*\n");
    buf_release(&text);
    buf_release(&prefix);
    tree_close(base);
}

/* A random tree of up to 600 names over a small alphabet, so that two of them have much in common. */
static struct tree_root random_tree(unsigned *seed)
{
    struct twin_file files[600];
    char paths[600][64];
    size_t count = 0;
    for (int i = 0; i < 600; i++) {
        int depth = 1 + rand_r(seed) % 4, len = snprintf(paths[count], 64, "project");
        for (int d = 0; d < depth; d++)
            len +=
                snprintf(paths[count] + len, 64 - (size_t)len, "/%c%d", d == depth - 1 ? 'f' : 'd', rand_r(seed) % 6);
        bool known = false;
        for (size_t k = 0; k < count && !known; k++)
            known = strcmp(paths[k], paths[count]) == 0;
        if (known)
            continue;
        files[count] = (struct twin_file){ .path = paths[count], .content = rand_r(seed) % 4 ? "one" : "two" };
        count++;
    }
    return twin_tree(twin, files, count);
}

static void applied_changes_give_the_same_tree(void **state)
{
    (void)state;
    unsigned seed = 4711;
    struct tree_root before = random_tree(&seed);
    for (int i = 0; i < 30; i++) {
        struct tree_root after = random_tree(&seed);
        struct tree *base = twin_open(twin, &before);
        struct scratch_save *s = scratch_save_begin(twin, base);
        changes(&before, &after, scratch_save_change, s);
        struct tree_root applied = scratch_save_finish(s, NULL);
        char *expected = scratch_text(twin, &after), *got = scratch_text(twin, &applied);
        assert_string_equal(got, expected);
        free(expected);
        free(got);
        tree_close(base);
        before = after;
    }
}

static void a_cursor_sees_what_a_scan_sees_and_skips_subtrees(void **state)
{
    (void)state;
    struct twin_file files[1000];
    char paths[1000][32];
    for (int i = 0; i < 1000; i++) {
        snprintf(paths[i], sizeof(paths[i]), "project/%d/%d", i % 3, i);
        files[i] = (struct twin_file){ .path = paths[i] };
    }
    struct tree_root a = twin_tree(twin, files, 1000);
    struct tree *base = twin_open(twin, &a);
    struct buf skipped = { 0 };
    assert_int_equal(key_subtree_prefix((struct bytes){ (const uint8_t *)"project/1", 9 }, &skipped), 0);
    struct cursor *c = cursor_new(base, (struct bytes){ 0 });
    int seen = 0, within = 0;
    struct bytes key;
    const struct entry *n;
    while (cursor_peek(c, &key, &n, NULL) == 1) {
        seen++;
        bool inside = key.len > skipped.len && memcmp(key.data, skipped.data, skipped.len) == 0;
        within += inside;
        if (inside)
            cursor_skip(c, buf_bytes(&skipped));
        else
            cursor_next(c);
    }
    assert_int_equal(within, 1);
    assert_int_equal(seen, 1 + 3 + 334 + 1 + 333);
    cursor_free(c);
    buf_release(&skipped);
    tree_close(base);
}

static int note_number(void *arg, const struct change *c, struct error *e)
{
    (void)e;
    *(uint32_t *)arg = c->entry->ino;
    return 0;
}

/* What is the same keeps the base's number, whatever inode it is by now: fails if a new file may get that one. */
static void a_new_inode_never_gets_the_number_of_what_stays(void **state)
{
    (void)state;
    const struct twin_file before[] = { { .path = "project/b" }, { .path = "project/c" } };
    const struct twin_file after[] = { { .path = "project/a" }, { .path = "project/b" }, { .path = "project/c" } };
    struct tree_root a = twin_tree(twin, before, 2), b = twin_tree(twin, after, 3);
    uint32_t got = 0; /* of project/a: 3 in the walk, as project/b in the base; project and project/c are 2 and 4 */
    changes(&a, &b, note_number, &got);
    assert_true(got > 4);
}

#define compare_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        compare_test(only_what_differs_comes_through),
        compare_test(below_a_prefix_nothing_else_is_touched),
        compare_test(applied_changes_give_the_same_tree),
        compare_test(a_new_inode_never_gets_the_number_of_what_stays),
        compare_test(a_cursor_sees_what_a_scan_sees_and_skips_subtrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
