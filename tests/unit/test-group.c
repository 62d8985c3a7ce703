/* SPDX-License-Identifier: MIT */
#include "sandbox/group.h"

#include "index/base/clock.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#define LOOK_MS 60

/* Whose children cannot fork; 0: all can. */
static pid_t last_to_fork;
pid_t __real_fork(void);
pid_t __wrap_fork(void);

pid_t __wrap_fork(void)
{
    if (last_to_fork == 0 || last_to_fork == getpid())
        return __real_fork();
    errno = EAGAIN;
    return -1;
}

struct runner {
    struct group group; /* of one hierarchy alone */
    pid_t pid;
    _Atomic unsigned *count;
};

/* False: this machine has no such hierarchy that we may write. */
static bool runner_start(struct runner *r, bool v2)
{
    struct group all;
    group_make("unit-test", &all);
    char *mine = v2 ? all.v2 : all.v1;
    r->group = v2 ? (struct group){ .v2 = mine } : (struct group){ .v1 = mine };
    struct group other = v2 ? (struct group){ .v1 = all.v1 } : (struct group){ .v2 = all.v2 };
    group_remove(&other);
    if (!mine)
        return false;
    r->count = mmap(NULL, sizeof(*r->count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    r->pid = fork();
    if (r->pid == 0) {
        group_enter(&r->group);
        for (;;) {
            atomic_fetch_add(r->count, 1);
            poll(NULL, 0, 1);
        }
    }
    while (atomic_load(r->count) == 0)
        poll(NULL, 0, 1);
    return true;
}

static bool runs(const struct runner *r)
{
    unsigned before = atomic_load(r->count);
    poll(NULL, 0, LOOK_MS);
    return atomic_load(r->count) != before;
}

static bool runs_again_within(const struct runner *r, int ms)
{
    for (int64_t end = clock_boot_ns() + ms * INT64_C(1000000); clock_boot_ns() < end;)
        if (runs(r))
            return true;
    return false;
}

static void runner_end(struct runner *r)
{
    kill(r->pid, SIGKILL);
    waitpid(r->pid, NULL, 0);
    group_remove(&r->group);
    munmap((void *)r->count, sizeof(*r->count));
}

static void frozen_and_thawed(bool v2)
{
    struct runner r;
    if (!runner_start(&r, v2))
        skip();
    int guard = -1;
    assert_true(runs(&r));
    assert_int_equal(group_freeze(&r.group, 5000, 10000, &guard, NULL), 0);
    assert_false(runs(&r));
    assert_int_equal(group_thaw(guard, NULL), 0);
    assert_true(runs_again_within(&r, 5000));

    /* Nobody thaws it: its limit does, and that is said. */
    assert_int_equal(group_freeze(&r.group, 5000, 300, &guard, NULL), 0);
    assert_true(runs_again_within(&r, 5000));
    struct error e = { 0 };
    assert_int_equal(group_thaw(guard, &e), -ETIMEDOUT);
    runner_end(&r);
}

/* Whoever froze it is killed. */
static void thawed_by_death(bool v2)
{
    struct runner r;
    if (!runner_start(&r, v2))
        skip();
    pid_t freezer = fork();
    if (freezer == 0) {
        int guard;
        _exit(group_freeze(&r.group, 5000, 60000, &guard, NULL) == 0 && kill(getpid(), SIGKILL) == 0 ? 1 : 2);
    }
    int status;
    assert_int_equal(waitpid(freezer, &status, 0), freezer);
    assert_true(WIFSIGNALED(status));
    assert_true(runs_again_within(&r, 5000));
    runner_end(&r);
}

static void v2_is_frozen_and_thawed(void **state)
{
    frozen_and_thawed(true);
}

static void v1_is_frozen_and_thawed(void **state)
{
    frozen_and_thawed(false);
}

static void v2_is_thawed_by_its_freezers_death(void **state)
{
    thawed_by_death(true);
}

static void v1_is_thawed_by_its_freezers_death(void **state)
{
    thawed_by_death(false);
}

/* Where no process can be made to thaw it (a fork bomb): else it would stay so. */
static void nothing_is_frozen_that_nobody_would_thaw(void **state)
{
    struct runner r;
    struct error e = { 0 };
    int guard = -1;
    if (!runner_start(&r, true) && !runner_start(&r, false))
        skip();
    last_to_fork = getpid();
    int frozen = group_freeze(&r.group, 5000, 60000, &guard, &e);
    last_to_fork = 0;
    bool goes_on = runs_again_within(&r, 1000);
    group_wake(&r.group);
    runner_end(&r);
    assert_int_equal(frozen, -EAGAIN);
    assert_true(goes_on);
}

static void put(const char *directory, const char *file, const char *word)
{
    char path[600];
    snprintf(path, sizeof(path), "%s/%s", directory, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, word, strlen(word)), strlen(word));
    close(fd);
}

/* Nothing dies in there before that. */
static void what_a_box_has_frozen_below_is_woken(void **state)
{
    struct runner r;
    if (!runner_start(&r, false))
        skip();
    _cleanup_free_ char *one = mem_printf("%s/one", r.group.v1), *two = mem_printf("%s/two", one);
    char pid[16];
    snprintf(pid, sizeof(pid), "%d", (int)r.pid);
    assert_int_equal(mkdir(one, 0755), 0);
    assert_int_equal(mkdir(two, 0755), 0);
    put(two, "cgroup.procs", pid);
    put(two, "freezer.state", "FROZEN");
    assert_false(runs(&r));
    group_wake(&r.group);
    bool woken = runs_again_within(&r, 2000);
    put(two, "freezer.state", "THAWED");
    runner_end(&r);
    assert_true(woken);
    assert_int_equal(access(one, F_OK), -1);
}

static void a_box_without_a_group_says_so(void **state)
{
    struct group g;
    struct error e = { 0 };
    assert_int_equal(group_find("no-such-box", getpid(), &g, &e), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(v2_is_frozen_and_thawed),
        cmocka_unit_test(v1_is_frozen_and_thawed),
        cmocka_unit_test(v2_is_thawed_by_its_freezers_death),
        cmocka_unit_test(v1_is_thawed_by_its_freezers_death),
        cmocka_unit_test(nothing_is_frozen_that_nobody_would_thaw),
        cmocka_unit_test(what_a_box_has_frozen_below_is_woken),
        cmocka_unit_test(a_box_without_a_group_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
