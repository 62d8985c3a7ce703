/* SPDX-License-Identifier: MIT */
#include "index/straggler.h"

#include "index/base/mem.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

static char *root;
static int project, home;
static struct twin *twin;
static struct tree_root committed;

static int set_up(void **state)
{
    (void)state;
    root = scratch_new();
    twin = twin_new();
    scratch_mkdir("%s/home", root);
    scratch_mkdir("%s/project/sub", root);
    scratch_write("one", "%s/project/a", root);
    scratch_write("two", "%s/project/sub/b", root);
    project = scratch_open("%s/project", root);
    home = scratch_open("%s/home", root);
    assert_int_equal(linkat(project, "a", home, "first", 0), 0); /* its first name is in home */
    assert_int_equal(linkat(project, "a", project, "z", 0), 0);
    committed = scratch_snapshot(twin, project, home, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(project);
    close(home);
    twin_free(twin);
    scratch_remove(root);
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
    size_t count = 0, lines = 0;
    _cleanup_(buf_release) struct buf text = { 0 };
    struct tree *tree = twin_open(twin, &committed);
    struct straggler_config c = { .project = project, .tree = tree, .source = twin_source(twin), .key = &twin_key };
    if (straggler_find(&c, print, &text, &count, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(buf_string(&text), expected);
    for (const char *p = expected; *p; p++)
        lines += *p == '\n';
    assert_int_equal(count, lines);
    tree_close(tree);
}

static void an_untouched_directory_has_none(void **state)
{
    (void)state;
    gives("");
}

static void every_late_write_is_told(void **state)
{
    (void)state;
    scratch_write("late", "%s/project/sub/b", root);
    scratch_write("late", "%s/project/sub/new", root);
    scratch_write("late", "%s/project/.auth-secret", root);
    assert_int_equal(unlinkat(project, "z", 0), 0);
    gives("A project/.auth-secret\nD project/z\nM project/sub/b\nA project/sub/new\n");
}

/* Fails if size and mtime are taken for the content. */
static void a_write_that_put_its_times_back_is_told(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(fstatat(project, "a", &st, 0), 0);
    scratch_write("eno", "%s/project/a", root);
    struct timespec times[2] = { st.st_atim, st.st_mtim };
    assert_int_equal(utimensat(project, "a", times, 0), 0);
    gives("M project/a\n");
}

#define straggler_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        straggler_test(an_untouched_directory_has_none),
        straggler_test(every_late_write_is_told),
        straggler_test(a_write_that_put_its_times_back_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
