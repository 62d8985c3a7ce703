/* SPDX-License-Identifier: MIT */
#include "index/base/lock.h"

#include "index/base/clock.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PAUSE_FIRST_NS 5000000
#define PAUSE_MAX_NS 200000000

static int say_busy(int fd, const char *name, struct error *e)
{
    char text[64] = "", comm[17] = "";
    int pid = 0;
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    if (n > 0 && sscanf(text, "%d %16[!-~]", &pid, comm) == 2)
        return error_say(e, ERROR_BUSY, -EWOULDBLOCK, "lock %s: held by pid %d (%s)", name, pid, comm);
    return error_say(e, ERROR_BUSY, -EWOULDBLOCK, "lock %s: held by another process", name);
}

static int wait_for(int fd, const char *name, unsigned wait_ms, const sigset_t *let_in, struct error *e)
{
    int64_t deadline = clock_boot_ns() + (int64_t)wait_ms * 1000000;
    int64_t pause_ns = PAUSE_FIRST_NS;
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return error_set(e, ERROR_FAILED, -errno, "lock %s", name);

        int64_t left_ns = deadline - clock_boot_ns();
        if (left_ns <= 0)
            return say_busy(fd, name, e);
        struct timespec pause = { .tv_nsec = pause_ns < left_ns ? pause_ns : left_ns };
        if (ppoll(NULL, 0, &pause, let_in) < 0)
            return error_say(e, ERROR_INTERRUPTED, -EINTR, "lock %s: interrupted while waiting", name);
        pause_ns = pause_ns * 2 < PAUSE_MAX_NS ? pause_ns * 2 : PAUSE_MAX_NS;
    }
    return 0;
}

int lock_wait(int fd, const char *name, unsigned wait_ms, struct error *e)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = wait_for(fd, name, wait_ms, &before, e);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

int lock_take(int dir, const char *name, unsigned wait_ms, int *ret_fd, struct error *e)
{
    _cleanup_close_ int fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "open lock %s", name);
    int r = lock_wait(fd, name, wait_ms, e);
    if (r < 0)
        return r;

    /* Only for the message of whoever comes second: a failure here takes nothing from the lock. */
    char comm[17] = "", text[64];
    prctl(PR_GET_NAME, comm);
    int n = snprintf(text, sizeof(text), "%d %s\n", (int)getpid(), comm);
    if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) < 0)
        errno = 0;
    *ret_fd = mem_steal_fd(&fd);
    return 0;
}
