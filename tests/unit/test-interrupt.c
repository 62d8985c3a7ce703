/* SPDX-License-Identifier: MIT */
#include "cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TOO_LONG_S 10 /* then SIGALRM: a wait that nothing ends */

/* What has been seen stays seen, so each case is a process of its own; true: it ends with 0, in time. */
static bool holds(bool (*what)(int never))
{
    int ends[2], status = -1;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(TOO_LONG_S);
        interrupt_install();
        _exit(what(ends[0]) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(ends[0]);
    close(ends[1]);
    return status == 0;
}

static bool comes_before(int never)
{
    struct error e = { 0 };
    raise(SIGTERM);
    return interrupt_wait(never, &e) == -EINTR && e.kind == ERROR_INTERRUPTED && interrupt_wait(never, NULL) == -EINTR;
}

static void a_signal_before_the_wait_ends_it(void **state)
{
    assert_true(holds(comes_before));
}

/* False: it has ended instead. */
static bool comes_to_sleep(pid_t pid)
{
    char path[64], state = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    while (state != 'S') {
        FILE *f = fopen(path, "re");
        bool there = f && fscanf(f, "%*d %*s %c", &state) == 1 && state != 'Z';
        if (f)
            fclose(f);
        if (!there)
            return false;
    }
    return true;
}

/* Once the first thread, which takes no signals, sleeps in its wait. */
static void *take_it(void *unused)
{
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    if (comes_to_sleep(getpid()))
        kill(getpid(), SIGTERM);
    return unused;
}

static bool goes_to_another_thread(int never)
{
    pthread_t other;
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGALRM);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    pthread_create(&other, NULL, take_it, NULL);
    return interrupt_wait(never, NULL) == -EINTR;
}

/* Threads of the store take signals, too. */
static void a_signal_that_another_thread_takes_ends_the_wait(void **state)
{
    assert_true(holds(goes_to_another_thread));
}

static bool is_ready(int never)
{
    int ends[2];
    (void)never;
    return pipe(ends) == 0 && write(ends[1], "x", 1) == 1 && interrupt_wait(ends[0], NULL) == 0 && !interrupt_seen();
}

static void what_is_ready_ends_the_wait(void **state)
{
    assert_true(holds(is_ready));
}

/* A child that interrupts itself, and then, while it is waited for, gives what is waited for. */
static bool is_a_childs(int never)
{
    char byte;
    int told[2], ends[2];
    (void)never;
    if (pipe(told) < 0 || pipe(ends) < 0)
        return false;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        raise(SIGTERM);
        bool done = write(told[1], "x", 1) == 1 && comes_to_sleep(parent) && write(ends[1], "x", 1) == 1;
        _exit(done ? 0 : 1);
    }
    return read(told[0], &byte, 1) == 1 && interrupt_wait(ends[0], NULL) == 0 &&
           fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && read(ends[0], &byte, 1) == 1;
}

static void a_childs_signal_is_its_own(void **state)
{
    assert_true(holds(is_a_childs));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_before_the_wait_ends_it),
        cmocka_unit_test(a_signal_that_another_thread_takes_ends_the_wait),
        cmocka_unit_test(what_is_ready_ends_the_wait),
        cmocka_unit_test(a_childs_signal_is_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
