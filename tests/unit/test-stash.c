/* SPDX-License-Identifier: MIT */
#include "index/stash.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/copy.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <cmocka.h>

static struct scratch_box box;
static int home_dir; /* box/NAME: where the stash is */

static const char *const group[] = { "project/sub/l1", "project/sub/l2", NULL };
static const char *const *const groups[] = { group, NULL };

static int set_up(void **state)
{
    (void)state;
    char *s = scratch_new(), path[300];
    struct timespec times[2] = { { 1, 1 }, { 2, 2 } };
    scratch_mkdir("%s/lower/home", s);
    scratch_mkdir("%s/lower/project/sub/deep", s);
    scratch_write("one", "%s/lower/project/a", s);
    scratch_write("three", "%s/lower/project/sub/c", s);
    scratch_write("four", "%s/lower/project/sub/deep/d", s);
    for (size_t i = 0; i < 2; i++) {
        scratch_write("joined", "%s/lower/%s", s, group[i]);
        snprintf(path, sizeof(path), "%s/lower/%s", s, group[i]);
        utimensat(AT_FDCWD, path, times, 0);
    }
    snprintf(path, sizeof(path), "%s/lower/project", s);
    utimensat(AT_FDCWD, path, times, 0);
    scratch_box_mount(&box, s, groups);
    scratch_mkdir("%s/state", s);
    home_dir = scratch_open("%s/state", s);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(home_dir);
    scratch_box_remove(&box);
    return 0;
}

static int ignore(void *arg, const struct change *c, struct error *e)
{
    (void)arg;
    (void)c;
    (void)e;
    return 0;
}

