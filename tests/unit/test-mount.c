/* SPDX-License-Identifier: MIT */
#include "fusefs/mount.h"

#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static char directory[] = "/tmp/test-mount.XXXXXX";

static int start(void **state)
{
    strcpy(directory + sizeof(directory) - 7, "XXXXXX");
    return !mkdtemp(directory) || chdir(directory) < 0;
}

static int stop(void **state)
{
    return chdir("/") || rmdir(directory);
}

static char *at(const char *name)
{
    static char path[2][200];
    static unsigned which;
    which = !which;
    snprintf(path[which], sizeof(path[0]), "%s/%s", directory, name);
    return path[which];
}

/* mountinfo escapes space, tab, newline and backslash; the topmost mount is the last line. */
static void odd_paths_and_stacked_mounts_are_found(void **state)
{
    struct error e = { 0 };
    struct mount_found found;
    unsigned below;
    char first[256];
    assert_int_equal(mkdir("odd \\ \n\tname", 0700), 0);
    assert_int_equal(mount_find(at("odd \\ \n\tname"), &found, &e), -ENOENT);
    assert_int_equal(e.kind, ERROR_UNKNOWN);
    assert_int_equal(mount("under", at("odd \\ \n\tname"), "tmpfs", 0, NULL), 0);
    assert_int_equal(mount("o ver", at("odd \\ \n\tname"), "tmpfs", MS_RDONLY, NULL), 0);
    assert_int_equal(mount_find(at("odd \\ \n\tname"), &found, &e), 0);
    assert_string_equal(found.source, "o ver");
    assert_string_equal(found.type, "tmpfs");
    assert_true(found.read_only);
    assert_int_equal(mount_count_below(directory, &below, first, sizeof(first), &e), 0);
    assert_int_equal(below, 2);
    assert_string_equal(first, at("odd \\ \n\tname"));
    assert_int_equal(mount_count_below(at("odd"), &below, NULL, 0, &e), 0); /* a prefix of the name, not of the path */
    assert_int_equal(below, 0);
    assert_int_equal(mount_unmount(at("odd \\ \n\tname"), false, &e), 0);
    assert_int_equal(mount_find(at("odd \\ \n\tname"), &found, &e), 0);
    assert_string_equal(found.source, "under");
    assert_int_equal(mount_unmount(at("odd \\ \n\tname"), false, &e), 0);
    assert_int_equal(mount_unmount(at("odd \\ \n\tname"), false, &e), 0); /* nothing mounted: nothing to do */
    assert_int_equal(mount_unmount(at("nowhere"), false, &e), 0);
    rmdir("odd \\ \n\tname");
}

static void a_busy_mount_is_said_to_be_and_can_be_detached(void **state)
{
    struct error e = { 0 };
    mkdir("busy", 0700);
    assert_int_equal(mount("test", at("busy"), "tmpfs", 0, NULL), 0);
    _cleanup_close_ int fd = open("busy", O_RDONLY);
    assert_int_equal(mount_unmount(at("busy"), false, &e), -EBUSY);
    assert_int_equal(e.kind, ERROR_BUSY);
    assert_int_equal(mount_unmount(at("busy"), true, &e), 0);
    rmdir("busy");
}

static void a_bind_can_be_read_only_by_itself(void **state)
{
    struct error e = { 0 };
    mkdir("from", 0700);
    mkdir("to", 0700);
    assert_int_equal(mount_bind(at("from"), at("to"), true, &e), 0);
    assert_int_equal(open("to/x", O_WRONLY | O_CREAT, 0600), -1);
    assert_int_equal(errno, EROFS);
    _cleanup_close_ int fd = open("from/x", O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    unlink("from/x");
    assert_int_equal(mount_unmount(at("to"), false, &e), 0);
    rmdir("from");
    rmdir("to");
}

/* P8: a mount that lives on in another namespace is seen; fails if only our own mountinfo is read. */
static void a_mount_in_another_namespace_is_seen(void **state)
{
    struct error e = { 0 };
    int ready[2], done[2];
    pid_t seen;
    char byte;
    mkdir("shared", 0700);
    assert_int_equal(mount("test", at("shared"), "tmpfs", 0, "nr_inodes=4711"), 0);
    assert_true(pipe(ready) == 0 && pipe(done) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        unshare(CLONE_NEWNS);
        (void)!write(ready[1], "r", 1);
        close(done[1]);
        (void)!read(done[0], &byte, 1);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(mount_unmount(at("shared"), false, &e), 0);
    assert_int_equal(mount_seen_anywhere("tmpfs", "nr_inodes=4711", &seen, &e), 0);
    assert_int_equal(seen, pid);
    close(done[1]);
    waitpid(pid, NULL, 0);
    assert_int_equal(mount_seen_anywhere("tmpfs", "nr_inodes=4711", &seen, &e), 0);
    assert_int_equal(seen, 0);
    close(done[0]);
    close(ready[0]);
    close(ready[1]);
    rmdir("shared");
}

/* O12. Fails without the immutable flag (root ignores mode 0000), where the file system knows it. */
static void a_guarded_mount_point_takes_no_files(void **state)
{
    struct error e = { 0 };
    struct stat st;
    assert_int_equal(mount_point_guard(at("point"), &e), 0);
    assert_int_equal(mount_point_guard(at("point"), &e), 0);
    assert_int_equal(stat("point", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0);
    int flags = 0;
    _cleanup_close_ int dir = open("point", O_RDONLY | O_DIRECTORY);
    if (ioctl(dir, FS_IOC_GETFLAGS, &flags) == 0) {
        assert_true(flags & FS_IMMUTABLE_FL);
        assert_int_equal(mkdir("point/x", 0700), -1);
        assert_int_equal(rmdir("point"), -1);
    }
    assert_int_equal(mount("test", at("point"), "tmpfs", 0, NULL), 0); /* mounting is still possible */
    assert_int_equal(mount_unmount(at("point"), false, &e), 0);
    assert_int_equal(mount_point_free(at("point"), &e), 0);

    mkdir("full", 0700);
    mkdir("full/x", 0700);
    assert_int_equal(mount_point_guard(at("full"), &e), -ENOTEMPTY);
    assert_int_equal(e.kind, ERROR_BUSY);
    stat("full", &st);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(mount_point_free(at("full"), &e), -ENOTEMPTY);
    rmdir("full/x");
    rmdir("full");
}

int main(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return 99;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(odd_paths_and_stacked_mounts_are_found, start, stop),
        cmocka_unit_test_setup_teardown(a_busy_mount_is_said_to_be_and_can_be_detached, start, stop),
        cmocka_unit_test_setup_teardown(a_bind_can_be_read_only_by_itself, start, stop),
        cmocka_unit_test_setup_teardown(a_mount_in_another_namespace_is_seen, start, stop),
        cmocka_unit_test_setup_teardown(a_guarded_mount_point_takes_no_files, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
