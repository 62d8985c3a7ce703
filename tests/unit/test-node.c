/* SPDX-License-Identifier: MIT */
#include "sync/node.h"

#include "index/base/fd.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Fails if the id is kept whatever machine or name: two clones would remove each other's holds. */
static void a_state_id_stays_until_machine_or_name_is_another(void **state)
{
    char path[] = "/tmp/test-node.XXXXXX";
    _cleanup_close_ int dir = open(mkdtemp(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct node first, again, cloned, renamed, damaged;
    assert_int_equal(node_open(dir, "a", "m1", &first, NULL), 0);
    assert_int_equal(node_open(dir, "a", "m1", &again, NULL), 0);
    assert_memory_equal(first.state, again.state, sizeof(first.state));
    assert_string_equal(first.name, "a");
    assert_int_equal(strlen(first.boot_id), 36);

    assert_int_equal(node_open(dir, "a", "m2", &cloned, NULL), 0);
    assert_memory_not_equal(first.state, cloned.state, sizeof(first.state));
    assert_int_equal(node_open(dir, "b", "m2", &renamed, NULL), 0);
    assert_memory_not_equal(cloned.state, renamed.state, sizeof(first.state));

    assert_int_equal(fd_replace(dir, "state-id", "0123", 4, NULL), 0);
    assert_int_equal(node_open(dir, "b", "m2", &damaged, NULL), 0);
    assert_memory_not_equal(renamed.state, damaged.state, sizeof(first.state));

    struct error e = { 0 };
    assert_int_equal(node_open(dir, "../b", "m2", &damaged, &e), -EINVAL);
    assert_int_equal(e.kind, ERROR_USAGE);
    unlinkat(dir, "state-id", 0);
    unlinkat(dir, "state-id.lock", 0);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_state_id_stays_until_machine_or_name_is_another) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
