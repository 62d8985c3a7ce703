/* SPDX-License-Identifier: MIT */
#include "fusefs/overlay.h"

#include "fusefs/joins.h"
#include "fusefs/mount.h"
#include "index/base/mem.h"
#include "tests/unit/mounted.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cmocka.h>

#define BIG_SIZE (3u * 1024 * 1024)

static uint8_t big[BIG_SIZE];

#define LEVEL "/a_directory_name_of_some_fifty_bytes_________________"
#define DEEP "project" LEVEL LEVEL LEVEL LEVEL LEVEL LEVEL LEVEL LEVEL LEVEL LEVEL LEVEL LEVEL

static const struct twin_file files[] = {
    { "home/note", .content = "home" },
    { "project/file", .content = "lower bytes", .mtime_ns = 1234567890123456789 },
    { "project/big", .content = big, .len = BIG_SIZE },
    { "project/sparse", .content = "front", .len = 5, .size = 64u * 1024 * 1024 },
    { "project/dir/sub/deep", .content = "deep" },
    { "project/links", ENTRY_DIRECTORY, .mtime_ns = 1000000000000000001 },
    { "project/links/a", .content = "shared bytes", .mode = 04755, .uid = 7, .gid = 8, .mtime_ns = 987654321123456789 },
    { "project/links/b", ENTRY_LINK, .target = "project/links/a" },
    { "project/links/other/c", ENTRY_LINK, .target = "project/links/a" },
    { "project/links/sym1", ENTRY_SYMLINK, .target = "nowhere" },
    { "project/links/sym2", ENTRY_LINK, .target = "project/links/sym1" },
    { DEEP "/x", .content = "deep down" },
    { DEEP "/y", ENTRY_LINK, .target = DEEP "/x" },
    { DEEP "/alone", .content = "alone" },
};

static char *names_of_a[] = { (char *)"project/links/a", (char *)"project/links/b", (char *)"project/links/other/c" };
static char *names_of_sym[] = { (char *)"project/links/sym1", (char *)"project/links/sym2" };
static char *names_of_x[] = { (char *)DEEP "/x", (char *)DEEP "/y" };
static const struct link_group groups[] = { { names_of_a, 3 }, { names_of_sym, 2 }, { names_of_x, 2 } };

#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static struct tree_root scene(struct twin *t, struct link_group **ret_groups, size_t *ret_count)
{
    *ret_groups = (struct link_group *)groups;
    *ret_count = GROUPS;
    return twin_tree(t, files, sizeof(files) / sizeof(files[0]));
}

static struct mounted *m;

static int start(void **state)
{
    m = mounted_start("scene", true);
    return chdir(m->merged);
}

static int stop(void **state)
{
    int r = chdir("/");
    mounted_stop(m);
    return r;
}

static void join(void)
{
    struct error e = { 0 };
    _cleanup_close_ int root = open(m->merged, O_RDONLY | O_DIRECTORY);
    if (joins_make(root, groups, GROUPS, &(struct joins_told){ 0 }, &e) < 0)
        fail_msg("%s", e.text);
}

static void remount(void)
{
    struct error e = { 0 };
    assert_int_equal(chdir("/"), 0);
    if (mount_unmount(m->merged, false, &e) < 0)
        fail_msg("%s", e.text);
    mounted_overlay(m);
    assert_int_equal(chdir(m->merged), 0);
}

static void assert_text(const char *path, const char *want)
{
    char got[64] = "";
    _cleanup_close_ int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_true(read(fd, got, sizeof(got) - 1) >= 0);
    assert_string_equal(got, want);
}

static void write_text(const char *path, int flags, const char *text)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | flags, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int64_t mtime_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static void a_write_goes_to_the_upper_and_leaves_the_rest(void **state)
{
    struct stat before, after;
    assert_int_equal(stat("project/file", &before), 0);
    write_text("project/file", O_APPEND, "!");
    assert_text("project/file", "lower bytes!");
    assert_int_equal(stat("project/file", &after), 0);
    assert_int_equal(before.st_ino, after.st_ino); /* complaint: inode numbers change at copy-up */
    char path[128];
    snprintf(path, sizeof(path), "%s/project/file", m->lower);
    assert_text(path, "lower bytes");
}

