/* SPDX-License-Identifier: MIT */
#include "sandbox/boxinit.h"

#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "sandbox/service.h"
#include "sandbox/tmux.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define FLUSH_NS 1000000000  /* for the last words to slow clients, once nothing runs any more */
#define HANG_UP_NS 500000000 /* after the end began; then every second */

struct init {
    int signals, ready, signals_place;
    const char *name, *cwd;
    struct service service;
    struct tmux tmux;
    bool ending, killed, childless;
    int64_t deadline_ns, hang_up_ns; /* while ending */
};

static void tell_ready(struct init *n, const void *bytes, size_t len)
{
    if (n->ready < 0)
        return;
    fd_write_all(n->ready, bytes, len, NULL);
    close(mem_steal_fd(&n->ready));
}

static void end(struct init *n, int64_t now)
{
    if (n->ending)
        return;
    n->ending = true;
    n->tmux.ended = true;
    n->deadline_ns = now + BOXINIT_GRACE_MS * INT64_C(1000000);
    n->hang_up_ns = now + HANG_UP_NS;
    kill(-1, SIGTERM);
    service_end(&n->service); /* a shell at a terminal does not mind SIGTERM */
    kill(-1, SIGCONT);
}

/* 0, or -1 when the box is of no use: tmux does not stand at its beginning. */
static int handle_tmux(struct init *n, pid_t pid, int status, int64_t now)
{
    static const char ready = BOXINIT_READY;
    char why[256];
    int r = tmux_reaped(&n->tmux, pid, status, now, why);
    if (r > 0)
        tell_ready(n, &ready, 1);
    if (r < 0 && !n->ending)
        log_warn("%s", why);
    if (r >= 0 || n->ready < 0)
        return 0;
    tell_ready(n, why, strlen(why));
    return -1;
}

static int reap(struct init *n, int64_t now)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        service_reaped(&n->service, pid, status);
        if (handle_tmux(n, pid, status, now) < 0)
            return -1;
    }
    n->childless = pid < 0 && errno == ECHILD;
    return 0;
}

static void take_signals(struct init *n, int64_t now)
{
    struct signalfd_siginfo s;
    /* From a process that has no number here: the host's. Of what kill(2) has not sent the sender says that itself. */
    while (read(n->signals, &s, sizeof(s)) == sizeof(s))
        if (s.ssi_signo == SIGTERM && s.ssi_code == SI_USER && s.ssi_pid == 0)
            end(n, now);
}

/* A shell only notes a SIGHUP that comes just before it reads its terminal, and then reads. Not SIGTERM again: to many
 * programs a second one says that they shall not finish what the first began. */
static void hang_up_again(struct init *n, int64_t now)
{
    if (n->killed || now < n->hang_up_ns)
        return;
    n->hang_up_ns = now + 2 * HANG_UP_NS;
    service_end(&n->service);
}

static void go_on_ending(struct init *n, int64_t now)
{
    hang_up_again(n, now);
    if (!n->killed && now >= n->deadline_ns) {
        n->killed = true;
        kill(-1, SIGKILL);
        n->deadline_ns = now + FLUSH_NS;
    } else if (n->childless && !n->killed) {
        n->killed = true;
        n->deadline_ns = now + FLUSH_NS;
    }
}

static bool is_over(const struct init *n, int64_t now)
{
    return n->ending && n->childless && (service_is_idle(&n->service) || (n->killed && now >= n->deadline_ns));
}

static int turn(struct init *n)
{
    static struct watch w;
    watch_begin(&w);
    n->signals_place = watch_add(&w, n->signals, POLLIN);
    service_watch(&n->service, &w);
    tmux_watch(&n->tmux, &w);
    if (n->ending && (!n->killed || n->childless))
        watch_until(&w, n->deadline_ns);
    if (n->ending && !n->killed)
        watch_until(&w, n->hang_up_ns);
    int r = watch_wait(&w, NULL);
    if (r < 0)
        return r;
    if (watch_came(&w, n->signals_place))
        take_signals(n, w.now_ns);
    r = reap(n, w.now_ns);
    if (r < 0)
        return r;
    if (n->ending)
        go_on_ending(n, w.now_ns);
    service_step(&n->service, &w);
    tmux_step(&n->tmux, &w);
    return is_over(n, w.now_ns) ? 1 : 0;
}

static int take_fd(const char *text, int *ret)
{
    uint64_t fd;
    if (text_parse_u64(text, INT32_MAX, &fd) < 0 || fd < 3 || fcntl((int)fd, F_GETFD) < 0)
        return -EBADF;
    *ret = (int)fd;
    return fcntl(*ret, F_SETFD, FD_CLOEXEC) < 0 || fcntl(*ret, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int parse(struct init *n, int argc, char **argv)
{
    static const struct option options[] = { { "listen", required_argument, NULL, 'l' },
                                             { "ready", required_argument, NULL, 'r' },
                                             { "name", required_argument, NULL, 'n' },
                                             { "cwd", required_argument, NULL, 'c' },
                                             { 0 } };
    int r = 0, option;
    while (r == 0 && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'l')
            r = take_fd(optarg, &n->service.listener);
        else if (option == 'r')
            r = take_fd(optarg, &n->ready);
        else if (option == 'n')
            n->name = optarg;
        else if (option == 'c')
            n->cwd = optarg;
        else
            r = -EINVAL;
    }
    bool whole = n->service.listener >= 0 && n->ready >= 0 && n->name && text_is_name(n->name) && n->cwd;
    return r < 0 ? r : whole && optind == argc ? 0 : -EINVAL;
}

static int prepare(struct init *n)
{
    sigset_t ours;
    sigfillset(&ours);
    umask(022);
    fd_open_standard();            /* child.c counts on it */
    for (int i = 1; i < NSIG; i++) /* whatever the host's processes ignored: the box's are born without it */
        signal(i, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    if (prctl(PR_SET_DUMPABLE, 0) < 0 || sigprocmask(SIG_SETMASK, &ours, NULL) < 0)
        return -errno;
    n->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
    return n->signals < 0 ? -errno : 0;
}

#ifdef __SANITIZE_ADDRESS__
/* The search for leaks traces the process, and this one cannot be traced. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

int main(int argc, char **argv)
{
    static struct init n = { .signals = -1, .ready = -1, .service = { .listener = -1 }, .tmux = TMUX_NONE };
    int r = parse(&n, argc, argv);
    if (r < 0) {
        log_warn("usage: boxinit --listen FD --ready FD --name NAME --cwd PROJECT");
        return 2;
    }
    r = prepare(&n);
    if (r < 0) {
        log_warn("boxinit: %s", strerror(-r));
        return 1;
    }
    n.tmux.socket = mem_printf("%s/%s/tmux.sock", BOXINIT_RUN, n.name);
    n.tmux.program = mem_printf("%s/%s/tmux", BOXINIT_RUN, n.name);
    n.tmux.cwd = n.service.cwd = n.cwd;
    while ((r = turn(&n)) == 0)
        ;
    return r < 0;
}
