/* SPDX-License-Identifier: MIT */
#include "index/mirror.h"

#include "index/base/mem.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

struct area {
    char *path;
    int from, to, last, kept;
    char told[200], left[200];
    bool changes; /* what was kept has changed before it is replaced, once */
};

static int set_up(void **state)
{
    struct area *a = mem_new(1, sizeof(*a));
    char *s = a->path = scratch_new();
    static const char *const names[] = { "from", "to", "last", "kept" };
    int *const fds[] = { &a->from, &a->to, &a->last, &a->kept };
    for (size_t i = 0; i < 4; i++) {
        scratch_mkdir("%s/%s", s, names[i]);
        *fds[i] = scratch_open("%s/%s", s, names[i]);
    }
    scratch_mkdir("%s/from/d/sub/deeper", s);
    scratch_write("one", "%s/from/d/one", s);
    scratch_write("two", "%s/from/d/sub/two", s);
    scratch_write("three", "%s/from/d/sub/deeper/three", s);
    assert_int_equal(symlinkat("/nowhere", a->from, "d/link"), 0);
    assert_int_equal(fchmodat(a->from, "d/one", 0755, 0), 0);
    *state = a;
    return 0;
}

static int tear_down(void **state)
{
    struct area *a = *state;
    int fds[] = { a->from, a->to, a->last, a->kept };
    for (size_t i = 0; i < 4; i++)
        close(fds[i]);
    scratch_remove(a->path);
    free(a);
    return 0;
}

static void on_told(void *arg, const char *path)
{
    struct area *a = arg;
    size_t n = strlen(a->told);
    snprintf(a->told + n, sizeof(a->told) - n, "%s ", path);
    if (a->changes)
        scratch_write("newer", "%s/to/%s", a->path, path);
    a->changes = false;
}

static void on_left(void *arg, const char *path, const char *type)
{
    struct area *a = arg;
    size_t n = strlen(a->left);
    snprintf(a->left + n, sizeof(a->left) - n, "%s: %s. ", path, type);
}

static int run(struct area *a, const char *path, struct mirror_stats *stats, struct error *e)
{
    struct mirror_config c = {
        .from = a->from, .to = a->to, .last = a->last, .kept = a->kept, .told = on_told, .left = on_left, .arg = a
    };
    a->told[0] = a->left[0] = '\0';
    *stats = (struct mirror_stats){ 0 };
    return mirror_run(&c, path, path, stats, e);
}

static void expect_file(int dir, const char *path, const char *content)
{
    char got[64] = "";
    int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW);
    assert_true(fd >= 0);
    ssize_t n = read(fd, got, sizeof(got) - 1);
    assert_true(n >= 0);
    assert_string_equal(got, content);
    close(fd);
}

static void expect_missing(int dir, const char *path)
{
    struct stat st;
    assert_int_equal(fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW), -1);
    assert_int_equal(errno, ENOENT);
}

/* What is below d, with all its attributes. */
static void expect_equal(struct area *a)
{
    struct twin *t = twin_new();
    int from = scratch_open("%s/from/d", a->path), to = scratch_open("%s/to/d", a->path);
    struct tree_root x = scratch_snapshot(t, from, -1, NULL), y = scratch_snapshot(t, to, -1, NULL);
    _cleanup_free_ char *text = scratch_text(t, &x), *other = scratch_text(t, &y);
    assert_string_equal(text, other);
    close(from);
    close(to);
    twin_free(t);
}

static void all_arrives_and_a_second_time_nothing_is_done(void **state)
{
    struct area *a = *state;
    struct mirror_stats stats;
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    assert_int_equal(stats.changed, 4);
    assert_int_equal(stats.kept, 0);
    expect_equal(a);
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    assert_int_equal(stats.changed + stats.removed + stats.kept, 0);
    assert_int_equal(stats.entries, 7);
}

