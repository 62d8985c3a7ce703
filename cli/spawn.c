/* SPDX-License-Identifier: MIT */
#include "cli/spawn.h"

#include "fusefs/supervisor.h"
#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 60000
#define SAY_MS 3000
#define GIVE_UP_MS 1000

static _Noreturn void become_daemon(const char *command, const char *argument, const char *log, int ready, int word)
{
    setsid();
    int null = open("/dev/null", O_RDONLY), out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (null < 0 || out < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(127);
    close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    /* By way of numbers that neither of them has. */
    ready = fcntl(ready, F_DUPFD_CLOEXEC, 16);
    word = word < 0 ? -1 : fcntl(word, F_DUPFD_CLOEXEC, 16);
    if (chdir("/") < 0 || dup2(ready, SUPERVISOR_READY_FD) < 0 || (word >= 0 && dup2(word, SUPERVISOR_WORD_FD) < 0))
        _exit(127);
    execl("/proc/self/exe", "ag-box", command, argument, (char *)NULL);
    _exit(127);
}

static int start(const char *command, const char *argument, const char *log, bool early, struct spawned *ret,
                 struct error *e)
{
    int ready[2], word[2] = { -1, -1 };
    if (pipe2(ready, O_CLOEXEC) < 0)
        return error_set(e, ERROR_FAILED, -errno, "pipe");
    _cleanup_close_ int ready_read = ready[0], ready_write = ready[1];
    if (early && pipe2(word, O_CLOEXEC) < 0)
        return error_set(e, ERROR_FAILED, -errno, "pipe");
    _cleanup_close_ int word_read = word[0], word_write = word[1];
    pid_t pid = fork();
    if (pid < 0)
        return error_set(e, ERROR_FAILED, -errno, "start the daemon");
    if (pid == 0)
        become_daemon(command, argument, log, ready_write, word_read);
    *ret = (struct spawned){ pid, mem_steal_fd(&ready_read), mem_steal_fd(&word_write) };
    return 0;
}

int spawn_early(const char *command, const char *argument, const char *log, struct spawned *ret, struct error *e)
{
    return start(command, argument, log, true, ret, e);
}

int spawn_await(int ready, const char *what, const char *log, struct error *e)
{
    struct pollfd p = { ready, POLLIN, 0 };
    int n;
    while ((n = poll(&p, 1, SAY_MS)) < 0 && errno == EINTR)
        ;
    if (n == 0)
        log_warn("waiting for %s to start; its messages are in %s", what, log);
    return supervisor_wait(ready, START_MS, e);
}

int spawn_finish(struct spawned *s, const char *argument, const char *log, struct error *e)
{
    _cleanup_close_ int ready = s->ready, word = s->word;
    *s = (struct spawned){ 0 };
    if (word >= 0)
        fd_write_all(word, "M", 1, NULL); /* if it is gone, the other pipe tells */
    _cleanup_free_ char *what = mem_printf("the daemon of %s", argument);
    int r = spawn_await(ready, what, log, e);
    if (r < 0) {
        error_prefix(e, "start the daemon of %s", argument);
        return error_hint(e, "its messages are in %s", log), r;
    }
    return 0;
}

void spawn_give_up(struct spawned *s)
{
    if (s->pid == 0)
        return;
    close(s->ready);
    close(s->word);
    _cleanup_close_ int end = (int)syscall(SYS_pidfd_open, s->pid, 0);
    struct pollfd p = { end, POLLIN, 0 };
    if (end < 0 || poll(&p, 1, GIVE_UP_MS) <= 0) { /* it may wait for a name server, and has mounted nothing */
        kill(-s->pid, SIGKILL);
        kill(s->pid, SIGKILL);
    }
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *s = (struct spawned){ 0 };
}

int spawn_daemon(const char *command, const char *argument, const char *log, pid_t *ret_pid, struct error *e)
{
    struct spawned s = { 0 };
    int r = start(command, argument, log, false, &s, e);
    if (r < 0)
        return r;
    pid_t pid = s.pid;
    r = spawn_finish(&s, argument, log, e);
    if (r == 0 && ret_pid)
        *ret_pid = pid;
    return r;
}
