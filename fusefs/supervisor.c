/* SPDX-License-Identifier: MIT */
#include "fusefs/supervisor.h"

#include "fusefs/mount.h"
#include "fusefs/requests.h"
#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define READY 'R'
#define LIFE_GOOD_MS 2000 /* a daemon that lived so long is started again at once */
#define PAUSE_FIRST_MS 10

struct supervisor {
    char *const *argv;
    int fuse_fd, slots_fd, ready_fd, word_fd;
    struct requests *requests;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static int close_above(unsigned first)
{
    return (int)syscall(SYS_close_range, first, ~0u, 0);
}

/* In the child: descriptors to their places, by way of numbers that none of them has. */
static void become_daemon(const struct supervisor *s)
{
    const int from[] = { s->fuse_fd, s->slots_fd, s->ready_fd, s->word_fd };
    int safe[4];
    for (unsigned i = 0; i < 4; i++)
        safe[i] = from[i] < 0 ? -1 : fcntl(from[i], F_DUPFD, 16);
    for (unsigned i = 0; i < 4; i++)
        if (safe[i] < 0)
            close(SUPERVISOR_FUSE_FD + (int)i);
        else
            dup2(safe[i], SUPERVISOR_FUSE_FD + (int)i);
    close_above(SUPERVISOR_WORD_FD + 1);

    const int reset[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE };
    for (unsigned i = 0; i < 4; i++)
        signal(reset[i], SIG_DFL);
    if (prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0) < 0) /* kept by execve, and by the daemon's threads */
        log_info("start the daemon: it may have to wait for itself when memory is short: %m");
    execv(s->argv[0], s->argv);
    log_warn("start the daemon %s: %m", s->argv[0]);
    _exit(127);
}

static pid_t start_daemon(struct supervisor *s)
{
    pid_t pid = fork();
    if (pid == 0)
        become_daemon(s);
    if (pid < 0)
        log_warn("start the daemon: %m");
    else
        requests_set_pids(s->requests, getpid(), pid);
    return pid;
}

/* True: it said that the file system is unmounted. */
static bool wait_for_daemon(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (WIFSIGNALED(status))
        log_warn("the daemon, pid %d, was ended by signal %d; another one goes on", pid, WTERMSIG(status));
    else
        log_warn("the daemon, pid %d, ended with %d; another one goes on", pid, WEXITSTATUS(status));
    return false;
}

/* Quick at first, so that a request that kills its daemon is soon answered with EIO (fusefs/requests) and the others go
 * on. */
static int pause_after(unsigned quick_deaths)
{
    int pause_ms = 0;
    for (unsigned i = 0; i < quick_deaths && pause_ms < SUPERVISOR_PAUSE_MAX_MS; i++) {
        int most = i < 2 * REQUEST_ATTEMPTS ? 100 : SUPERVISOR_PAUSE_MAX_MS;
        pause_ms = pause_ms == 0 ? 10 : pause_ms * 2;
        if (pause_ms > most)
            pause_ms = most;
    }
    return pause_ms;
}

/* Waits that long. A daemon that always fails early never gets to see that the file system is gone. */
static bool unmounted_within(const struct supervisor *s, int pause_ms)
{
    struct pollfd p = { s->fuse_fd, 0, 0 };
    return poll(&p, 1, pause_ms) > 0 && (p.revents & POLLERR);
}

/* pid: of the first daemon, if it runs already, or 0. */
static void supervise(struct supervisor *s, pid_t pid)
{
    for (unsigned quick_deaths = 0;; pid = 0) {
        int64_t start = now_ms();
        if (pid <= 0)
            pid = start_daemon(s);
        if (pid > 0 && wait_for_daemon(pid))
            return;
        quick_deaths = now_ms() - start >= LIFE_GOOD_MS ? 0 : quick_deaths + 1;
        if (unmounted_within(s, pause_after(quick_deaths)))
            return;
    }
}

static void ignore_signals(void)
{
    const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE };
    for (unsigned i = 0; i < 4; i++)
        signal(ignored[i], SIG_IGN);
    setsid();
}

/* The kernel queues it with the mount; it waits in the slots until the first daemon answers it. */
static int take_init(struct supervisor *s, struct error *e)
{
    uint8_t request[REQUEST_MAX];
    ssize_t n;
    do
        n = read(s->fuse_fd, request, sizeof(request));
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return error_set(e, ERROR_FAILED, n < 0 ? -errno : -EIO, "read the kernel's FUSE_INIT");
    return requests_save_init(s->requests, (struct bytes){ request, (size_t)n }, e);
}