static void what_is_gone_goes_and_one_entry_does_not_touch_another(void **state)
{
    struct area *a = *state;
    struct mirror_stats stats;
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    scratch_write("mine", "%s/to/beside", a->path);
    assert_int_equal(unlinkat(a->from, "d/one", 0), 0);
    char path[300];
    snprintf(path, sizeof(path), "%s/from/d/sub/deeper", a->path);
    scratch_remove_tree(path);
    struct mirror_config c = { .from = a->from, .to = a->to, .last = -1, .kept = -1 };
    assert_int_equal(mirror_run(&c, "d", "d", &stats, NULL), 0);
    expect_equal(a);
    expect_file(a->to, "beside", "mine");
    assert_int_equal(stats.removed, 2);

    snprintf(path, sizeof(path), "%s/from/d", a->path);
    scratch_remove_tree(path);
    assert_int_equal(mirror_run(&c, "d", "d", &stats, NULL), 0);
    expect_missing(a->to, "d");
    assert_int_equal(mirror_run(&c, "d", "d", &stats, NULL), 0);
}

static void one_kind_takes_the_place_of_another(void **state)
{
    struct area *a = *state;
    struct mirror_stats stats;
    scratch_mkdir("%s/to/d/one/below", a->path);
    scratch_write("x", "%s/to/d/one/below/x", a->path);
    scratch_write("long", "%s/to/d/one/below/%0250d", a->path, 1); /* the paths move in memory */
    scratch_write("was a file", "%s/to/d/sub", a->path);
    scratch_mkdir("%s/to/d/link", a->path);
    scratch_mkdir("%s/elsewhere", a->path);
    assert_int_equal(mkfifoat(a->to, "d/pipe", 0600), 0);
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    assert_int_equal(unlinkat(a->to, "d/pipe", 0), 0); /* left alone */
    assert_int_equal(stats.kept, 3);
    expect_file(a->kept, "d/one/below/x", "x");
    expect_file(a->kept, "d/sub", "was a file");
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    expect_equal(a);
}

