/* SPDX-License-Identifier: MIT */
#include "cli/program.h"

#include "cli/spawn.h"
#include "index/base/fd.h"
#include "index/base/mem.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define TOO_LONG_S 20 /* then SIGALRM: a test that waits for ever has failed */

static struct program_call ask(const char *script, int timeout_ms)
{
    const char *argv[] = { "sh", "-c", script, NULL };
    struct program_call call = { .argv = argv };
    alarm(TOO_LONG_S);
    program_ask(&call, 1, timeout_ms);
    alarm(0);
    return call;
}

static void an_answer_comes_with_the_exit_code(void **state)
{
    struct program_call call = ask("echo out; echo err >&2; exit 7", 10000);
    assert_int_equal(call.code, 7);
    assert_string_equal(buf_string(&call.output), "out\n");
    assert_string_equal(buf_string(&call.errors), "err\n");
    program_release(&call);
    call = ask("head -c 65536 /dev/zero", 10000);
    assert_int_equal(call.code, 0);
    assert_int_equal(call.output.len, PROGRAM_OUTPUT_MAX);
    program_release(&call);
}

/* Fails if what is too much is read as long as it comes. */
static void an_answer_without_an_end_is_an_error(void **state)
{
    static const char *const scripts[] = { "exec cat /dev/zero", "head -c 65537 /dev/zero" };
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        char why[128];
        struct program_call call = ask(scripts[i], 60000);
        assert_int_equal(call.code, -EFBIG);
        assert_true(call.output.len < 2 * PROGRAM_OUTPUT_MAX && call.errors.len < 2 * PROGRAM_OUTPUT_MAX);
        program_complaint(&call, why);
        assert_string_equal(why, "it says more than 64 KiB");
        program_release(&call);
    }
}

/* They are for a message: their end tells why. */
static void of_errors_the_end_is_kept(void **state)
{
    struct program_call call =
        ask("i=0; while [ $i -lt 20000 ]; do echo line $i >&2; i=$((i + 1)); done; echo why >&2; exit 3", 60000);
    char why[128];
    assert_int_equal(call.code, 3);
    assert_int_equal(call.errors.len, PROGRAM_OUTPUT_MAX);
    assert_non_null(strstr(buf_string(&call.errors), "\nline 19998\nline 19999\nwhy\n"));
    program_complaint(&call, why);
    assert_string_equal(why, "why");
    program_release(&call);

    call = ask("exec cat /dev/zero >&2", 300);
    assert_int_equal(call.code, -ETIMEDOUT);
    assert_int_equal(call.errors.len, PROGRAM_OUTPUT_MAX);
    program_release(&call);
}

/* Nor is one waited for that comes from something which was only left behind. */
static void what_a_program_leaves_behind_is_not_waited_for(void **state)
{
    struct program_call call = ask("setsid cat /dev/zero & exit 0", 60000);
    assert_true(call.code == 0 || call.code == -EFBIG);
    program_release(&call);
}

static void the_deadline_ends_what_is_silent(void **state)
{
    struct program_call call = ask("sleep 60 & wait", 100);
    assert_int_equal(call.code, -ETIMEDOUT);
    program_release(&call);
}

/* Fails if it is waited for whatever it waits for. */
static void a_daemon_that_is_given_up_ends_with_all_it_started(void **state)
{
    struct spawned s = { 0 };
    assert_int_equal(spawn_early("stuck", "demo", "/dev/null", &s, NULL), 0);
    _cleanup_close_ int ready = dup(s.ready);
    alarm(TOO_LONG_S);
    spawn_give_up(&s);
    alarm(0);
    assert_int_equal(s.pid, 0);
    struct pollfd p = { ready, POLLIN, 0 };
    assert_int_equal(poll(&p, 1, 5000), 1); /* nobody has the other end any more */
    assert_true(p.revents & POLLHUP);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "stuck") == 0) { /* what spawn starts is this program */
        (void)!fork();
        for (;;)
            pause();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_comes_with_the_exit_code),
        cmocka_unit_test(an_answer_without_an_end_is_an_error),
        cmocka_unit_test(of_errors_the_end_is_kept),
        cmocka_unit_test(what_a_program_leaves_behind_is_not_waited_for),
        cmocka_unit_test(the_deadline_ends_what_is_silent),
        cmocka_unit_test(a_daemon_that_is_given_up_ends_with_all_it_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