static struct stash *open_stash(size_t expected)
{
    struct error e = { 0 };
    struct stash *s = NULL;
    if (stash_open(home_dir, &s, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(stash_count(s), expected);
    return s;
}

/* The end of a park: what the rules leave out goes to the stash. */
static void park(const struct exclude *rules, size_t expected)
{
    struct error e = { 0 };
    struct walk_stats stats;
    struct stash_list list = { 0 };
    struct upper_config c = {
        .rules = rules, .rules_changed = true, .names_only = true, .excluded = stash_list_add, .excluded_arg = &list
    };
    if (scratch_box_run(&box, c, ignore, NULL, &stats, &e) < 0)
        fail_msg("%s", e.text);
    struct stash *s = NULL;
    assert_int_equal(stash_open(home_dir, &s, NULL), 0);
    struct stash_tree from = {
        .project = scratch_open("%s/merged/project", box.scratch),
        .home = scratch_open("%s/merged/home", box.scratch),
        .upper = scratch_open("%s/upper", box.scratch),
        .base = twin_open(box.twin, &box.base),
    };
    if (stash_take(s, &from, &list, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(stash_count(s), expected);
    close(from.project);
    close(from.home);
    close(from.upper);
    tree_close(from.base);
    stash_close(s);
    stash_list_release(&list);
}

/* A new, empty upper over the same base. */
static void mount_anew(void)
{
    char path[300];
    scratch_unmount(box.scratch);
    snprintf(path, sizeof(path), "%s/upper", box.scratch);
    scratch_remove_tree(path);
    snprintf(path, sizeof(path), "%s/work", box.scratch);
    scratch_remove_tree(path);
    scratch_mount(box.scratch);
}

static int note(void *arg, const char *path, const char *where, struct error *e)
{
    (void)e;
    buf_printf(arg, "%s at %s\n", path, where);
    return 0;
}

static void lay_back(const char *stays, size_t left)
{
    struct error e = { 0 };
    struct stash *s = NULL;
    _cleanup_(buf_release) struct buf text = { 0 };
    assert_int_equal(stash_open(home_dir, &s, NULL), 0);
    int project = scratch_open("%s/merged/project", box.scratch), home = scratch_open("%s/merged/home", box.scratch);
    if (stash_return(s, project, home, note, &text, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(buf_string(&text), stays);
    assert_int_equal(stash_count(s), left);
    close(project);
    close(home);
    stash_close(s);
}

static void content_is(const char *content, const char *path)
{
    char full[400];
    struct error e = { 0 };
    _cleanup_(buf_release) struct buf got = { 0 };
    snprintf(full, sizeof(full), "%s/%s", box.scratch, path);
    if (fd_read_file(AT_FDCWD, full, 1000, &got, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(buf_string(&got), content);
}

static struct stat stat_of(const char *path)
{
    char full[400];
    struct stat st;
    snprintf(full, sizeof(full), "%s/%s", box.scratch, path);
    if (lstat(full, &st) < 0)
        fail_msg("%s: %s", full, strerror(errno));
    return st;
}

/* [M] A file that is laid into a raw upper hides its parent's mode and times: that is what would fail here. */
static void a_secret_comes_back_and_its_directory_keeps_its_times(void **state)
{
    (void)state;
    scratch_write("secret", "%s/merged/project/.auth-secret", box.scratch);
    ino_t inode = stat_of("upper/project/.auth-secret").st_ino;
    park(NULL, 1);
    assert_int_equal(stat_of("state/stash/00000001/entry").st_ino, inode); /* by rename */
    mount_anew();
    lay_back("", 0);
    content_is("secret", "merged/project/.auth-secret");
    assert_int_equal(stat_of("merged/project").st_mtim.tv_sec, 2);
    assert_int_equal(stat_of("merged/project").st_mode & 07777, stat_of("lower/project").st_mode & 07777);
}

/* The lines of scratch_text about path and what is below it. */
static void text_of(const char *path, struct buf *to)
{
    struct tree_root root = scratch_box_walked(&box, NULL);
    _cleanup_free_ char *text = scratch_text(box.twin, &root);
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (strncmp(line, path, strlen(path)) == 0)
            buf_printf(to, "%s\n", line);
}

/* Everything a tree can hold, in a directory that only the upper has: it comes back as it was. */
static void a_whole_directory_comes_back_as_it_was(void **state)
{
    (void)state;
    struct exclude *rules = scratch_rules("modules/", NULL);
    scratch_mkdir("%s/merged/project/modules/x/y", box.scratch);
    scratch_write("content", "%s/merged/project/modules/x/file", box.scratch);
    int dir = scratch_open("%s/merged/project/modules", box.scratch);
    assert_int_equal(symlinkat("/etc/passwd", dir, "link"), 0);
    assert_int_equal(mkfifoat(dir, "pipe", 0640), 0);
    assert_int_equal(mknodat(dir, "null", S_IFCHR | 0600, makedev(1, 3)), 0);
    assert_int_equal(linkat(dir, "x/file", dir, "x/y/again", 0), 0);
    assert_int_equal(fchownat(dir, "link", 5, 6, AT_SYMLINK_NOFOLLOW), 0);
    char path[400];
    snprintf(path, sizeof(path), "%s/merged/project/modules/x", box.scratch);
    assert_int_equal(setxattr(path, "user.x", "y", 1, 0), 0);
    assert_int_equal(chmod(path, 01751), 0);
    int fd = openat(dir, "sparse", O_WRONLY | O_CREAT, 0600);
    assert_int_equal(pwrite(fd, "end", 3, 1000000), 3);
    assert_int_equal(pwrite(fd, "mid", 3, 400000), 3);
    close(fd);
    struct timespec times[2] = { { 3, 3 }, { -4, 4 } };
    assert_int_equal(futimens(dir, times), 0);
    close(dir);
    _cleanup_(buf_release) struct buf before = { 0 }, after = { 0 };
    text_of("project/modules", &before);
    assert_non_null(strstr(buf_string(&before), "project/modules/x/y/again type 7"));
    park(rules, 1);
    mount_anew();
    lay_back("", 0);
    text_of("project/modules", &after);
    assert_string_equal(buf_string(&after), buf_string(&before));
    assert_true(stat_of("merged/project/modules/sparse").st_blocks < 1000);
    exclude_free(rules);
}

/* [M] The raw upper file of a metadata copy is all zeros. Fails if it is renamed out of the upper. */
static void what_the_upper_has_in_part_is_copied_through_the_mount(void **state)
{
    (void)state;
    struct exclude *rules = scratch_rules("sub/", "a");
    char path[400];
    snprintf(path, sizeof(path), "%s/merged/project/a", box.scratch);
    assert_int_equal(chmod(path, 0600), 0);
    scratch_write("more", "%s/merged/project/sub/more", box.scratch);
    park(rules, 2);
    mount_anew();
    content_is("one", "state/stash/00000001/entry");
    content_is("three", "state/stash/00000002/entry/c");
    content_is("four", "state/stash/00000002/entry/deep/d");
    content_is("more", "state/stash/00000002/entry/more");
    content_is("joined", "state/stash/00000002/entry/l2");
    assert_int_equal(stat_of("state/stash/00000002/entry/l1").st_nlink, 2);
    /* Over the old base all of it is there, but for the mode of a and the new file. */
    lay_back("project/a at stash/00000001/entry\n", 1);
    content_is("more", "merged/project/sub/more");
    exclude_free(rules);
}

static void a_moved_directory_is_not_taken_for_the_upper_s_own(void **state)
{
    (void)state;
    struct exclude *rules = scratch_rules("moved/", NULL);
    int project = scratch_open("%s/merged/project", box.scratch);
    assert_int_equal(mkdirat(project, "moved", 0755), 0);
    assert_int_equal(renameat(project, "sub/deep", project, "moved/deep"), 0);
    close(project);
    park(rules, 1);
    mount_anew();
    content_is("four", "state/stash/00000001/entry/deep/d");
    exclude_free(rules);
}

static void names_of_one_secret_stay_one_file(void **state)
{
    (void)state;
    scratch_write("secret", "%s/merged/project/.auth-secret", box.scratch);
    int project = scratch_open("%s/merged/project", box.scratch);
    assert_int_equal(linkat(project, ".auth-secret", project, "copy", 0), 0);
    close(project);
    park(NULL, 2);
    mount_anew();
    lay_back("", 0);
    assert_int_equal(stat_of("merged/project/copy").st_nlink, 2);
    assert_int_equal(stat_of("merged/project/copy").st_ino, stat_of("merged/project/.auth-secret").st_ino);
}

static void what_meets_another_or_has_no_parent_stays_and_is_told(void **state)
{
    (void)state;
    struct exclude *rules = scratch_rules("*.o", NULL);
    scratch_write("old", "%s/merged/project/met.o", box.scratch);
    scratch_write("same", "%s/merged/project/same.o", box.scratch);
    scratch_mkdir("%s/merged/project/gone", box.scratch);
    scratch_mkdir("%s/merged/project/lured", box.scratch);
    scratch_write("old", "%s/merged/project/gone/x.o", box.scratch);
    scratch_write("old", "%s/merged/project/lured/x.o", box.scratch);
    struct stat same = stat_of("merged/project/same.o");
    park(rules, 4);
    mount_anew();
    scratch_write("newer", "%s/merged/project/met.o", box.scratch);
    scratch_write("same", "%s/merged/project/same.o", box.scratch);
    char path[400], outside[400];
    snprintf(path, sizeof(path), "%s/merged/project/same.o", box.scratch);
    struct timespec times[2] = { same.st_atim, same.st_mtim };
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    scratch_mkdir("%s/outside", box.scratch);
    snprintf(outside, sizeof(outside), "%s/outside", box.scratch);
    snprintf(path, sizeof(path), "%s/merged/project/lured", box.scratch);
    assert_int_equal(symlink(outside, path), 0); /* rule T5: not followed */
    lay_back("project/lured/x.o at stash/00000004/entry\nproject/gone/x.o at stash/00000003/entry\n"
             "project/met.o at stash/00000001/entry\n",
             3);
    content_is("newer", "merged/project/met.o");
    content_is("old", "state/stash/00000001/entry");
    assert_int_equal(stat_of("outside").st_nlink, 2);
    snprintf(path, sizeof(path), "%s/outside/x.o", box.scratch);
    assert_int_equal(access(path, F_OK), -1);
    exclude_free(rules);
}

/* The later entry wins its place, the earlier one is not lost. */
static void the_latest_entry_comes_first(void **state)
{
    (void)state;
    scratch_write("first", "%s/merged/project/.auth-secret", box.scratch);
    park(NULL, 1);
    mount_anew();
    scratch_write("second", "%s/merged/project/.auth-secret", box.scratch);
    park(NULL, 2);
    mount_anew();
    lay_back("project/.auth-secret at stash/00000001/entry\n", 1);
    content_is("second", "merged/project/.auth-secret");
}

static void a_directory_that_is_there_gets_what_it_lacks(void **state)
{
    (void)state;
    struct exclude *rules = scratch_rules("out/", NULL);
    scratch_mkdir("%s/merged/project/out/in", box.scratch);
    scratch_write("1", "%s/merged/project/out/a", box.scratch);
    scratch_write("1", "%s/merged/project/out/in/b", box.scratch);
    scratch_write("1", "%s/merged/project/out/in/c", box.scratch);
    park(rules, 1);
    mount_anew();
    scratch_mkdir("%s/merged/project/out/in", box.scratch);
    scratch_write("2", "%s/merged/project/out/in/b", box.scratch);
    lay_back("project/out/in/b at stash/00000001/entry/in/b\n", 1);
    content_is("1", "merged/project/out/a");
    content_is("1", "merged/project/out/in/c");
    content_is("2", "merged/project/out/in/b");
    content_is("1", "state/stash/00000001/entry/in/b");
    exclude_free(rules);
}

static void plain_directories_keep_their_times_and_other_file_systems_get_copies(void **state)
{
    (void)state;
    struct error e = { 0 };
    char path[400];
    scratch_mkdir("%s/plain/sub", box.scratch);
    snprintf(path, sizeof(path), "%s/plain", box.scratch);
    for (int other = 0; other < 2; other++) {
        if (other) {
            assert_int_equal(mount("tmpfs", path, "tmpfs", 0, NULL), 0);
            scratch_mkdir("%s/plain/sub", box.scratch);
        }
        scratch_mkdir("%s/plain/sub/dir", box.scratch);
        scratch_write("x", "%s/plain/sub/dir/file", box.scratch);
        struct stat before = stat_of("plain/sub");
        struct stash_list list = { 0 };
        stash_list_add(&list, "project/sub/dir", true, NULL);
        stash_list_add(&list, "project/sub/dir", true, NULL); /* told twice: no harm */
        stash_list_add(&list, "project/sub/none", false, NULL);
        struct stash *s = open_stash(other ? 1 : 0);
        struct stash_tree from = { .project = scratch_open("%s/plain", box.scratch), .home = -1, .upper = -1 };
        if (stash_take(s, &from, &list, &e) < 0)
            fail_msg("%s", e.text);
        assert_int_equal(stash_count(s), other ? 2 : 1);
        stash_close(s);
        stash_list_release(&list);
        content_is("x", other ? "state/stash/00000002/entry/file" : "state/stash/00000001/entry/file");
        snprintf(path, sizeof(path), "%s/plain/sub/dir", box.scratch);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(stat_of("plain/sub").st_mtim.tv_nsec, before.st_mtim.tv_nsec);
        close(from.project);
        snprintf(path, sizeof(path), "%s/plain", box.scratch);
    }
    assert_int_equal(umount(path), 0);
}

static void what_a_crash_left_is_cleared_away(void **state)
{
    (void)state;
    scratch_write("secret", "%s/merged/project/.auth-secret", box.scratch);
    park(NULL, 1);
    scratch_mkdir("%s/state/stash/00000005", box.scratch); /* a slot without entry */
    scratch_write("project/x", "%s/state/stash/00000005/path", box.scratch);
    mount_anew();
    scratch_mkdir("%s/merged/project/%s/half", box.scratch, COPY_TEMPORARY);
    stash_close(open_stash(1));
    lay_back("", 0);
    char path[400];
    snprintf(path, sizeof(path), "%s/merged/project/%s", box.scratch, COPY_TEMPORARY);
    assert_int_equal(access(path, F_OK), -1);
    content_is("secret", "merged/project/.auth-secret");
}

/* The C library's function, with an error of the disk now and then; this program has its own. */
static bool disk_fails;

int fstatat(int directory, const char *name, struct stat *ret, int flags)
{
    if (disk_fails && strcmp(name, "entry") == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_newfstatat, directory, name, ret, flags);
}

/* Fails if an entry that cannot be looked at is taken for one that is not there, and its place for empty. */
static void an_error_of_the_disk_takes_nothing_away(void **state)
{
    (void)state;
    struct error e = { 0 };
    struct stash *s = NULL;
    scratch_write("secret", "%s/merged/project/.auth-secret", box.scratch);
    park(NULL, 1);
    disk_fails = true;
    int r = stash_open(home_dir, &s, &e);
    disk_fails = false;
    assert_int_equal(r, -EIO);
    stash_close(open_stash(1));
    mount_anew();
    lay_back("", 0);
    content_is("secret", "merged/project/.auth-secret");
}

#define stash_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        stash_test(a_secret_comes_back_and_its_directory_keeps_its_times),
        stash_test(a_whole_directory_comes_back_as_it_was),
        stash_test(what_the_upper_has_in_part_is_copied_through_the_mount),
        stash_test(a_moved_directory_is_not_taken_for_the_upper_s_own),
        stash_test(names_of_one_secret_stay_one_file),
        stash_test(what_meets_another_or_has_no_parent_stays_and_is_told),
        stash_test(the_latest_entry_comes_first),
        stash_test(a_directory_that_is_there_gets_what_it_lacks),
        stash_test(plain_directories_keep_their_times_and_other_file_systems_get_copies),
        stash_test(what_a_crash_left_is_cleared_away),
        stash_test(an_error_of_the_disk_takes_nothing_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
