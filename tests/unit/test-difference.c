/* SPDX-License-Identifier: MIT */
#include "index/difference.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/compare.h"
#include "index/content.h"
#include "index/key.h"
#include "index/lookup.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct scratch_box box;
static int merged; /* its project */

static const char *const group[] = { "project/l1", "project/l2", "project/l3", NULL };
static const char *const *const groups[] = { group, NULL };

static int set_up(void **state)
{
    (void)state;
    char *s = scratch_new(), path[300];
    struct timespec times[2] = { { 1, 1 }, { 2, 2 } };
    scratch_mkdir("%s/lower/home", s);
    scratch_mkdir("%s/lower/project/sub/deep", s);
    for (size_t i = 0; i < 3; i++)
        scratch_write("joined", "%s/lower/%s", s, group[i]);
    scratch_write("one", "%s/lower/project/a", s);
    scratch_write("two", "%s/lower/project/b", s);
    scratch_write("three", "%s/lower/project/sub/c", s);
    scratch_write("four", "%s/lower/project/sub/deep/d", s);
    scratch_write("five", "%s/lower/project/sub/deep/e", s);
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/lower/%s", s, group[i]);
        utimensat(AT_FDCWD, path, times, 0);
    }
    scratch_box_mount(&box, s, groups);
    merged = scratch_open("%s/merged/project", s);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(merged);
    scratch_box_remove(&box);
    return 0;
}

static int print(void *arg, char letter, const char *path, struct error *e)
{
    (void)e;
    buf_printf(arg, "%c %s\n", letter, path);
    return 0;
}

static void gives(const char *expected)
{
    struct error e = { 0 };
    struct walk_stats stats;
    _cleanup_(buf_release) struct buf text = { 0 };
    struct tree *base = twin_open(box.twin, &box.base);
    _cleanup_(difference_freep) struct difference *d = difference_new(base, twin_source(box.twin), &twin_key);
    int r = scratch_box_run(&box, (struct upper_config){ 0 }, difference_change, d, &stats, &e);
    if (r == 0)
        r = difference_tell(d, print, &text, &e);
    if (r < 0)
        fail_msg("%s", e.text);
    assert_string_equal(buf_string(&text), expected);
    tree_close(base);
}

static void nothing_is_told_of_an_untouched_tree(void **state)
{
    (void)state;
    gives("");
}

/* What a park wrote anew (rule S4) lies elsewhere in the store than the record of an earlier read says. */
static void content_that_only_lies_elsewhere_is_none(void **state)
{
    (void)state;
    struct tree *base = twin_open(box.twin, &box.base);
    _cleanup_(difference_freep) struct difference *d = difference_new(base, twin_source(box.twin), &twin_key);
    _cleanup_(buf_release) struct buf key = { 0 }, text = { 0 };
    struct entry was = { 0 }, now = { 0 };
    assert_int_equal(lookup_path(base, "project/a", &was, NULL), 1);
    entry_copy(&was, &now);
    assert_int_equal(now.extent_count, 1);
    now.extents[0].frame.offset += 1000;
    assert_int_equal(key_from_path((struct bytes){ (const uint8_t *)"project/a", 9 }, &key), 0);
    struct change c = {
        .kind = CHANGE_PUT, .key = buf_bytes(&key), .entry = &now, .base = &was, .content_known = true, .fd = -1
    };
    assert_int_equal(difference_change(d, &c, NULL), 0);
    assert_int_equal(difference_tell(d, print, &text, NULL), 0);
    assert_string_equal(buf_string(&text), "");
    now.extents[0].hash.b[0] ^= 1;
    assert_int_equal(difference_change(d, &c, NULL), 0);
    assert_int_equal(difference_tell(d, print, &text, NULL), 0);
    assert_string_equal(buf_string(&text), "M project/a\n");
    entry_release(&was);
    entry_release(&now);
    tree_close(base);
}

/* The directories' times change too: that is not told. */
static void new_changed_deleted_and_of_another_type(void **state)
{
    (void)state;
    scratch_write("new", "%s/merged/project/new", box.scratch);
    scratch_write("more", "%s/merged/project/a", box.scratch);
    assert_int_equal(unlinkat(merged, "b", 0), 0);
    assert_int_equal(symlinkat("a", merged, "b"), 0);
    assert_int_equal(unlinkat(merged, "sub/c", 0), 0);
    assert_int_equal(fchmodat(merged, "sub/deep", 0700, 0), 0);
    gives("M project/a\nT project/b\nA project/new\nD project/sub/c\nM project/sub/deep\n");
}

/* Fails if what is in the upper with data is told without a look at the data. */
static void rewritten_with_the_same_bytes_and_times_is_no_difference(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(fstatat(merged, "a", &st, 0), 0);
    struct timespec times[2] = { st.st_atim, st.st_mtim };
    scratch_write("one", "%s/merged/project/a", box.scratch);
    assert_int_equal(utimensat(merged, "a", times, 0), 0);
    gives("");
    scratch_write("eno", "%s/merged/project/a", box.scratch);
    assert_int_equal(utimensat(merged, "a", times, 0), 0);
    gives("M project/a\n");
}