/* O1: fails without redirect_dir (EXDEV) and without metacopy (content would be read). */
static void renames_and_chmod_read_no_content(void **state)
{
    assert_int_equal(rename("project/dir", "project/moved"), 0);
    assert_int_equal(rename("project/moved/sub/deep", "home/deep"), 0);
    assert_int_equal(chmod("project/big", 0600), 0);
    assert_int_equal(lchown("project/file", 5, 6), 0);
    assert_int_equal(m->shared->data_gets, 0);
    remount();
    assert_text("home/deep", "deep");
    assert_int_equal(access("project/moved/sub", F_OK), 0);
    assert_int_equal(access("project/dir", F_OK), -1);
    struct stat st;
    assert_int_equal(stat("project/big", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

/* O7: without SEEK_DATA a sparse file is copied up whole. */
static void copy_up_keeps_holes(void **state)
{
    struct stat st;
    write_text("project/sparse", 0, "FRONT");
    assert_int_equal(stat("project/sparse", &st), 0);
    assert_int_equal(st.st_size, 64 * 1024 * 1024);
    assert_true(st.st_blocks * 512 <= 2 * 1024 * 1024); /* the kernel copies by the MiB */
}

static void hard_links_are_joined_without_reading(void **state)
{
    struct stat a, b, c, sym;
    join();
    assert_int_equal(m->shared->data_gets, 0);
    assert_int_equal(stat("project/links/a", &a), 0);
    assert_int_equal(stat("project/links/b", &b), 0);
    assert_int_equal(stat("project/links/other/c", &c), 0);
    assert_int_equal(lstat("project/links/sym2", &sym), 0);
    assert_int_equal(a.st_nlink, 3);
    assert_int_equal(a.st_ino, b.st_ino);
    assert_int_equal(a.st_ino, c.st_ino);
    assert_int_equal(sym.st_nlink, 2);
    assert_int_equal(a.st_mode & 07777, 04755); /* chown(2), or a write, would drop it */
    assert_int_equal(a.st_uid, 7);
    assert_int_equal(a.st_gid, 8);
    assert_int_equal(mtime_of("project/links/b"), 987654321123456789);
    assert_int_equal(mtime_of("project/links"), 1000000000000000001);
    assert_int_equal(mtime_of("project/links/other"), 1600000000000000000);
    assert_text("project/links/other/c", "shared bytes");
    assert_int_equal(access("project/links/.ag-box-join-1", F_OK), -1);
}

static void expect_joined(const char *one, const char *other, const char *text)
{
    struct stat a, b;
    assert_int_equal(stat(one, &a), 0);
    assert_int_equal(stat(other, &b), 0);
    assert_int_equal(a.st_ino, b.st_ino);
    assert_text(one, text);
    assert_text(other, text);
}

/*
 * A name whose lower inode is not in the kernel's cache is held, then the lower inode comes back and the other name is
 * looked up. Fails with nlink 1 below: overlayfs then knows the file by its lower inode, if it finds one.
 */
static void show_one_inode_whatever_is_cached(void)
{
    char below[128];
    struct stat st;
    snprintf(below, sizeof(below), "%s/project/links/a", m->lower);
    mounted_drop_caches();
    int held = open("project/links/b", O_RDONLY);
    assert_int_equal(stat(below, &st), 0);
    assert_int_equal(st.st_nlink, 3); /* not all kernels would show the difference */
    expect_joined("project/links/b", "project/links/other/c", "new");
    close(held);
}

static void joined_names_stay_one_file_through_writes_renames_and_remounts(void **state)
{
    join();
    mounted_drop_caches();
    expect_joined("project/links/a", "project/links/b", "shared bytes");
    write_text("project/links/b", O_TRUNC, "new");
    expect_joined("project/links/a", "project/links/other/c", "new");
    show_one_inode_whatever_is_cached();
    assert_int_equal(unlink("project/links/a"), 0); /* the first name */
    mounted_drop_caches();
    expect_joined("project/links/b", "project/links/other/c", "new");
    assert_int_equal(rename("project/links/other/c", "home/c"), 0);
    remount();
    expect_joined("project/links/b", "home/c", "new");
    write_text("home/c", O_APPEND, "er");
    mounted_drop_caches();
    expect_joined("project/links/b", "home/c", "newer");
    struct stat st;
    assert_int_equal(stat("home/c", &st), 0);
    assert_int_equal(st.st_nlink, 2);
}

/* Still lazy: the first name may go before anyone has read the content. */
static void joined_names_find_their_content_after_the_first_is_gone(void **state)
{
    unsigned before = m->shared->data_gets;
    join();
    remount();
    assert_int_equal(unlink("project/links/a"), 0);
    assert_int_equal(rename("project/links", "project/renamed"), 0);
    mounted_drop_caches();
    assert_int_equal(m->shared->data_gets, before);
    expect_joined("project/renamed/b", "project/renamed/other/c", "shared bytes");
    remount();
    expect_joined("project/renamed/b", "project/renamed/other/c", "shared bytes");
    write_text("project/renamed/b", O_APPEND, "!");
    expect_joined("project/renamed/b", "project/renamed/other/c", "shared bytes!");
}

/* Without attributes in the lower the overlay must still keep its own, and files theirs. */
static void all_of_this_holds_when_the_lower_has_no_attributes(void **state)
{
    char value[8];
    m->shared->no_xattrs = 1;
    mounted_await_start(m, mounted_kill(m));
    assert_int_equal(getxattr("home/note", "trusted.x", value, sizeof(value)), -1);
    assert_int_equal(errno, ENOTSUP);
    assert_int_equal(setxattr("home/note", "trusted.x", "mine", 4, 0), 0);
    assert_int_equal(getxattr("home/note", "trusted.x", value, sizeof(value)), 4);
    assert_text("home/note", "home");
    joined_names_find_their_content_after_the_first_is_gone(state);
    assert_int_equal(rename("project/dir", "project/moved"), 0);
    remount();
    assert_text("project/moved/sub/deep", "deep");
}

/* O3: with redirect_max at its default both give EXDEV at such a depth. */
static void deep_paths_can_be_joined_and_renamed(void **state)
{
    join();
    expect_joined(DEEP "/x", DEEP "/y", "deep down");
    assert_int_equal(rename(DEEP "/alone", "home/alone"), 0);
    assert_int_equal(rename("project" LEVEL LEVEL, "home/moved"), 0);
    remount();
    assert_text("home/alone", "alone");
    assert_int_equal(access("home/moved" LEVEL LEVEL, F_OK), 0);
}

static void a_group_that_is_not_there_is_damage(void **state)
{
    char *wrong[] = { (char *)"project/links/a", (char *)"project/links/gone" };
    const struct link_group group = { wrong, 2 };
    struct error e = { 0 };
    _cleanup_close_ int root = open(m->merged, O_RDONLY | O_DIRECTORY);
    assert_int_equal(joins_make(root, &group, 1, &(struct joins_told){ 0 }, &e), -EBADMSG);
    assert_int_equal(e.kind, ERROR_DAMAGED);
}

/* P3: what keeps an overlay from being made read-only, through a bind too, and what does not. */
static void freeze_is_refused_while_a_file_is_written(void **state)
{
    struct error e = { 0 };
    char bind[128];
    snprintf(bind, sizeof(bind), "%s/bind", m->directory);
    assert_int_equal(mkdir(bind, 0700), 0);
    char from[128];
    snprintf(from, sizeof(from), "%s/project", m->merged);
    assert_int_equal(mount_bind(from, bind, false, &e), 0);
    char path[160];
    snprintf(path, sizeof(path), "%s/file", bind);

    int fd = open(path, O_RDWR);
    assert_int_equal(overlay_freeze(m->merged, &e), -EBUSY);
    assert_int_equal(e.kind, ERROR_BUSY);

    char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    p[0] = 'L';
    assert_int_equal(overlay_freeze(m->merged, &e), -EBUSY);
    munmap(p, 4096);

    snprintf(path, sizeof(path), "%s/unlinked", bind);
    write_text(path, O_CREAT, "x");
    fd = open(path, O_RDONLY);
    unlink(path);
    assert_int_equal(overlay_freeze(m->merged, &e), -EBUSY);
    close(fd);

    fd = open("project/big", O_RDONLY); /* a reader, and our working directory, do not hinder */
    assert_int_equal(overlay_freeze(m->merged, &e), 0);
    snprintf(path, sizeof(path), "%s/late", bind);
    assert_int_equal(open(path, O_WRONLY | O_CREAT, 0600), -1);
    assert_int_equal(errno, EROFS);
    assert_int_equal(overlay_thaw(m->merged, &e), 0);
    write_text(path, O_CREAT, "thawed");
    close(fd);
    assert_int_equal(mount_unmount(bind, false, &e), 0);
}

static void paths_with_separators_can_be_mounted(void **state)
{
    struct error e = { 0 };
    char base[96], upper[128], work[128], merged[128];
    snprintf(base, sizeof(base), "%s/a,b:c\\d", m->directory);
    snprintf(upper, sizeof(upper), "%s/upper", base);
    snprintf(work, sizeof(work), "%s/work", base);
    snprintf(merged, sizeof(merged), "%s/merged", base);
    assert_true(mkdir(base, 0700) == 0 && mkdir(merged, 0700) == 0);
    const struct overlay o = { m->lower, upper, work, merged, "odd" };
    assert_int_equal(overlay_make_upper(&o, &e), 0);
    if (overlay_mount(&o, &e) < 0)
        fail_msg("%s", e.text);
    struct mount_found found;
    assert_int_equal(mount_find(merged, &found, &e), 0);
    assert_string_equal(found.type, "overlay");
    assert_string_equal(found.source, "odd");
    assert_int_equal(mount_unmount(merged, false, &e), 0);
    assert_int_equal(mount_find(merged, &found, &e), -ENOENT);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < BIG_SIZE; i++)
        big[i] = (uint8_t)(i * 2654435761u >> 13);
    static const struct mounted_scenes scenes[] = { { "scene", scene }, { NULL, NULL } };
    mounted_main(argc, argv, scenes);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_write_goes_to_the_upper_and_leaves_the_rest, start, stop),
        cmocka_unit_test_setup_teardown(renames_and_chmod_read_no_content, start, stop),
        cmocka_unit_test_setup_teardown(copy_up_keeps_holes, start, stop),
        cmocka_unit_test_setup_teardown(hard_links_are_joined_without_reading, start, stop),
        cmocka_unit_test_setup_teardown(joined_names_stay_one_file_through_writes_renames_and_remounts, start, stop),
        cmocka_unit_test_setup_teardown(joined_names_find_their_content_after_the_first_is_gone, start, stop),
        cmocka_unit_test_setup_teardown(all_of_this_holds_when_the_lower_has_no_attributes, start, stop),
        cmocka_unit_test_setup_teardown(deep_paths_can_be_joined_and_renamed, start, stop),
        cmocka_unit_test_setup_teardown(a_group_that_is_not_there_is_damage, start, stop),
        cmocka_unit_test_setup_teardown(freeze_is_refused_while_a_file_is_written, start, stop),
        cmocka_unit_test_setup_teardown(paths_with_separators_can_be_mounted, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