static int open_descriptors(struct supervisor *s, struct error *e)
{
    s->fuse_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (s->fuse_fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "open /dev/fuse");
    int r = requests_create(&s->slots_fd, e);
    return r < 0 ? r : requests_open(s->slots_fd, &s->requests, e);
}

static int set_up(struct supervisor *s, const struct supervisor_config *c, struct error *e)
{
    int r = mount_fuse(s->fuse_fd, c->source, c->mount_point, e);
    if (r < 0)
        return r;
    r = take_init(s, e);
    if (r < 0)
        mount_unmount(c->mount_point, true, NULL);
    return r;
}

static void tear_down(struct supervisor *s)
{
    requests_close(s->requests);
    mem_closep(&s->fuse_fd);
    mem_closep(&s->slots_fd);
    mem_closep(&s->ready_fd);
}

bool supervisor_early(void)
{
    return fcntl(SUPERVISOR_WORD_FD, F_GETFD) >= 0;
}

bool supervisor_await(void)
{
    char word;
    ssize_t n = 1;
    if (!supervisor_early())
        return true;
    while ((n = read(SUPERVISOR_WORD_FD, &word, 1)) < 0 && errno == EINTR)
        ;
    close(SUPERVISOR_WORD_FD);
    return n == 1;
}

/* ret_word: what the daemon will wait for is to be written there; closing it ends the daemon. */
static int start_early(struct supervisor *s, pid_t *ret_pid, int *ret_word, struct error *e)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set(e, ERROR_FAILED, -errno, "pipe");
    s->word_fd = fds[0];
    *ret_pid = start_daemon(s);
    *ret_word = fds[1];
    mem_closep(&s->word_fd);
    return 0;
}

static void give_up_daemon(pid_t pid, int *word)
{
    mem_closep(word);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

int supervisor_run(const struct supervisor_config *c, struct error *e)
{
    struct supervisor s = { .argv = c->argv, .fuse_fd = -1, .slots_fd = -1, .ready_fd = c->ready_fd, .word_fd = -1 };
    struct error why = { 0 };
    _cleanup_close_ int word = -1;
    pid_t first = 0;
    ignore_signals();
    int r = open_descriptors(&s, &why);
    if (r == 0 && c->early)
        r = start_early(&s, &first, &word, &why);
    if (r == 0 && c->early && !supervisor_await()) {
        give_up_daemon(first, &word);
        tear_down(&s);
        return 0;
    }
    if (r == 0)
        r = set_up(&s, c, &why);
    if (r == 0) {
        if (word >= 0)
            fd_write_all(word, "M", 1, NULL); /* it is gone already: another one is started */
        mem_closep(&word);
        supervise(&s, first);
    } else {
        give_up_daemon(first, &word);
        if (s.ready_fd >= 0)
            fd_write_all(s.ready_fd, &why, sizeof(why), NULL);
        error_pass(e, &why);
    }
    tear_down(&s);
    return r;
}

/* Once; nobody there is fine. */
static void tell_starter(const void *what, size_t n)
{
    if (fcntl(SUPERVISOR_READY_FD, F_GETFD) < 0)
        return;
    signal(SIGPIPE, SIG_IGN);
    (void)!write(SUPERVISOR_READY_FD, what, n);
    close(SUPERVISOR_READY_FD);
}

void supervisor_ready(void)
{
    const char word = READY;
    tell_starter(&word, 1);
}

void supervisor_failed(const struct error *why)
{
    tell_starter(why, sizeof(*why));
}

int supervisor_wait(int fd, int timeout_ms, struct error *e)
{
    struct pollfd p = { fd, POLLIN, 0 };
    int n;
    do
        n = poll(&p, 1, timeout_ms);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        return error_say(e, ERROR_FAILED, -ETIMEDOUT, "the mount does not answer");

    struct error why;
    ssize_t got = read(fd, &why, sizeof(why));
    if (got > 0 && *(const char *)&why == READY)
        return 0;
    if (got != sizeof(why))
        return error_say(e, ERROR_FAILED, -EIO, "the supervisor ended without a word");
    return error_pass(e, &why);
}
