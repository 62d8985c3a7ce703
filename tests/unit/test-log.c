/* SPDX-License-Identifier: MIT */
#include "index/base/log.h"

#include "index/base/fd.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t size_of(const char *root, const char *name)
{
    char path[300];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

/* Fails if the log grows without end, or if who else has it open goes on at its old end. */
static void a_log_over_its_limit_begins_anew(void **state)
{
    (void)state;
    char *root = scratch_new(), path[300], older[300];
    snprintf(path, sizeof(path), "%s/log", root);
    snprintf(older, sizeof(older), "%s/log.1", root);
    int kept = dup(STDERR_FILENO), log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int other = open(path, O_WRONLY | O_APPEND);
    assert_true(kept >= 0 && log >= 0 && other >= 0);
    dup2(log, STDERR_FILENO);
    log_limit(older, 1000);
    for (unsigned i = 0; i < 100; i++)
        log_warn("%050u", i);
    uint64_t now = size_of(root, "log"), before = size_of(root, "log.1");
    assert_int_equal(fd_write_all(other, "supervisor\n", 11, NULL), 0);
    dup2(kept, STDERR_FILENO);
    assert_true(now <= 1000 && before > 1000 && before < 1100);
    assert_int_equal(size_of(root, "log"), now + 11);
    close(kept);
    close(log);
    close(other);
    scratch_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_log_over_its_limit_begins_anew) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
