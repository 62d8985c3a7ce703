/* SPDX-License-Identifier: MIT */
#include "sandbox/command.h"

#include "index/base/log.h"
#include "index/base/mem.h"
#include "sandbox/child.h"
#include "sandbox/queue.h"
#include "sandbox/tty.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#define QUIET_NS 100000000 /* after its program is gone a terminal is read until nothing came for so long */
#define TTY_LEFT 131072    /* more than a pseudo terminal can hold */
#define END_OF_FILE 4      /* ^D */
#define DEFAULT_TERM "xterm-256color"

enum state { WAITING, STARTING, RUNNING, OVER };

struct stream {
    int *fd; /* of the child */
    enum message_type type;
    size_t left; /* at most so much is still read */
    int place;
};

struct command {
    int socket; /* -1: the client is gone */
    const char *cwd;
    enum state state;
    bool tty, detach, reaped, in_ended;
    int status;                 /* once reaped */
    int64_t probe_ns, quiet_ns; /* until when: the probe of a detached program, the wait for a quiet terminal */
    uint32_t granted, owed;     /* bytes of IN: that may still come; that were taken since the last MORE */
    struct buf start;           /* parts of START */
    struct queue from_client, to_client, in;
    struct child child;
    struct stream streams[2];
    int socket_place, in_place, starting_place;
};

struct command *command_new(int socket, const char *cwd)
{
    struct command *c = mem_new(1, sizeof(*c));
    c->socket = socket;
    c->cwd = cwd;
    c->granted = MESSAGE_WINDOW;
    c->child = (struct child)CHILD_NONE;
    c->streams[0] = (struct stream){ &c->child.out, MESSAGE_OUT, SIZE_MAX, -1 };
    c->streams[1] = (struct stream){ &c->child.err, MESSAGE_ERR, SIZE_MAX, -1 };
    return c;
}

static void hang_up(const struct child *c)
{
    child_signal(c, SIGHUP);
    child_signal(c, SIGCONT);
}

void command_free(struct command *c)
{
    bool runs = c->child.pid > 0 && !c->reaped;
    child_close(&c->child);
    if (runs && !c->detach)
        hang_up(&c->child);
    mem_closep(&c->socket);
    buf_release(&c->start);
    queue_release(&c->from_client);
    queue_release(&c->to_client);
    queue_release(&c->in);
    free(c);
}

bool command_gone(const struct command *c)
{
    if (c->socket >= 0)
        return false;
    return !c->detach || c->child.pid <= 0 || c->reaped;
}

bool command_is_detached(const struct command *c)
{
    return c->socket < 0;
}

static void lose_client(struct command *c)
{
    close(mem_steal_fd(&c->socket));
    queue_release(&c->from_client);
    queue_release(&c->to_client);
}

static bool has_room(const struct command *c)
{
    return c->socket < 0 || queue_bytes(&c->to_client).len < COMMAND_OUT_MAX;
}

/* --- what the client says */

/* boxinit's own environment, PWD for the command's directory, what START has over it, and a terminal that there is. */
static char **environment(const struct message_start *s, char *pwd)
{
    size_t own = 0, more = 0, count = 0;
    while (environ[own])
        own++;
    while (s->env[more])
        more++;
    char **env = mem_new(own + more + 3, sizeof(*env));
    for (size_t i = 0; i <= own + more; i++) {
        char *item = i < own ? environ[i] : i == own ? pwd : s->env[i - own - 1];
        size_t name = (size_t)(strchrnul(item, '=') - item), at = 0;
        while (at < count && (strncmp(env[at], item, name) != 0 || env[at][name] != '='))
            at++;
        env[at] = item;
        count += at == count;
    }
    for (size_t i = 0; s->tty && i < count; i++)
        if (strncmp(env[i], "TERM=", 5) == 0 && !tty_is_known(env[i] + 5))
            env[i] = (char *)"TERM=" DEFAULT_TERM;
    return env;
}

static void refuse(struct command *c, const struct message_refusal *why)
{
    message_put_refusal(&c->to_client.bytes, why);
    c->state = OVER;
}

static void start(struct command *c, struct bytes body, int64_t now)
{
    struct message_start s = { 0 };
    if (message_start_decode(body, &s) < 0) {
        lose_client(c);
        return;
    }
    const char *cwd = s.cwd[0] ? s.cwd : c->cwd;
    _cleanup_free_ char *pwd = mem_printf("PWD=%s", cwd);
    _cleanup_free_ char **env = environment(&s, pwd);
    struct child_request q = {
        .stdio = s.tty      ? CHILD_TERMINAL
                 : s.detach ? CHILD_NO_INPUT
                            : CHILD_PIPES,
        .rows = s.rows,
        .cols = s.cols,
        .cwd = cwd,
        .argv = s.argv,
        .env = env,
    };
    int r = child_start(&q, &c->child);
    c->state = STARTING;
    c->tty = s.tty;
    c->detach = s.detach && r == 0;
    c->probe_ns = now + COMMAND_PROBE_MS * INT64_C(1000000);
    if (r < 0)
        refuse(c, &(struct message_refusal){ MESSAGE_STAGE_BOX, -r });
    message_start_release(&s);
    buf_release(&c->start);
}

