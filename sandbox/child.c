/* SPDX-License-Identifier: MIT */
#include "sandbox/child.h"

#include "index/base/mem.h"
#include "sandbox/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <unistd.h>

/* Both ends of what the child's three descriptors are made of. */
struct ends {
    int in, out, err; /* the child's */
    int our_in, our_out, our_err;
    int starting, our_starting;
};

#define ENDS_NONE                                                                                                      \
    {                                                                                                                  \
        -1, -1, -1, -1, -1, -1, -1, -1                                                                                 \
    }

static void close_ends(struct ends *n)
{
    int all[] = { n->in, n->out, n->err, n->our_in, n->our_out, n->our_err, n->starting, n->our_starting };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        mem_closep(&all[i]);
}

/* ours: which of the two is not to block. */
static int make_pipe(int *ret_read, int *ret_write, bool read_is_ours)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    *ret_read = fds[0];
    *ret_write = fds[1];
    return fcntl(read_is_ours ? fds[0] : fds[1], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int make_terminal(const struct child_request *q, struct ends *n)
{
    int r = tty_open(q->rows, q->cols, &n->our_out, &n->in);
    if (r < 0)
        return r;
    n->our_in = fcntl(n->our_out, F_DUPFD_CLOEXEC, 3);
    n->out = fcntl(n->in, F_DUPFD_CLOEXEC, 3);
    n->err = fcntl(n->in, F_DUPFD_CLOEXEC, 3);
    return n->our_in < 0 || n->out < 0 || n->err < 0 ? -errno : 0;
}

static int make_ends(const struct child_request *q, struct ends *n)
{
    int r = make_pipe(&n->our_starting, &n->starting, true);
    if (r < 0)
        return r;
    if (q->stdio == CHILD_TERMINAL)
        return make_terminal(q, n);
    if (q->stdio == CHILD_PIPES)
        r = make_pipe(&n->in, &n->our_in, false);
    else if ((n->in = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
        r = -errno;
    if (r == 0)
        r = make_pipe(&n->our_out, &n->out, true);
    return r < 0 ? r : make_pipe(&n->our_err, &n->err, true);
}

static _Noreturn void give_up(const struct ends *n, enum message_stage stage)
{
    struct message_refusal why = { stage, errno };
    (void)!write(n->starting, &why, sizeof(why));
    _exit(127);
}

static _Noreturn void become(const struct child_request *q, const struct ends *n)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    setsid();
    if (q->stdio == CHILD_TERMINAL && tty_control(n->in) < 0)
        give_up(n, MESSAGE_STAGE_BOX);
    /* All ends are above 2: boxinit keeps 0, 1 and 2 open. */
    if (dup2(n->in, 0) < 0 || dup2(n->out, 1) < 0 || dup2(n->err, 2) < 0 ||
        close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
        give_up(n, MESSAGE_STAGE_BOX);
    if (chdir(q->cwd) < 0)
        give_up(n, MESSAGE_STAGE_DIRECTORY);
    sigprocmask(SIG_SETMASK, &none, NULL);
    environ = (char **)q->env;
    execvp(q->argv[0], q->argv);
    give_up(n, MESSAGE_STAGE_PROGRAM);
}

int child_start(const struct child_request *q, struct child *ret)
{
    struct ends n = ENDS_NONE;
    int r = make_ends(q, &n);
    pid_t pid = r < 0 ? -1 : fork();
    if (r == 0 && pid < 0)
        r = -errno;
    if (pid == 0)
        become(q, &n);
    if (r == 0) {
        *ret = (struct child){ pid, mem_steal_fd(&n.our_in), mem_steal_fd(&n.our_out), mem_steal_fd(&n.our_err),
                               mem_steal_fd(&n.our_starting) };
    }
    close_ends(&n);
    return r;
}

void child_close(struct child *c)
{
    int all[] = { c->in, c->out, c->err, c->starting };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        mem_closep(&all[i]);
    c->in = c->out = c->err = c->starting = -1;
}

int child_started(struct child *c, struct message_refusal *ret)
{
    struct message_refusal why;
    ssize_t n = read(c->starting, &why, sizeof(why));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return -EAGAIN;
    close(mem_steal_fd(&c->starting));
    if (n != sizeof(why))
        return 1;
    *ret = why;
    return 0;
}

void child_signal(const struct child *c, int number)
{
    if (kill(-c->pid, number) < 0)
        kill(c->pid, number); /* it has not made its session yet */
}