static void what_is_neither_stays_in_the_way(void **state)
{
    struct area *a = *state;
    struct mirror_stats stats;
    struct stat st;
    scratch_mkdir("%s/to/d", a->path);
    assert_int_equal(mkfifoat(a->to, "d/one", 0600), 0);
    assert_int_equal(mkfifoat(a->to, "d/sub", 0600), 0);
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    assert_int_equal(fstatat(a->to, "d/one", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_int_equal(fstatat(a->to, "d/sub", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_int_equal(stats.changed, 1); /* the link */
    assert_string_equal(a->left, "d/one: a FIFO. d/sub: a FIFO. ");
    assert_int_equal(mkfifoat(a->from, "d/pipe", 0600), 0);
    assert_int_equal(mknodat(a->from, "d/zero", S_IFCHR | 0600, makedev(1, 5)), 0);
    assert_int_equal(mknodat(a->to, "d/own", S_IFSOCK | 0600, 0), 0); /* in nobody's way */
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    assert_string_equal(a->left, "d/one: a FIFO. d/pipe: a FIFO. d/sub: a FIFO. d/zero: a device. ");
}

static void what_was_changed_here_is_kept_and_nothing_else(void **state)
{
    struct area *a = *state;
    struct mirror_stats stats;
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    struct mirror_config last = { .from = a->from, .to = a->last, .last = -1, .kept = -1 };
    assert_int_equal(mirror_run(&last, "d", "d", &stats, NULL), 0);

    scratch_write("one, newer", "%s/from/d/one", a->path);
    scratch_write("two, newer", "%s/from/d/sub/two", a->path);
    scratch_write("three, newer", "%s/from/d/sub/deeper/three", a->path);
    assert_int_equal(unlinkat(a->from, "d/link", 0), 0);
    scratch_write("mine", "%s/to/d/sub/two", a->path);
    scratch_write("three, newer", "%s/to/d/sub/deeper/three", a->path); /* the same change */
    scratch_write("new here", "%s/to/d/mine", a->path);
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    expect_equal(a);
    assert_string_equal(a->told, "d/mine d/sub/two ");
    assert_int_equal(stats.kept, 2);
    expect_file(a->kept, "d/sub/two", "mine");
    expect_file(a->kept, "d/mine", "new here");
    expect_missing(a->kept, "d/one");
    expect_missing(a->kept, "d/sub/deeper");

    /* Touched, but the same: it only gets its time back. */
    assert_int_equal(mirror_run(&last, "d", "d", &stats, NULL), 0);
    assert_int_equal(utimensat(a->to, "d/one", NULL, 0), 0);
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    assert_int_equal(stats.changed, 1);
    assert_int_equal(stats.kept, 0);
    expect_equal(a);
}

/* As within one tick of the clock, or where a file system keeps whole seconds. */
static void write_unseen(const struct area *a, const char *tree, const char *path, const char *content)
{
    struct stat st;
    _cleanup_free_ char *whole = mem_printf("%s/%s/%s", a->path, tree, path);
    assert_int_equal(stat(whole, &st), 0);
    assert_int_equal(st.st_size, strlen(content));
    scratch_write(content, "%s", whole);
    assert_int_equal(utimensat(AT_FDCWD, whole, (struct timespec[]){ st.st_atim, st.st_mtim }, 0), 0);
}

static void what_was_changed_at_the_same_time_is_kept_and_goes_out(void **state)
{
    struct area *a = *state;
    struct mirror_stats stats;
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    struct mirror_config last = { .from = a->to, .to = a->last, .last = -1, .kept = -1 };
    assert_int_equal(mirror_run(&last, "d", "d", &stats, NULL), 0);

    scratch_write("one, of another node", "%s/from/d/one", a->path);
    assert_int_equal(unlinkat(a->from, "d/sub/two", 0), 0);
    write_unseen(a, "to", "d/one", "1st");
    write_unseen(a, "to", "d/sub/two", "2nd");
    write_unseen(a, "to", "d/sub/deeper/three", "third");
    stats = (struct mirror_stats){ 0 };
    assert_int_equal(mirror_run(&last, "d", "d", &stats, NULL), 0);
    assert_int_equal(stats.changed, 3);
    expect_file(a->last, "d/one", "1st");

    write_unseen(a, "to", "d/one", "ONE");
    write_unseen(a, "to", "d/sub/two", "TWO");
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    assert_int_equal(stats.kept, 2);
    expect_file(a->kept, "d/one", "ONE");
    expect_file(a->kept, "d/sub/two", "TWO");
    expect_file(a->to, "d/one", "one, of another node");
    expect_missing(a->to, "d/sub/two");
}

/* However it goes: for a file, for a directory, or for nothing. */
static void what_changes_after_it_was_kept_is_kept_again(void **state)
{
    struct area *a = *state;
    struct mirror_stats stats;
    scratch_mkdir("%s/to/d/sub", a->path);
    static const char *const paths[] = { "d/one", "d/sub/deeper", "d/own" };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        scratch_write("mine", "%s/to/%s", a->path, paths[i]);
        a->changes = true;
        assert_int_equal(run(a, paths[i], &stats, NULL), 0);
        assert_int_equal(stats.kept, 1);
        expect_file(a->kept, paths[i], "newer");
    }
    expect_file(a->to, "d/one", "one");
    expect_file(a->to, "d/sub/deeper/three", "three");
    expect_missing(a->to, "d/own");
}

static void secrets_stay_where_they_are(void **state)
{
    struct area *a = *state;
    struct mirror_stats stats;
    scratch_write("secret", "%s/from/d/sub/.auth-secret", a->path);
    assert_int_equal(linkat(a->from, "d/sub/.auth-secret", a->from, "d/other", 0), 0);
    scratch_mkdir("%s/to/d/mine", a->path);
    scratch_write("their own", "%s/to/d/mine/.auth-secret", a->path);
    scratch_write("goes", "%s/to/d/mine/file", a->path);
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    expect_missing(a->to, "d/sub/.auth-secret");
    expect_missing(a->to, "d/other");
    expect_file(a->to, "d/mine/.auth-secret", "their own");
    expect_missing(a->to, "d/mine/file");
    expect_missing(a->kept, "d/mine/.auth-secret");
    expect_file(a->to, "d/sub/two", "two");
}

static void links_are_replaced_and_never_followed(void **state)
{
    struct area *a = *state;
    struct mirror_stats stats;
    struct error e = { 0 };
    scratch_mkdir("%s/elsewhere/sub", a->path);
    scratch_write("untouched", "%s/elsewhere/one", a->path);
    assert_int_equal(symlinkat("../elsewhere", a->to, "d"), 0);
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    expect_equal(a);
    struct stat st;
    assert_int_equal(fstatat(a->kept, "d", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISLNK(st.st_mode));
    int elsewhere = scratch_open("%s/elsewhere", a->path);
    expect_file(elsewhere, "one", "untouched");
    expect_missing(elsewhere, "sub/two");

    /* A directory above it is nobody's to replace. */
    assert_int_equal(symlinkat("../elsewhere", a->to, "above"), 0);
    struct mirror_config c = { .from = a->from, .to = a->to, .last = -1, .kept = -1 };
    assert_int_equal(mirror_run(&c, "d/one", "above/one", &stats, &e), -ELOOP);
    assert_non_null(strstr(e.text, "symbolic link"));
    expect_file(elsewhere, "one", "untouched");
    assert_int_equal(symlinkat("d", a->from, "above"), 0);
    assert_int_equal(mirror_run(&c, "above/one", "x/y/one", &stats, &e), -ELOOP);
    /* Missing ones are made; a file is none. */
    assert_int_equal(mirror_run(&c, "d/one", "x/y/one", &stats, NULL), 0);
    expect_file(a->to, "x/y/one", "one");
    assert_int_equal(mirror_run(&c, "d/one", "x/y/one/one", &stats, NULL), -ENOTDIR);
    close(elsewhere);
}

static int stop(void *arg, const struct mirror_stats *so_far, struct error *e)
{
    (void)arg;
    return so_far->entries == 3 ? error_say(e, ERROR_INTERRUPTED, -EINTR, "enough") : 0;
}

static void it_can_be_stopped_and_what_that_leaves_goes(void **state)
{
    struct area *a = *state;
    struct mirror_stats stats = { 0 };
    struct mirror_config c = { .from = a->from, .to = a->to, .last = -1, .kept = -1, .check = stop };
    assert_int_equal(mirror_run(&c, "d", "d", &stats, NULL), -EINTR);
    assert_int_equal(stats.entries, 3);
    scratch_write("half", "%s/to/d/.agbox-new", a->path);
    scratch_write("half", "%s/to/d/.agbox-copying", a->path);
    scratch_write("half", "%s/from/d/sub/.agbox-new", a->path); /* is not sent on */
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    expect_missing(a->to, "d/sub/.agbox-new");
    assert_int_equal(unlinkat(a->from, "d/sub/.agbox-new", 0), 0);
    assert_int_equal(run(a, "d", &stats, NULL), 0);
    expect_equal(a);
    assert_int_equal(stats.kept, 0);
}

static int stop_after(void *arg, const struct mirror_stats *so_far, struct error *e)
{
    unsigned *left = arg;
    (void)so_far;
    return (*left)-- == 0 ? error_say(e, ERROR_INTERRUPTED, -EINTR, "enough") : 0;
}

static void a_large_file_can_be_stopped_and_holes_cost_nothing(void **state)
{
    struct area *a = *state;
    struct mirror_stats stats = { 0 };
    unsigned left = 4; /* the entry, and some of its pieces */
    struct mirror_config c = {
        .from = a->from, .to = a->to, .last = -1, .kept = -1, .check = stop_after, .arg = &left
    };
    const off_t size = (off_t)1 << 40;
    _cleanup_free_ char *data = mem_new(1, 1 << 20);
    memset(data, 'x', 1 << 20);
    int fd = openat(a->from, "large", O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0 && ftruncate(fd, size) == 0);
    assert_int_equal(pwrite(fd, data, 1 << 20, size - (1 << 20)), 1 << 20);
    close(fd);
    assert_int_equal(mirror_run(&c, "large", "large", &stats, NULL), -EINTR);
    expect_missing(a->to, "large");
    expect_missing(a->to, ".agbox-new");
    left = 1000; /* a hole is not gone through by pieces */
    assert_int_equal(mirror_run(&c, "large", "large", &stats, NULL), 0);
    struct stat st;
    assert_int_equal(fstatat(a->to, "large", &st, 0), 0);
    assert_int_equal(st.st_size, size);
    assert_true(st.st_blocks * 512 < 4 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_arrives_and_a_second_time_nothing_is_done, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_gone_goes_and_one_entry_does_not_touch_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_kind_takes_the_place_of_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_neither_stays_in_the_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_changed_here_is_kept_and_nothing_else, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_changed_at_the_same_time_is_kept_and_goes_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_changes_after_it_was_kept_is_kept_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(secrets_stay_where_they_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_are_replaced_and_never_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_can_be_stopped_and_what_that_leaves_goes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_large_file_can_be_stopped_and_holes_cost_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