/* Read, it would take most of an hour, as disks of virtual machines do that are mostly holes. */
static void what_is_a_hole_in_the_file_is_not_read(void **state)
{
    (void)state;
    const struct entry n = { .type = ENTRY_FILE, .size = 8ull << 40 };
    int scratch = scratch_open("%s", box.scratch);
    int fd = openat(scratch, "holes", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bool same = false;
    assert_int_equal(ftruncate(fd, 8ll << 40), 0);
    assert_int_equal(pwrite(fd, "", 1, 3ll << 40), 1);
    assert_int_equal(content_same(fd, &n, twin_source(box.twin), &twin_key, NULL, &same, NULL), 0);
    assert_true(same);
    assert_int_equal(pwrite(fd, "x", 1, 5ll << 40), 1);
    assert_int_equal(content_same(fd, &n, twin_source(box.twin), &twin_key, NULL, &same, NULL), 0);
    assert_false(same);
    close(fd);
    close(scratch);
}

static int stops_at_the_third(void *arg, struct error *e)
{
    return ++*(unsigned *)arg < 3 ? 0 : error_say(e, ERROR_INTERRUPTED, -EINTR, "interrupted");
}

/* In the middle of one file's content, and of zeros where the base has a hole. */
static void comparing_one_file_can_be_stopped(void **state)
{
    (void)state;
    enum { PIECES = 64, PIECE = 1 << 20 };
    _cleanup_free_ uint8_t *zeros = mem_new(PIECES, PIECE);
    struct extent x[PIECES] = { 0 };
    struct entry n = { .type = ENTRY_FILE, .size = (uint64_t)PIECES * PIECE };
    int scratch = scratch_open("%s", box.scratch);
    int fd = openat(scratch, "zeros", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(fd_pwrite_all(fd, zeros, n.size, 0, NULL), 0);
    for (unsigned i = 0; i < PIECES; i++) {
        x[i] = (struct extent){ .start = (uint64_t)i * PIECE, .length = PIECE };
        hash_bytes(&twin_key, zeros, PIECE, &x[i].hash);
    }
    for (unsigned round = 0; round < 2; round++) {
        unsigned asked = 0;
        bool same = false;
        const struct content_ask ask = { stops_at_the_third, &asked };
        assert_int_equal(content_same(fd, &n, twin_source(box.twin), &twin_key, &ask, &same, NULL), -EINTR);
        assert_int_equal(asked, 3);
        n.extents = x;
        n.extent_count = PIECES;
    }
    assert_int_equal(unlinkat(scratch, "zeros", 0), 0);
    close(fd);
    close(scratch);
}

static void a_deleted_directory_is_told_name_by_name(void **state)
{
    (void)state;
    assert_int_equal(unlinkat(merged, "sub/deep/d", 0), 0);
    assert_int_equal(unlinkat(merged, "sub/deep/e", 0), 0);
    assert_int_equal(unlinkat(merged, "sub/deep", AT_REMOVEDIR), 0);
    gives("D project/sub/deep\nD project/sub/deep/d\nD project/sub/deep/e\n");
}

static void what_moved_is_one_line_and_what_changed_in_it_another(void **state)
{
    (void)state;
    assert_int_equal(renameat(merged, "a", merged, "sub/moved"), 0);
    gives("R project/sub/moved\n");
    assert_int_equal(renameat(merged, "sub", merged, "other"), 0);
    gives("R project/other\nR project/other/moved\n");
    scratch_write("changed", "%s/merged/project/other/deep/d", box.scratch);
    scratch_write("new", "%s/merged/project/other/deep/new", box.scratch);
    assert_int_equal(unlinkat(merged, "other/deep/e", 0), 0);
    gives("R project/other\nR project/other/moved\nM project/other/deep/d\nA project/other/deep/new\n"
          "D project/sub/deep/e\n");
}

/* Not R: something stands at the old path. */
static void moved_and_replaced_is_new_and_changed(void **state)
{
    (void)state;
    assert_int_equal(renameat(merged, "a", merged, "z"), 0);
    scratch_write("another", "%s/merged/project/a", box.scratch);
    gives("M project/a\nA project/z\n");
}

static void names_of_one_file(void **state)
{
    (void)state;
    assert_int_equal(linkat(merged, "l3", merged, "aa", 0), 0);
    gives("A project/aa\n");
    assert_int_equal(unlinkat(merged, "aa", 0), 0);
    assert_int_equal(unlinkat(merged, "l1", 0), 0);
    gives("D project/l1\n");
    assert_int_equal(unlinkat(merged, "b", 0), 0);
    assert_int_equal(linkat(merged, "a", merged, "b", 0), 0);
    gives("M project/b\nD project/l1\n");
}

#define difference_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        difference_test(nothing_is_told_of_an_untouched_tree),
        difference_test(content_that_only_lies_elsewhere_is_none),
        difference_test(new_changed_deleted_and_of_another_type),
        difference_test(rewritten_with_the_same_bytes_and_times_is_no_difference),
        difference_test(what_is_a_hole_in_the_file_is_not_read),
        difference_test(comparing_one_file_can_be_stopped),
        difference_test(a_deleted_directory_is_told_name_by_name),
        difference_test(what_moved_is_one_line_and_what_changed_in_it_another),
        difference_test(moved_and_replaced_is_new_and_changed),
        difference_test(names_of_one_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
