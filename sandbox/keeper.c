/* SPDX-License-Identifier: MIT */
#include "sandbox/keeper.h"

#include "index/base/clock.h"
#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "sandbox/copies.h"
#include "sandbox/etc.h"
#include "sandbox/filter.h"
#include "sandbox/group.h"
#include "sandbox/logins.h"
#include "sandbox/points.h"
#include "sandbox/scope.h"
#include "sandbox/sources.h"
#include "sandbox/weaken.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#define READY_MS 30000
#define SETTLE_MS 500
#define WAKE_MS 100
#define LOGINS_MS 5000
#define EXEC_WAITING 64

/* In the box's first process, and in bwrap's arguments. */
enum { LISTEN_FD = 3, READY_FD, FILTER_FD, INFO_FD, FDS_END };

struct keeper {
    const struct keeper_config *config;
    struct policy policy;
    struct host host;
    struct words argv;
    struct group group;
    int run, lock, listen, filter, signals;
    int logins, etc; /* tell of changes of them; -1: nobody does */
    int ready[2], info[2];
    pid_t bwrap;
    int bwrap_fd, init_fd; /* pidfds */
};

static int open_run(struct keeper *k, struct error *e)
{
    k->run = open(k->config->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (k->run < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s", k->config->run);
    k->lock = openat(k->run, "keeper", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (k->lock < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s/keeper", k->config->run);
    if (fcntl(k->lock, F_SETLK, &l) == 0) {
        unlinkat(k->run, "exec", 0); /* of one that was killed: whoever sees it takes this one to listen */
        return 0;
    }
    if (errno != EAGAIN && errno != EACCES)
        return error_set(e, ERROR_FAILED, -errno, "lock %s/keeper", k->config->run);
    return error_say(e, ERROR_BUSY, -EALREADY, "the box runs already");
}

pid_t keeper_find(const char *run)
{
    _cleanup_free_ char *path = mem_printf("%s/keeper", run);
    _cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
    struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (fd < 0 || fcntl(fd, F_GETLK, &l) < 0 || l.l_type == F_UNLCK)
        return 0;
    return l.l_pid > 0 ? l.l_pid : -1;
}

/* The box may fill its memory; the kernel is to end something in there, not us. */
static void become_unlikely_victim(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "-900", 4) != 4)
        log_info("the keeper's oom_score_adj cannot be lowered: %m");
    mem_closep(&fd);
}

static int take_signals(struct keeper *k, struct error *e)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    k->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return k->signals < 0 ? error_set(e, ERROR_FAILED, -errno, "signalfd") : 0;
}

/* By its name in the directory: an address of a socket is shorter than paths may be. */
static int make_listener(struct keeper *k, struct error *e)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/exec", k->run);
    k->listen = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    mode_t mask = umask(0177);
    bool done = k->listen >= 0 && bind(k->listen, (struct sockaddr *)&at, sizeof(at)) == 0 &&
                listen(k->listen, EXEC_WAITING) == 0;
    umask(mask);
    return done ? 0 : error_set(e, ERROR_FAILED, -errno, "listen at %s/exec", k->config->run);
}

