/* SPDX-License-Identifier: MIT */
#include "fusefs/control.h"

#include "index/base/fd.h"
#include "index/base/mem.h"

#include <errno.h>
#include <ftw.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#define TOO_LONG_S 20 /* then SIGALRM: a call without an end */

static char directory[] = "/tmp/test-control.XXXXXX";
static char path[512];
static struct control *control;

static int echo(void *arg, const json_t *request, json_t *answer, struct error *e)
{
    json_object_set(answer, "said", json_object_get(request, "say"));
    return 0;
}

static int refuse(void *arg, const json_t *request, json_t *answer, struct error *e)
{
    json_object_set_new(answer, "half", json_true());
    error_say(e, ERROR_HELD, -EPERM, "held elsewhere");
    return error_hint(e, "ask there");
}

static int flood(void *arg, const json_t *request, json_t *answer, struct error *e)
{
    _cleanup_free_ char *much = mem_new(1, CONTROL_ANSWER_MAX + 1);
    memset(much, 'x', CONTROL_ANSWER_MAX);
    json_object_set_new(answer, "much", json_string(much));
    return 0;
}

static sem_t ending;

/* Answers a moment after control_stop, which the test calls now, took the socket away. */
static int end(void *arg, const json_t *request, json_t *answer, struct error *e)
{
    sem_post(&ending);
    for (unsigned i = 0; i < 10000 && access(path, F_OK) == 0; i++)
        usleep(1000);
    usleep(50000);
    json_object_set_new(answer, "last", json_true());
    return 0;
}

static const struct control_handler handlers[] = {
    { "echo", echo }, { "refuse", refuse }, { "flood", flood }, { "end", end }, { NULL, NULL }
};

/* In a directory whose path is longer than a socket's address. */
static int start(void **state)
{
    char deep[400];
    strcpy(directory + sizeof(directory) - 7, "XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(deep, sizeof(deep), "%s/%0150d", directory, 1);
    snprintf(path, sizeof(path), "%s/control", deep);
    return mkdir(deep, 0711) || chmod(directory, 0711) || control_start(path, handlers, NULL, &control, NULL);
}

static int remove_one(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(name);
}

static int stop(void **state)
{
    control_stop(control);
    return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int call(const char *command, const char *say, json_t **ret, struct error *e)
{
    json_t *request = json_pack("{s:s, s:s}", "command", command, "say", say);
    int r = control_call(path, request, 10000, ret, e);
    json_decref(request);
    return r;
}

static void answers_and_errors_come_back_as_they_were_set(void **state)
{
    struct error e = { 0 };
    json_t *answer = NULL;
    assert_int_equal(call("echo", "line\nbreak", &answer, &e), 0);
    assert_string_equal(json_string_value(json_object_get(answer, "said")), "line\nbreak");
    json_decref(answer);

    assert_int_equal(call("refuse", "", &answer, &e), -EPERM);
    assert_int_equal(e.kind, ERROR_HELD);
    assert_string_equal(e.text, "held elsewhere");
    assert_string_equal(e.hint, "ask there");
    assert_int_equal(call("nonsense", "", &answer, &e), -EINVAL);
    assert_int_equal(e.kind, ERROR_USAGE);
}

static void sizes_are_bounded_both_ways(void **state)
{
    struct error e = { 0 };
    _cleanup_free_ char *long_text = mem_new(1, CONTROL_REQUEST_MAX + 1);
    memset(long_text, 'y', CONTROL_REQUEST_MAX);
    assert_int_equal(call("echo", long_text, NULL, &e), -EFBIG);
    assert_true(call("flood", "", NULL, &e) < 0);
    assert_int_equal(call("echo", "still there", NULL, &e), 0);
}

static void other_users_are_not_heard(void **state)
{
    int status;
    assert_int_equal(chmod(path, 0666), 0); /* so that it is the peer's uid that counts */
    pid_t pid = fork();
    if (pid == 0)
        _exit(setuid(1234) == 0 && call("echo", "", NULL, NULL) == 0);
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    struct stat st;
    assert_int_equal(control_start(path, handlers, NULL, (struct control **)state, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    control_stop(*state);
    *state = NULL;
}

/* What `stop` is answered with. Fails if control_stop shuts connections down both ways. */
static void who_ends_the_daemon_is_answered(void **state)
{
    int status;
    sem_init(&ending, 0, 0);
    pid_t pid = fork();
    if (pid == 0) {
        json_t *answer = NULL;
        int r = call("end", "", &answer, NULL);
        _exit(r == 0 && json_is_true(json_object_get(answer, "last")) ? 0 : 1);
    }
    sem_wait(&ending);
    control_stop(control);
    control = NULL;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int count_looks(void *arg, pid_t daemon, struct error *e)
{
    unsigned *looks = arg;
    assert_true(*looks == 0 || daemon == getpid() || daemon == 0);
    return ++*looks < 3 ? 0 : error_say(e, ERROR_INTERRUPTED, -EINTR, "enough");
}

/* As with a daemon that is stopped: it takes nobody out of its queue, which is full after a while. Fails if connect(2)
 * has no limit. */
static void who_never_answers_is_waited_for_as_long_as_is_said(void **state)
{
    control_stop(control);
    control = NULL;
    struct sockaddr_un a;
    struct error e = { 0 };
    _cleanup_close_ int dir = -1, listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(fd_socket_address(path, &a, &dir, NULL), 0);
    assert_int_equal(bind(listener, (const void *)&a, sizeof(a)), 0);
    assert_int_equal(listen(listener, 2), 0);
    json_t *request = json_object();
    alarm(TOO_LONG_S);
    unsigned looks = 0;
    assert_int_equal(control_call_patiently(path, request, 10, count_looks, &looks, NULL, &e), -EINTR);
    assert_int_equal(e.kind, ERROR_INTERRUPTED);
    assert_int_equal(looks, 3);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(control_call(path, request, i, NULL, &e), -ETIMEDOUT);
    looks = 0;
    assert_int_equal(control_call_patiently(path, request, 10, count_looks, &looks, NULL, &e), -EINTR);
    assert_int_equal(looks, 3);
    alarm(0);
    json_decref(request);
}

static void nobody_there_is_said(void **state)
{
    struct error e = { 0 };
    json_t *request = json_object();
    assert_int_equal(control_call("/tmp/test-control-nothing", request, 100, NULL, &e), -ENOENT);
    assert_int_equal(e.kind, ERROR_UNKNOWN);
    json_decref(request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_and_errors_come_back_as_they_were_set, start, stop),
        cmocka_unit_test_setup_teardown(sizes_are_bounded_both_ways, start, stop),
        cmocka_unit_test_setup_teardown(other_users_are_not_heard, start, stop),
        cmocka_unit_test_setup_teardown(who_ends_the_daemon_is_answered, start, stop),
        cmocka_unit_test_setup_teardown(who_never_answers_is_waited_for_as_long_as_is_said, start, stop),
        cmocka_unit_test(nobody_there_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
