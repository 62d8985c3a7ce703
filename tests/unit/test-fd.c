/* SPDX-License-Identifier: MIT */
#include "index/base/fd.h"

#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    char path[32];
    int dir;
};

static int make_place(void **state)
{
    static struct place place;
    strcpy(place.path, "/tmp/test-fd.XXXXXX");
    place.dir = open(mkdtemp(place.path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = &place;
    return place.dir < 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    close(place->dir);
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", place->path);
    return system(command);
}

static int place_fd(void **state)
{
    return ((struct place *)*state)->dir;
}

static void replaced_file_has_the_new_bytes_and_mode_0600(void **state)
{
    int dir = place_fd(state);
    assert_int_equal(fd_replace(dir, "head", "one", 3, NULL), 0);
    assert_int_equal(fd_replace(dir, "head", "second", 6, NULL), 0);

    char got[16];
    struct stat st;
    _cleanup_close_ int fd = openat(dir, "head", O_RDONLY);
    assert_int_equal(read(fd, got, sizeof(got)), 6);
    assert_memory_equal(got, "second", 6);
    fstat(fd, &st);
    assert_int_equal(st.st_mode & 07777, 0600);
}

/* What the C library's functions of these names were asked for, in order; this program has its own. */
static char calls[64];

int fsync(int fd)
{
    struct stat st;
    size_t len = strlen(calls);
    snprintf(calls + len, sizeof(calls) - len, fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ? "directory " : "file ");
    return fdatasync(fd);
}

/* Fails without either fsync: a power cut could leave an empty file, or the old one after success was told. */
static void the_bytes_are_on_disk_before_success_is_told(void **state)
{
    calls[0] = '\0';
    assert_int_equal(fd_replace(place_fd(state), "head", "one", 3, NULL), 0);
    assert_string_equal(calls, "file directory ");
}

/* Fails if fd_replace writes in place: then nothing would be in its way. */
static void a_failed_replace_leaves_the_old_bytes_and_no_litter(void **state)
{
    int dir = place_fd(state);
    struct error e = { 0 };
    assert_int_equal(fd_replace(dir, "kept", "old", 3, NULL), 0);
    assert_int_equal(fd_replace(dir, "kept/x", "new", 3, &e), -EINVAL);
    mkdirat(dir, ".kept.new", 0700); /* in the way of the temporary file */
    assert_true(fd_replace(dir, "kept", "new", 3, &e) < 0);
    assert_string_equal(e.text, "replace kept: create .kept.new: Is a directory");
    assert_int_equal(unlinkat(dir, ".kept.new", AT_REMOVEDIR), 0);

    char got[4];
    _cleanup_close_ int fd = openat(dir, "kept", O_RDONLY);
    assert_int_equal(read(fd, got, sizeof(got)), 3);
    assert_memory_equal(got, "old", 3);
}

static void a_file_that_ends_early_is_damaged(void **state)
{
    char got[8];
    struct error e = { 0 };
    _cleanup_close_ int fd = openat(place_fd(state), "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(fd_pwrite_all(fd, "cdef", 4, 2, NULL), 0);
    assert_int_equal(fd_pwrite_all(fd, "ab", 2, 0, NULL), 0);
    assert_int_equal(fd_pread_all(fd, got, 3, 3, NULL), 0);
    assert_memory_equal(got, "def", 3);
    assert_int_equal(fd_pread_all(fd, got, 4, 3, &e), -EIO);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_string_equal(e.text, "the file ends 1 bytes too early");
}

static void a_whole_file_is_read_up_to_its_bound_only(void **state)
{
    int dir = place_fd(state);
    struct error e = { 0 };
    _cleanup_free_ char *big = mem_new(1, 200000);
    _cleanup_(buf_release) struct buf b = { 0 };
    memset(big, 'x', 200000);
    assert_int_equal(fd_replace(dir, "big", big, 200000, NULL), 0);
    buf_add(&b, "before", 6);

    assert_int_equal(fd_read_file(dir, "big", 199999, &b, &e), -EFBIG);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_int_equal(fd_read_file(dir, "absent", 10, &b, &e), -ENOENT);
    assert_string_equal(buf_string(&b), "before");
    assert_int_equal(fd_read_file(dir, "big", 200000, &b, &e), 0);
    assert_int_equal(b.len, 200000);
    assert_memory_equal(b.data, big, 200000);
}

static void missing_directories_are_made_and_a_file_in_the_way_is_told(void **state)
{
    struct place *place = *state;
    struct error e = { 0 };
    struct stat st;
    _cleanup_free_ char *path = mem_printf("%s/a//b/c/", place->path);
    assert_int_equal(fd_make_directories(path, 0750, &e), 0);
    assert_int_equal(fd_make_directories(path, 0750, &e), 0);
    assert_int_equal(fstatat(place->dir, "a/b/c", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0750);

    assert_int_equal(fd_replace(place->dir, "file", "", 0, NULL), 0);
    _cleanup_free_ char *blocked = mem_printf("%s/file", place->path);
    assert_int_equal(fd_make_directories(blocked, 0750, &e), -ENOTDIR);
    assert_int_equal(fd_make_directories("relative", 0750, &e), -EINVAL);
}

/* Fails with plain openat: every one of these would be opened. */
static void a_tree_cannot_lead_us_out_of_it(void **state)
{
    int dir = place_fd(state);
    assert_int_equal(mkdirat(dir, "d", 0700), 0);
    assert_int_equal(fd_replace(dir, "inside", "", 0, NULL), 0);
    assert_int_equal(symlinkat("/etc", dir, "out"), 0);
    assert_int_equal(symlinkat("inside", dir, "link"), 0);
    assert_int_equal(symlinkat("/proc/self/fd", dir, "magic"), 0);

    assert_int_equal(fd_open_beneath(dir, "out/passwd", O_RDONLY, 0), -ELOOP);
    assert_int_equal(fd_open_beneath(dir, "link", O_RDONLY, 0), -ELOOP);
    assert_int_equal(fd_open_beneath(dir, "magic", O_RDONLY, 0), -ELOOP);
    assert_int_equal(fd_open_beneath(dir, "../etc/passwd", O_RDONLY, 0), -EXDEV);
    assert_int_equal(fd_open_beneath(dir, "/etc/passwd", O_RDONLY, 0), -EXDEV);
    assert_int_equal(fd_open_beneath(dir, "absent", O_RDONLY, 0), -ENOENT);

    /* A mode beside flags that create nothing must not matter: O_DIRECTORY is a part of O_TMPFILE. */
    _cleanup_close_ int sub = fd_open_beneath(dir, "d", O_RDONLY | O_DIRECTORY, 0644);
    assert_true(sub >= 0);
    _cleanup_close_ int made = fd_open_beneath(dir, "d/new", O_RDWR | O_CREAT | O_EXCL, 0640);
    assert_true(made >= 0);
    assert_int_equal(fcntl(made, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    struct stat st;
    fstat(made, &st);
    assert_int_equal(st.st_mode & 07777, 0640);
}

/* Fails if whoever releases twice closes what another has opened in between. */
static void what_was_closed_is_not_closed_again(void **state)
{
    int dir = place_fd(state), fd = dup(dir), closed = fd;
    mem_closep(&fd);
    int other = dup(dir);
    assert_int_equal(other, closed); /* the lowest number that is free */
    mem_closep(&fd);
    assert_true(fcntl(other, F_GETFD) >= 0);
    close(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    umask(022);
    const struct CMUnitTest tests[] = {
        TEST(replaced_file_has_the_new_bytes_and_mode_0600),
        TEST(the_bytes_are_on_disk_before_success_is_told),
        TEST(a_failed_replace_leaves_the_old_bytes_and_no_litter),
        TEST(a_file_that_ends_early_is_damaged),
        TEST(a_whole_file_is_read_up_to_its_bound_only),
        TEST(missing_directories_are_made_and_a_file_in_the_way_is_told),
        TEST(a_tree_cannot_lead_us_out_of_it),
        TEST(what_was_closed_is_not_closed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
