/* SPDX-License-Identifier: MIT */
#include "index/base/remove.h"

#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cmocka.h>

static char directory[] = "/tmp/test-remove.XXXXXX";
static int top = -1;

static int start(void **state)
{
    strcpy(directory + sizeof(directory) - 7, "XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return top < 0 || chdir(directory) < 0;
}

static int stop(void **state)
{
    close(top);
    return chdir("/") || rmdir(directory);
}

static void make_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void a_tree_goes_and_what_its_links_name_stays(void **state)
{
    assert_int_equal(mkdir("other", 0700), 0);
    make_file("other/kept");
    assert_int_equal(mkdir("tree", 0700), 0);
    assert_int_equal(mkdir("tree/in", 0), 0);
    assert_int_equal(mkdir("tree/in/deep", 0700), 0);
    make_file("tree/in/deep/file");
    assert_int_equal(symlink("../other", "tree/link"), 0);
    assert_int_equal(remove_tree(top, "tree", NULL), 0);
    assert_int_equal(remove_tree(top, "tree", NULL), 0); /* absent */
    assert_int_equal(access("tree", F_OK), -1);
    assert_int_equal(unlink("other/kept"), 0);
    assert_int_equal(rmdir("other"), 0);
}

/* Without RESOLVE_NO_XDEV what is mounted is emptied before the directory under it cannot be removed. */
static void what_is_mounted_inside_is_not_touched(void **state)
{
    assert_int_equal(mkdir("other", 0700), 0);
    make_file("other/kept");
    assert_int_equal(mkdir("tree", 0700), 0);
    assert_int_equal(mkdir("tree/point", 0700), 0);
    assert_int_equal(mount("other", "tree/point", NULL, MS_BIND, NULL), 0);
    assert_int_equal(remove_tree(top, "tree", NULL), -EBUSY);
    assert_int_equal(access("other/kept", F_OK), 0);
    assert_int_equal(umount("tree/point"), 0);
    assert_int_equal(remove_tree(top, "tree", NULL), 0);
    assert_int_equal(unlink("other/kept"), 0);
    assert_int_equal(rmdir("other"), 0);
}

static bool set_immutable(const char *path, bool on)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), flags = on ? FS_IMMUTABLE_FL : 0;
    assert_true(fd >= 0);
    int r = ioctl(fd, FS_IOC_SETFLAGS, &flags);
    close(fd);
    return r == 0;
}

static void an_entry_of_any_kind_goes(void **state)
{
    make_file("file");
    assert_int_equal(symlink("nowhere", "link"), 0);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(remove_tree(top, "file", NULL), 0);
    assert_int_equal(remove_tree(top, "link", NULL), 0);
    assert_int_equal(remove_tree(top, "fifo", NULL), 0);
}

static void what_is_immutable_is_told_so(void **state)
{
    assert_int_equal(mkdir("tree", 0700), 0);
    make_file("tree/file");
    bool can = set_immutable("tree/file", true);
    int r = remove_tree(top, "tree", NULL);
    if (can)
        set_immutable("tree/file", false);
    assert_int_equal(remove_tree(top, "tree", NULL), 0);
    if (!can)
        skip();
    assert_int_equal(r, -EPERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_goes_and_what_its_links_name_stays),
        cmocka_unit_test(what_is_mounted_inside_is_not_touched),
        cmocka_unit_test(an_entry_of_any_kind_goes),
        cmocka_unit_test(what_is_immutable_is_told_so),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
