/* SPDX-License-Identifier: MIT */
#include "cli/spawn.h"

#include "fusefs/supervisor.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

#define START_MS 60000

static _Noreturn void become_daemon(const char *command, const char *argument, const char *log, int ready_fd)
{
    setsid();
    int null = open("/dev/null", O_RDONLY), out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (null < 0 || out < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(127);
    close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    if (chdir("/") < 0 || dup2(ready_fd, SUPERVISOR_READY_FD) < 0 || fcntl(SUPERVISOR_READY_FD, F_SETFD, 0) < 0)
        _exit(127);
    execl("/proc/self/exe", "ag-box", command, argument, (char *)NULL);
    _exit(127);
}

int spawn_daemon(const char *command, const char *argument, const char *log, pid_t *ret_pid, struct error *e)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set(e, ERROR_FAILED, -errno, "pipe");
    _cleanup_close_ int read_end = fds[0], write_end = fds[1];
    pid_t pid = fork();
    if (pid < 0)
        return error_set(e, ERROR_FAILED, -errno, "start the daemon");
    if (pid == 0)
        become_daemon(command, argument, log, write_end);
    close(mem_steal_fd(&write_end));
    int r = supervisor_wait(read_end, START_MS, e);
    if (r < 0) {
        error_prefix(e, "start the daemon of %s", argument);
        return error_hint(e, "its messages are in %s", log), r;
    }
    if (ret_pid)
        *ret_pid = pid;
    return 0;
}