static int take_start(struct command *c, const struct message *f, int64_t now)
{
    if ((f->type != MESSAGE_START && f->type != MESSAGE_START_PART) ||
        c->start.len + f->payload.len > MESSAGE_START_MAX)
        return -EBADMSG;
    buf_add(&c->start, f->payload.data, f->payload.len);
    if (f->type == MESSAGE_START)
        start(c, buf_bytes(&c->start), now);
    return 0;
}

static int take_input(struct command *c, const struct message *f)
{
    if (c->in_ended || f->payload.len > c->granted)
        return -EBADMSG;
    c->granted -= (uint32_t)f->payload.len;
    if (c->child.in >= 0)
        buf_add(&c->in.bytes, f->payload.data, f->payload.len);
    else
        c->owed += (uint32_t)f->payload.len;
    return 0;
}

static int take_input_end(struct command *c)
{
    static const char end = END_OF_FILE;
    if (c->in_ended)
        return -EBADMSG;
    c->in_ended = true;
    if (c->tty)
        buf_add(&c->in.bytes, &end, 1);
    return 0;
}

static int take_signal(struct command *c, const struct message *f)
{
    uint32_t number;
    int r = message_u32_decode(f, &number);
    if (r == 0 && !c->reaped)
        child_signal(&c->child, (int)number);
    return r;
}

static int take_size(struct command *c, const struct message *f)
{
    uint16_t rows, cols;
    int r = message_size_decode(f, &rows, &cols);
    if (r == 0 && c->tty && c->child.out >= 0)
        tty_resize(c->child.out, rows, cols);
    return r;
}

static int take_message(struct command *c, const struct message *f, int64_t now)
{
    if (c->state == WAITING)
        return take_start(c, f, now);
    switch (f->type) {
    case MESSAGE_IN:
        return take_input(c, f);
    case MESSAGE_IN_END:
        return take_input_end(c);
    case MESSAGE_SIGNAL:
        return take_signal(c, f);
    case MESSAGE_SIZE:
        return take_size(c, f);
    default:
        return -EBADMSG;
    }
}

static void hear_client(struct command *c, int64_t now)
{
    ssize_t n = queue_fill(&c->from_client, c->socket, MESSAGE_MAX);
    if (n == -EAGAIN)
        return;
    int r = n > 0 ? 1 : -ECONNRESET;
    struct message f;
    size_t used;
    while (r == 1 && c->socket >= 0 && c->state != OVER) {
        r = message_next(queue_bytes(&c->from_client), &f, &used);
        if (r == 1) {
            int taken = take_message(c, &f, now);
            if (c->socket >= 0)
                queue_take(&c->from_client, used);
            r = taken < 0 ? taken : 1;
        }
    }
    if (r == -EBADMSG)
        log_warn("a client said what cannot be; its command is ended");
    if (r < 0 && c->socket >= 0)
        lose_client(c);
}

static void tell_client(struct command *c)
{
    ssize_t n = queue_flush(&c->to_client, c->socket, SIZE_MAX);
    if ((n < 0 && n != -EAGAIN) || (c->state == OVER && queue_bytes(&c->to_client).len == 0))
        lose_client(c);
}

/* --- what the program does */

static void feed(struct command *c)
{
    size_t before = queue_bytes(&c->in).len;
    ssize_t n = queue_flush(&c->in, c->child.in, SIZE_MAX);
    if (n < 0 && n != -EAGAIN) { /* it wants no more; what comes is dropped */
        close(mem_steal_fd(&c->child.in));
        queue_release(&c->in);
    }
    c->owed += (uint32_t)(before - queue_bytes(&c->in).len);
    if (c->in_ended)
        c->owed = 0;
}

static void end_input(struct command *c)
{
    if (c->in_ended && c->child.in >= 0 && queue_bytes(&c->in).len == 0)
        close(mem_steal_fd(&c->child.in));
}

static void grant(struct command *c)
{
    if (c->owed < MESSAGE_MAX && (c->owed == 0 || queue_bytes(&c->in).len > 0))
        return;
    if (c->socket < 0 || !has_room(c) || c->state == OVER)
        return;
    message_put_u32(&c->to_client.bytes, MESSAGE_MORE, c->owed);
    c->granted += c->owed;
    c->owed = 0;
}

