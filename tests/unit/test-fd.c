/* SPDX-License-Identifier: MIT */
#include "index/base/fd.h"

#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int directory(void **state)
{
    static int fd;
    char path[] = "/tmp/test-fd.XXXXXX";
    fd = open(mkdtemp(path), O_RDONLY | O_DIRECTORY);
    *state = &fd;
    return fd < 0;
}

static void replaced_file_has_the_new_bytes_and_mode_0600(void **state)
{
    int dir = *(int *)*state;
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

/* Fails if fd_replace writes in place: then nothing would be in its way. */
static void a_failed_replace_leaves_the_old_bytes_and_no_litter(void **state)
{
    int dir = *(int *)*state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(replaced_file_has_the_new_bytes_and_mode_0600, directory),
        cmocka_unit_test_setup(a_failed_replace_leaves_the_old_bytes_and_no_litter, directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