static int make_points(struct keeper *k, struct error *e)
{
    _cleanup_(words_release) struct words left_out = { 0 };
    _cleanup_close_ int home = open(k->policy.home_from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (home < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s", k->policy.home_from);
    int r = points_start(home, k->policy.project, &k->host, k->policy.configuration, &left_out, e);
    for (size_t i = 0; i < left_out.count; i++)
        log_warn("%s of the host is not shown in the box: it has something else in its place", left_out.items[i]);
    return r;
}

static int pid_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool ends_within(int pidfd, int timeout_ms)
{
    struct pollfd p = { .fd = pidfd, .events = POLLIN };
    int n;
    while ((n = poll(&p, 1, timeout_ms)) < 0 && errno == EINTR)
        ;
    return n > 0;
}

static void look_at_logins(const struct keeper *k)
{
    _cleanup_close_ int home = open(k->policy.home_from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (home < 0)
        log_warn("the agents' logins stay as they are: open %s: %m", k->policy.home_from);
    else
        logins_reconcile(k->config->home, home, k->logins);
}

/* In a process of its own, which can be ended: what the box has of a login may not have been fetched yet, and its read
 * then waits for the store, however long. The box does not. */
static void reconcile_logins(const struct keeper *k)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        look_at_logins(k);
        _exit(0);
    }
    _cleanup_close_ int end = pid < 0 ? -1 : pid_open(pid);
    if (end < 0 || !ends_within(end, LOGINS_MS))
        log_warn("the agents' logins stay as they are: %s", end < 0 ? "no process" : "they cannot be read now");
    if (pid < 0)
        return;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static int make_etc(struct keeper *k, struct error *e)
{
    struct environment c = policy_environment(&k->policy);
    int r = etc_make(k->run, "/etc", k->config->hidden, e);
    if (r == 0)
        r = copies_make(k->run, &k->host, &c, e);
    if (r < 0)
        return r;
    etc_follow(k->run, "/etc", &k->etc);
    return 0;
}

/* What bwrap is started with. */
static int make_argv(struct keeper *k, struct error *e)
{
    _cleanup_free_ char *etc = mem_printf("%s/" ETC_NAME, k->config->run),
                        *copies = mem_printf("%s/" COPIES_NAME, k->config->run);
    struct policy p = k->policy;
    p.etc = etc;
    p.copies = copies;
    p.listen_fd = LISTEN_FD;
    p.ready_fd = READY_FD;
    p.filter_fd = FILTER_FD;
    p.info_fd = INFO_FD;
    int r = policy_argv(&p, &k->argv, e);
#ifdef AGBOX_FAULT
    const char *what = getenv("AGBOX_POLICY_WITHOUT");
    if (r == 0 && what)
        weaken(&k->argv, what);
#endif
    return r;
}

static int prepare(struct keeper *k, struct error *e)
{
    const struct keeper_config *c = k->config;
    int r = host_look(c->home, c->hidden, &k->host, e);
    k->policy.host = &k->host;
    if (r == 0)
        r = make_etc(k, e);
    if (r == 0)
        r = make_points(k, e);
    if (r == 0) {
        k->logins = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        reconcile_logins(k);
    }
    if (r == 0)
        r = make_listener(k, e);
    if (r == 0)
        r = filter_make(&k->filter, e);
    if (r == 0)
        r = make_argv(k, e);
    if (r == 0 && (pipe2(k->ready, O_CLOEXEC) < 0 || pipe2(k->info, O_CLOEXEC) < 0))
        r = error_set(e, ERROR_FAILED, -errno, "pipe");
    return r;
}

/* Nothing of ours goes with it but the four descriptors, and of the environment nothing (rule B2). */
static _Noreturn void become_bwrap(const struct keeper *k)
{
    const int from[] = { k->listen, k->ready[1], k->filter, k->info[1] };
    int safe[4];
    _cleanup_free_ char *own = mem_printf(SOURCES_PREFIX "%s", k->policy.name);
    group_enter(&k->group);
    int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0)
        (void)!write(score, "0", 1);
    for (int i = 0; i < 4; i++)
        safe[i] = fcntl(from[i], F_DUPFD, 32);
    for (int i = 0; i < 4; i++)
        if (safe[i] < 0 || dup2(safe[i], LISTEN_FD + i) < 0)
            _exit(127);
    close_range(FDS_END, ~0u, 0);
    if (sources_detach(&k->argv, own) < 0) {
        log_warn("detach what the box sees from the host's mounts: %m");
        _exit(127);
    }
    if (scope_enter() < 0) {
        log_warn("keep the box from the host's abstract sockets: %m");
        _exit(127);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    umask(022);
    char *none_of_it[] = { NULL }, **environment = none_of_it;
#ifdef AGBOX_FAULT
    if (weaken_is("environment"))
        environment = environ;
#endif
    execvpe(k->argv.items[0], k->argv.items, environment);
    log_warn("start bwrap: %m");
    _exit(127);
}

static int spawn(struct keeper *k, struct error *e)
{
    group_make(k->policy.name, &k->group);
    k->bwrap = fork();
    if (k->bwrap == 0)
        become_bwrap(k);
    if (k->bwrap < 0)
        return error_set(e, ERROR_FAILED, -errno, "start bwrap");
    mem_closep(&k->listen); /* once PID 1 is gone, nobody is to wait for an answer */
    mem_closep(&k->filter);
    close(mem_steal_fd(&k->ready[1]));
    close(mem_steal_fd(&k->info[1]));
    k->bwrap_fd = pid_open(k->bwrap);
    return k->bwrap_fd < 0 ? error_set(e, ERROR_FAILED, -errno, "pidfd of bwrap") : 0;
}

static int did_not_start(struct error *e)
{
    error_say(e, ERROR_FAILED, -EIO, "bwrap could not start the box");
    return error_hint(e, "its messages are in the box's log"), -EIO;
}

/* {"child-pid": 1234 …}: PID 1, whose number is its own while bwrap has not reaped it. */
static int learn_init(struct keeper *k, struct error *e)
{
    char text[1024];
    size_t have = 0;
    for (ssize_t n; have < sizeof(text) - 1 && (n = read(k->info[0], text + have, sizeof(text) - 1 - have)) > 0;)
        have += (size_t)n;
    text[have] = '\0';
    const char *at = strstr(text, "\"child-pid\"");
    int pid = 0;
    if (!at || sscanf(at, "\"child-pid\" : %d", &pid) != 1 || pid <= 0)
        return did_not_start(e);
    k->init_fd = pid_open(pid);
    return k->init_fd < 0 ? did_not_start(e) : 0;
}

/* Of all there is: 'r' one of two others has something to say, 's' a signal, 'e' bwrap has ended, 't' it took too long.
 */
static char wait_for(const struct keeper *k, int one_fd, int other_fd, int timeout_ms)
{
    struct pollfd p[] = { { .fd = k->bwrap_fd, .events = POLLIN },
                          { .fd = k->signals, .events = POLLIN },
                          { .fd = one_fd, .events = POLLIN },
                          { .fd = other_fd, .events = POLLIN } };
    int n;
    while ((n = poll(p, 4, timeout_ms)) < 0 && errno == EINTR)
        ;
    return n == 0 ? 't' : p[1].revents ? 's' : p[2].revents || p[3].revents ? 'r' : 'e';
}

/* Until the box ends or is to: whether it is to. However often something changes, it is looked at once in a while. */
static bool keep(struct keeper *k)
{
    for (;;) {
        char what = wait_for(k, k->logins, k->etc, -1);
        if (what == 'r')
            what = wait_for(k, -1, -1, SETTLE_MS);
        if (what != 't')
            return what == 's';
        if (logins_changed(k->logins))
            reconcile_logins(k);
        if (etc_changed(k->etc))
            etc_follow(k->run, "/etc", &k->etc);
    }
}

/* One byte, or words about what went wrong. */
static int hear(struct keeper *k, struct error *e)
{
    char text[400];
    ssize_t n = read(k->ready[0], text, sizeof(text) - 1);
    if (n == 1)
        return 0;
    if (n <= 0)
        return did_not_start(e);
    text[n] = '\0';
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
    return error_say(e, ERROR_FAILED, -EIO, "the box says: %s", text);
}

static int wait_ready(struct keeper *k, struct error *e)
{
    switch (wait_for(k, k->ready[0], -1, READY_MS)) {
    case 'r':
        return hear(k, e);
    case 's':
        return error_say(e, ERROR_INTERRUPTED, -EINTR, "stopped while the box started");
    case 't':
        return error_say(e, ERROR_FAILED, -ETIMEDOUT, "the box was not ready after %d s", READY_MS / 1000);
    default:
        return did_not_start(e);
    }
}

static void tell_init(const struct keeper *k, int sig)
{
    if (k->init_fd >= 0)
        syscall(SYS_pidfd_send_signal, k->init_fd, sig, NULL, 0);
}

/* A pid namespace's first process ends last: the kernel has it wait for all others. What is frozen by cgroup v1 does
 * not even die of KILL. */
static void end_box(struct keeper *k, bool gently)
{
    unlinkat(k->run, "exec", 0); /* so that whoever comes now knows that it ends */
    if (gently) {
        tell_init(k, SIGTERM);
        ends_within(k->bwrap_fd, (int)k->config->grace_ms);
    }
    tell_init(k, SIGKILL);
    if (k->init_fd >= 0)
        while (!ends_within(k->init_fd, WAKE_MS))
            group_wake(&k->group);
    else if (k->bwrap > 0)
        kill(k->bwrap, SIGKILL);
    while (k->bwrap > 0 && waitpid(k->bwrap, NULL, 0) < 0 && errno == EINTR)
        ;
}

static void release(struct keeper *k)
{
    if (k->run >= 0) {
        unlinkat(k->run, "exec", 0);
        remove_tree(k->run, ETC_NAME, NULL); /* it may be in memory */
    }
    group_remove(&k->group);
    words_release(&k->argv);
    host_release(&k->host);
    int *const fds[] = { &k->run,      &k->listen,  &k->filter,  &k->signals,  &k->logins,  &k->etc, &k->ready[0],
                         &k->ready[1], &k->info[0], &k->info[1], &k->bwrap_fd, &k->init_fd, &k->lock };
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        mem_closep(fds[i]);
}

/* Something that was to be hidden, or shown, was gone before bwrap came to it. */
static bool has_vanished(const struct keeper *k)
{
    struct host now = { 0 };
    if (host_look(k->config->home, k->config->hidden, &now, NULL) < 0)
        return false;
    bool vanished = memcmp(now.configuration, k->host.configuration, sizeof(now.configuration)) != 0;
    for (size_t i = 0; i < k->host.hidden_files.count; i++)
        vanished |= !words_has(&now.hidden_files, k->host.hidden_files.items[i]);
    host_release(&now);
    return vanished;
}

static int run(const struct keeper_config *c, bool *ret_vanished, struct error *e)
{
    struct keeper k = { .config = c,
                        .policy = *c->policy,
                        .run = -1,
                        .lock = -1,
                        .listen = -1,
                        .filter = -1,
                        .signals = -1,
                        .logins = -1,
                        .etc = -1,
                        .ready = { -1, -1 },
                        .info = { -1, -1 },
                        .bwrap_fd = -1,
                        .init_fd = -1 };
    int r = open_run(&k, e);
    if (r < 0) {
        mem_closep(&k.run);
        mem_closep(&k.lock);
        return r;
    }
    become_unlikely_victim();
    r = take_signals(&k, e);
    if (r == 0)
        r = prepare(&k, e);
    if (r == 0)
        r = spawn(&k, e);
    if (r == 0)
        r = learn_init(&k, e);
    if (r == 0)
        r = wait_ready(&k, e);
    if (r == 0) {
        c->ready(c->arg);
        end_box(&k, keep(&k));
        reconcile_logins(&k);
    } else {
        end_box(&k, false);
        *ret_vanished = r == -EIO && has_vanished(&k);
    }
    release(&k);
    return r;
}

int keeper_run(const struct keeper_config *c, struct error *e)
{
    bool vanished = false;
    int r = run(c, &vanished, e);
    return vanished ? run(c, &vanished, e) : r;
}
