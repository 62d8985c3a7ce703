/* SPDX-License-Identifier: MIT */
#include "index/base/lock.h"

#include "index/base/clock.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    char path[32];
    int dir;
};

static int make_place(void **state)
{
    static struct place place;
    strcpy(place.path, "/tmp/test-lock.XXXXXX");
    place.dir = open(mkdtemp(place.path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = &place;
    return place.dir < 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    unlinkat(place->dir, "command", 0);
    close(place->dir);
    return rmdir(place->path);
}

/* A second process that takes the lock, says so, and keeps it until its end is told to go or it is killed. */
struct holder {
    pid_t pid;
    int go;
};

static struct holder start_holder(int dir)
{
    int ready[2], go[2];
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int fd;
        char byte = 0;
        close(go[1]);
        if (lock_take(dir, "command", 0, &fd, NULL) < 0 || write(ready[1], &byte, 1) != 1)
            _exit(1);
        _exit(read(go[0], &byte, 1) != 1);
    }
    char byte;
    close(ready[1]);
    close(go[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return (struct holder){ pid, go[1] };
}

static void end_holder(struct holder *h)
{
    close(h->go);
    waitpid(h->pid, NULL, 0);
}

/* Fails with a lock that only counts inside one process, or that does not count there. */
static void a_second_holder_is_refused_and_the_first_is_named(void **state)
{
    struct place *place = *state;
    struct holder h = start_holder(place->dir);
    struct error e = { 0 };
    int fd = -1;
    int64_t before = clock_boot_ns();
    assert_int_equal(lock_take(place->dir, "command", 50, &fd, &e), -EWOULDBLOCK);
    assert_true(clock_boot_ns() - before >= 50 * 1000000);
    assert_int_equal(e.kind, ERROR_BUSY);
    assert_int_equal(fd, -1);
    char expected[128], comm[32] = "";
    FILE *f = fopen("/proc/self/comm", "re"); /* under valgrind it is another's */
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%31[^\n]", comm), 1);
    fclose(f);
    snprintf(expected, sizeof(expected), "lock command: held by pid %d (%s)", (int)h.pid, comm);
    assert_string_equal(e.text, expected);
    end_holder(&h);

    assert_int_equal(lock_take(place->dir, "command", 0, &fd, &e), 0);
    int second = -1;
    assert_int_equal(lock_take(place->dir, "command", 0, &second, &e), -EWOULDBLOCK);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    close(fd);
}

static void a_killed_holder_leaves_no_lock(void **state)
{
    struct place *place = *state;
    struct holder h = start_holder(place->dir);
    kill(h.pid, SIGKILL);
    int fd = -1;
    assert_int_equal(lock_take(place->dir, "command", 10000, &fd, NULL), 0);
    end_holder(&h);
    close(fd);
}

static void a_waiter_gets_the_lock_once_it_is_free(void **state)
{
    struct place *place = *state;
    struct holder h = start_holder(place->dir);
    pid_t waiter = fork();
    if (waiter == 0) {
        int fd;
        close(h.go); /* else the holder would wait for the waiter */
        _exit(lock_take(place->dir, "command", 20000, &fd, NULL) != 0);
    }
    int status;
    end_holder(&h);
    assert_int_equal(waitpid(waiter, &status, 0), waiter);
    assert_int_equal(status, 0);
}

static void on_alarm(int number)
{
}

/* Fails if the wait goes on after a handler ran: then Ctrl-C would have to wait for the limit. */
static void a_signal_ends_the_wait(void **state)
{
    struct place *place = *state;
    struct holder h = start_holder(place->dir);
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    sigaction(SIGALRM, &action, NULL);
    ualarm(50000, 0);
    struct error e = { 0 };
    int fd = -1;
    assert_int_equal(lock_take(place->dir, "command", 60000, &fd, &e), -EINTR);
    assert_int_equal(e.kind, ERROR_INTERRUPTED);
    end_holder(&h);
}

static bool signal_comes_meanwhile;

/* In the place of the C library's: a signal while it is tried, and not while it is waited for. */
int flock(int fd, int operation)
{
    long r = syscall(SYS_flock, fd, operation);
    int before = errno;
    if (signal_comes_meanwhile)
        raise(SIGALRM);
    signal_comes_meanwhile = false;
    errno = before;
    return (int)r;
}

static void a_signal_between_two_pauses_ends_the_wait_too(void **state)
{
    struct place *place = *state;
    struct holder h = start_holder(place->dir);
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    sigaction(SIGALRM, &action, NULL);
    int fd = -1;
    signal_comes_meanwhile = true;
    assert_int_equal(lock_take(place->dir, "command", 1000, &fd, NULL), -EINTR);
    end_holder(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_second_holder_is_refused_and_the_first_is_named, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_killed_holder_leaves_no_lock, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_waiter_gets_the_lock_once_it_is_free, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_signal_ends_the_wait, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_signal_between_two_pauses_ends_the_wait_too, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
