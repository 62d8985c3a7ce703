/* SPDX-License-Identifier: MIT */
/* Crash points exist in fault builds only; this test holds its own, so that it checks them in every build. */
#ifndef AGBOX_FAULT
#define AGBOX_FAULT
#endif
#include "index/base/crash.c"

#include "index/base/buf.h"
#include "index/base/fd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

static void two_steps(void)
{
    crash_point("b-step");
    crash_point("a-step");
}

/* The way the process ended after walking through the steps twice; what it wrote to the list is in `listed`. */
static int run(const char *at, struct buf *listed)
{
    char list[] = "/tmp/test-crash.XXXXXX";
    int fd = mkstemp(list), status;
    pid_t pid = fork();
    if (pid == 0) {
        if (at)
            setenv("AGBOX_CRASH_AT", at, 1);
        setenv("AGBOX_CRASH_LIST", list, 1);
        crash_command("park");
        two_steps();
        two_steps();
        _exit(7);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(fd_read_file(AT_FDCWD, list, 4096, listed, NULL), 0);
    close(fd);
    unlink(list);
    return status;
}

static void every_step_reached_is_listed(void **state)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    assert_int_equal(WEXITSTATUS(run(NULL, &b)), 7);
    assert_string_equal(buf_string(&b), "park:b-step#1\npark:a-step#1\npark:b-step#2\npark:a-step#2\n");
}

static void the_process_dies_at_the_step_asked_for(void **state)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    assert_int_equal(WTERMSIG(run("park:a-step", &b)), SIGKILL);
    assert_string_equal(buf_string(&b), "park:b-step#1\npark:a-step#1\n");
    assert_int_equal(WTERMSIG(run("park:b-step#2", &b)), SIGKILL);
    assert_string_equal(buf_string(&b), "park:b-step#1\npark:a-step#1\npark:b-step#2\n");
    assert_int_equal(WEXITSTATUS(run("up:a-step", &b)), 7);
    assert_int_equal(WEXITSTATUS(run("park:a-step#3", &b)), 7);
}

static void add_line(const char *step, void *arg)
{
    if (strcmp(step, "a-step") == 0 || strcmp(step, "b-step") == 0)
        buf_printf(arg, "%s\n", step);
}

static void all_steps_of_the_binary_are_told_in_order(void **state)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    crash_each(add_line, &b);
    assert_string_equal(buf_string(&b), "a-step\nb-step\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_reached_is_listed),
        cmocka_unit_test(the_process_dies_at_the_step_asked_for),
        cmocka_unit_test(all_steps_of_the_binary_are_told_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
