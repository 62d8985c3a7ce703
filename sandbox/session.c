/* SPDX-License-Identifier: MIT */
#include "sandbox/session.h"

#include "index/base/clock.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "sandbox/replies.h"
#include "sandbox/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#define QUEUE_MAX 131072 /* bytes on their way in one direction */
#define KILL_AFTER_NS INT64_C(10000000000)
#define PATIENCE 3 /* signals until we do not wait any more */
/* What a pipe takes without blocking once poll(2) says that it takes something: our descriptors are others', too, so
 * they cannot be made not to block. */
#define WRITE_MAX 4096

struct relay {
    const struct session *s;
    struct session_result *result;
    struct replies replies;
    struct queue to_box, from_box;
    int socket, signals;
    bool lost, in_ended, killed;
    unsigned impatient;
    int64_t deadline_ns; /* 0: none */
    int socket_place, signals_place, in_place, out_place, err_place;
};

/* --- the way there */

static int connect_to(const char *path, struct error *e)
{
    struct sockaddr_un at;
    _cleanup_close_ int dir = -1;
    int r = fd_socket_address(path, &at, &dir, e);
    if (r < 0 && r != -ENOENT)
        return r;
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "socket");
    if (r == 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
        r = -errno;
    if (r == -ENOENT || r == -ECONNREFUSED) {
        error_say(e, ERROR_BUSY, -ENOTCONN, "the box is not running");
        return error_hint(e, "it has just ended, or is being stopped: try again"), -ENOTCONN;
    }
    if (r == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        r = -errno;
    return r < 0 ? error_set(e, ERROR_FAILED, r, "connect to %s", path) : mem_steal_fd(&fd);
}

static int take_signals(struct relay *y, sigset_t *ret_before, struct error *e)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT };
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        sigaddset(&set, numbers[i]);
    if (y->s->terminal >= 0)
        sigaddset(&set, SIGTSTP); /* it would be stopped with a terminal that nobody else can use */
    y->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (y->signals < 0 || sigprocmask(SIG_BLOCK, &set, ret_before) < 0)
        return error_set(e, ERROR_FAILED, -errno, "signalfd");
    return 0;
}

/* --- what goes into the box */

static void send_signal(struct relay *y, int number)
{
    message_put_u32(&y->to_box.bytes, MESSAGE_SIGNAL, (uint32_t)number);
}

static void send_size(struct relay *y)
{
    struct winsize size;
    if (y->s->terminal >= 0 && ioctl(y->s->terminal, TIOCGWINSZ, &size) == 0)
        message_put_size(&y->to_box.bytes, size.ws_row, size.ws_col);
}

static int take_signal(struct relay *y, int number, struct error *e)
{
    if (number == SIGWINCH || number == SIGCONT) {
        if (number == SIGCONT && y->s->resumed)
            y->s->resumed(y->s->arg);
        send_size(y);
        return 0;
    }
    if (number == SIGTSTP)
        return 0;
    y->impatient += number == SIGINT || number == SIGTERM;
    if (y->s->leaves || y->replies.ended || y->impatient >= PATIENCE)
        return error_say(e, ERROR_INTERRUPTED, -EINTR, "interrupted");
    send_signal(y, number);
    return 0;
}

static int hear_signals(struct relay *y, struct error *e)
{
    struct signalfd_siginfo info;
    int r = 0;
    while (r == 0 && read(y->signals, &info, sizeof(info)) == sizeof(info))
        r = take_signal(y, (int)info.ssi_signo, e);
    return r;
}

static size_t room_for_input(const struct relay *y)
{
    if (y->s->in < 0 || y->in_ended || !y->replies.started || y->replies.ended || y->lost ||
        queue_bytes(&y->to_box).len >= QUEUE_MAX)
        return 0;
    return y->replies.granted < MESSAGE_MAX ? y->replies.granted : MESSAGE_MAX;
}

static int hear_input(struct relay *y, struct error *e)
{
    static uint8_t bytes[MESSAGE_MAX];
    size_t room = room_for_input(y);
    ssize_t n = room ? read(y->s->in, bytes, room) : -1;
    if (room == 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)))
        return 0;
    if (n > 0) {
        message_put(&y->to_box.bytes, MESSAGE_IN, bytes, (size_t)n);
        y->replies.granted -= (uint32_t)n;
        return 0;
    }
    /* A raw terminal has no end of file: it is gone. Nobody typed the ^D that an end would be in there. */
    if (y->s->terminal >= 0)
        return error_say(e, ERROR_INTERRUPTED, -EINTR, "the terminal is gone");
    message_put(&y->to_box.bytes, MESSAGE_IN_END, NULL, 0);
    y->in_ended = true;
    return 0;
}

static int keep_time(struct relay *y, int64_t now, struct error *e)
{
    if (y->deadline_ns == 0 || now < y->deadline_ns || y->replies.ended)
        return 0;
    if (y->killed)
        return error_say(e, ERROR_FAILED, -ETIMEDOUT, "the command does not end");
    y->killed = y->result->timed_out;
    y->result->timed_out = true;
    send_signal(y, y->killed ? SIGKILL : SIGTERM);
    y->deadline_ns = now + KILL_AFTER_NS;
    return 0;
}

/* --- what comes out of it */

static int lost(struct error *e)
{
    error_say(e, ERROR_FAILED, -ECONNRESET, "the box ended while the command ran");
    return error_hint(e, "what it said last is in box.log of the box's state directory"), -ECONNRESET;
}