static void read_stream(struct command *c, struct stream *s, int64_t now)
{
    static uint8_t bytes[MESSAGE_MAX];
    size_t max = s->left < sizeof(bytes) ? s->left : sizeof(bytes);
    ssize_t n = max ? read(*s->fd, bytes, max) : 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) { /* of a terminal that nobody has open any more: EIO */
        close(mem_steal_fd(s->fd));
        return;
    }
    if (c->socket >= 0)
        message_put(&c->to_client.bytes, s->type, bytes, (size_t)n);
    if (s->left != SIZE_MAX)
        s->left -= (size_t)n;
    c->quiet_ns = now + QUIET_NS;
}

static void hear_start(struct command *c)
{
    struct message_refusal why;
    int r = child_started(&c->child, &why);
    if (r == 0) {
        refuse(c, &why);
    } else if (r == 1) {
        c->state = RUNNING;
        message_put_u32(&c->to_client.bytes, MESSAGE_STARTED, (uint32_t)c->child.pid);
    }
}

bool command_reaped(struct command *c, pid_t pid, int status)
{
    if (pid != c->child.pid || c->reaped)
        return false;
    c->reaped = true;
    c->status = status;
    for (int i = 0; i < 2; i++) {
        struct stream *s = &c->streams[i];
        int there = 0;
        if (*s->fd >= 0)
            s->left = c->tty ? TTY_LEFT : ioctl(*s->fd, FIONREAD, &there) == 0 ? (size_t)there : 0;
    }
    c->quiet_ns = 0;
    return true;
}

/* The program is gone: what it wrote is on its way, then EXIT. */
static void drain(struct command *c, int64_t now)
{
    bool open = false;
    if (c->quiet_ns == 0)
        c->quiet_ns = now + QUIET_NS;
    for (int i = 0; i < 2; i++) {
        struct stream *s = &c->streams[i];
        if (*s->fd >= 0 && (s->left == 0 || (c->tty && has_room(c) && now >= c->quiet_ns)))
            close(mem_steal_fd(s->fd));
        open |= *s->fd >= 0;
    }
    if (open)
        return;
    struct message_exit x = { MESSAGE_EXITED, (uint8_t)WEXITSTATUS(c->status) };
    if (WIFSIGNALED(c->status))
        x = (struct message_exit){ MESSAGE_KILLED, (uint8_t)WTERMSIG(c->status) };
    message_put_exit(&c->to_client.bytes, &x);
    c->state = OVER;
}

/* --- a turn */

void command_watch(struct command *c, struct watch *w)
{
    bool tells = queue_bytes(&c->to_client).len > 0;
    c->socket_place = watch_add(w, c->socket, (short)((c->state != OVER ? POLLIN : 0) | (tells ? POLLOUT : 0)));
    c->starting_place = watch_add(w, c->child.starting, POLLIN);
    c->in_place = watch_add(w, c->child.in, queue_bytes(&c->in).len > 0 ? POLLOUT : 0);
    for (int i = 0; i < 2; i++)
        c->streams[i].place = watch_add(w, *c->streams[i].fd, c->state >= RUNNING && has_room(c) ? POLLIN : 0);
    if (c->state == RUNNING && c->detach && c->socket >= 0)
        watch_until(w, c->probe_ns);
    if (c->state == RUNNING && c->reaped && has_room(c))
        watch_until(w, c->tty ? c->quiet_ns : 0);
}

void command_step(struct command *c, const struct watch *w)
{
    if (watch_came(w, c->socket_place) & (POLLIN | POLLHUP | POLLERR))
        hear_client(c, w->now_ns);
    if (watch_came(w, c->starting_place))
        hear_start(c);
    if (watch_came(w, c->in_place) && c->child.in >= 0)
        feed(c);
    end_input(c);
    for (int i = 0; i < 2; i++)
        if (watch_came(w, c->streams[i].place) && *c->streams[i].fd >= 0)
            read_stream(c, &c->streams[i], w->now_ns);
    if (c->state == RUNNING && c->reaped)
        drain(c, w->now_ns);
    if (c->state == RUNNING && c->detach && w->now_ns >= c->probe_ns && c->socket >= 0) {
        message_put_exit(&c->to_client.bytes, &(struct message_exit){ MESSAGE_DETACHED, 0 });
        c->state = OVER;
    }
    grant(c);
    if (c->socket >= 0 && (queue_bytes(&c->to_client).len > 0 || c->state == OVER))
        tell_client(c);
}

void command_hang_up(struct command *c)
{
    if (c->tty && c->child.pid > 0 && !c->reaped)
        hang_up(&c->child);
}