static void hear_box(struct relay *y)
{
    ssize_t n = queue_fill(&y->from_box, y->socket, MESSAGE_MAX);
    if (n != -EAGAIN)
        y->lost = n <= 0;
}

/* A reader that went away ends the command as it would without us; what still comes is dropped. */
static void write_out(struct relay *y, struct queue *q, int fd)
{
    ssize_t n = queue_flush(q, fd, WRITE_MAX);
    if (n < 0 && n != -EAGAIN) {
        queue_take(q, queue_bytes(q).len);
        if (!y->replies.ended)
            send_signal(y, SIGPIPE);
    }
}

static int refused(const struct session *s, const struct message_refusal *why, struct error *e)
{
    if (why->stage == MESSAGE_STAGE_PROGRAM)
        return error_set(e, ERROR_FAILED, -why->error, "run %s in the box", s->start.argv[0]);
    if (why->stage == MESSAGE_STAGE_DIRECTORY)
        return error_set(e, ERROR_USAGE, -why->error, "go to %s in the box",
                         s->start.cwd[0] ? s->start.cwd : "the project");
    if (why->error != EUSERS)
        return error_set(e, ERROR_FAILED, -why->error, "start a command in the box");
    error_say(e, ERROR_BUSY, -EBUSY, "as many commands as a box may have are running in it");
    return error_hint(e, "end some of them"), -EBUSY;
}

static void watch_all(struct relay *y, struct watch *w)
{
    bool reads = queue_bytes(&y->replies.out).len < QUEUE_MAX && queue_bytes(&y->replies.err).len < QUEUE_MAX;
    bool tells = queue_bytes(&y->to_box).len > 0;
    watch_begin(w);
    y->signals_place = watch_add(w, y->signals, POLLIN);
    y->socket_place = watch_add(w, y->lost || y->replies.ended ? -1 : y->socket,
                                (short)((reads ? POLLIN : 0) | (tells ? POLLOUT : 0)));
    y->in_place = watch_add(w, y->s->in, room_for_input(y) ? POLLIN : 0);
    y->out_place = watch_add(w, y->s->out, queue_bytes(&y->replies.out).len ? POLLOUT : 0);
    y->err_place = watch_add(w, y->s->err, queue_bytes(&y->replies.err).len ? POLLOUT : 0);
    if (y->deadline_ns && !y->replies.ended)
        watch_until(w, y->deadline_ns);
}

static int turn(struct relay *y, struct error *e)
{
    static struct watch w;
    watch_all(y, &w);
    int r = watch_wait(&w, e);
    if (r == 0 && watch_came(&w, y->signals_place))
        r = hear_signals(y, e);
    if (r == 0)
        r = keep_time(y, w.now_ns, e);
    if (r == 0 && watch_came(&w, y->in_place))
        r = hear_input(y, e);
    short socket = watch_came(&w, y->socket_place);
    if (socket & POLLOUT)
        queue_flush(&y->to_box, y->socket, SIZE_MAX); /* a failure is heard when reading: a refusal may lie there */
    if (socket & (POLLIN | POLLHUP | POLLERR))
        hear_box(y);
    if (watch_came(&w, y->out_place))
        write_out(y, &y->replies.out, y->s->out);
    if (watch_came(&w, y->err_place))
        write_out(y, &y->replies.err, y->s->err);
    if (r == 0 && replies_take(&y->replies, &y->from_box, QUEUE_MAX) < 0)
        r = error_say(e, ERROR_DAMAGED, -EBADMSG, "the box answered what cannot be");
    return r;
}

static bool is_over(const struct relay *y)
{
    return y->replies.refused ||
           (y->replies.ended && queue_bytes(&y->replies.out).len == 0 && queue_bytes(&y->replies.err).len == 0);
}

static int run(struct relay *y, struct error *e)
{
    int r = message_put_start(&y->to_box.bytes, &y->s->start, e);
    while (r == 0 && !is_over(y)) {
        r = turn(y, e);
        if (r == 0 && y->lost && !y->replies.ended && !y->replies.refused && queue_bytes(&y->replies.out).len == 0 &&
            queue_bytes(&y->replies.err).len == 0)
            r = lost(e);
    }
    y->result->refused = y->replies.refused;
    y->result->refusal = y->replies.refusal;
    y->result->pid = y->replies.pid;
    y->result->exit = y->replies.exit;
    return r == 0 && y->replies.refused ? refused(y->s, &y->replies.refusal, e) : r;
}

int session_run(const struct session *s, struct session_result *ret, struct error *e)
{
    struct relay y = { .s = s, .result = ret, .socket = -1, .signals = -1 };
    sigset_t before;
    *ret = (struct session_result){ 0 };
    replies_begin(&y.replies, &s->start);
    y.socket = connect_to(s->socket, e);
    if (y.socket < 0)
        return y.socket;
    if (s->timeout_s)
        y.deadline_ns = clock_boot_ns() + s->timeout_s * INT64_C(1000000000);
    int r = take_signals(&y, &before, e);
    if (r == 0) {
        r = run(&y, e);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    mem_closep(&y.signals);
    close(y.socket);
    queue_release(&y.to_box);
    queue_release(&y.from_box);
    replies_release(&y.replies);
    return r;
}

int session_exit_code(const struct message_exit *x)
{
    return x->kind == MESSAGE_KILLED ? 128 + x->code : x->code;
}
