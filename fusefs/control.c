/* SPDX-License-Identifier: MIT */
#include "fusefs/control.h"

#include "index/base/buf.h"
#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define IDLE_MS 30000 /* a connection that says, or takes, nothing for so long is closed */

struct control {
    const struct control_handler *handlers;
    void *arg;
    char *path;
    dev_t device; /* of the socket's file, so that only ours is removed */
    ino_t inode;
    int listener;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t gone;
    bool stopped;
    int connections[CONTROL_CONNECTIONS]; /* -1: free */
    unsigned count;
};

struct connection {
    struct control *control;
    int fd;
};

/* Reads up to a newline, which is taken off. -EPIPE: the end, or silence; no error text. */
static int read_line(int fd, size_t max, int timeout_ms, struct buf *ret)
{
    buf_clear(ret);
    for (;;) {
        struct pollfd p = { fd, POLLIN, 0 };
        int ready = poll(&p, 1, timeout_ms);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return -ETIMEDOUT;
        buf_reserve(ret, 4096);
        ssize_t n = read(fd, ret->data + ret->len, 4096);
        if (n <= 0)
            return -EPIPE;
        const uint8_t *end = memchr(ret->data + ret->len, '\n', (size_t)n);
        ret->len += (size_t)n;
        if (end)
            ret->len = (size_t)(end - ret->data);
        if (ret->len > max)
            return -EFBIG;
        if (end)
            return 0;
    }
}

static int write_line(int fd, const json_t *object, size_t max, struct error *e)
{
    _cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);
    size_t len = text ? strlen(text) : 0;
    if (!text || len > max)
        return error_say(e, ERROR_FAILED, -EFBIG, "a message of %zu bytes", len);
    text[len] = '\n'; /* over the NUL */
    for (size_t done = 0; done <= len;) {
        ssize_t n = send(fd, text + done, len + 1 - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(e, ERROR_FAILED, -errno, "write to a control socket");
        done += (size_t)n;
    }
    return 0;
}

static void put_error(json_t *answer, const struct error *e)
{
    json_object_clear(answer);
    json_object_set_new(answer, "ok", json_false());
    json_object_set_new(answer, "code", json_integer(error_exit_code(e->kind)));
    json_object_set_new(answer, "errno", json_integer(-e->code));
    json_object_set_new(answer, "kind", json_string(error_kind_name(e->kind)));
    json_t *message = json_string(e->text);
    json_object_set_new(answer, "message", message ? message : json_string("an error that is not UTF-8"));
    json_object_set_new(answer, "hint", json_string(e->hint));
}

static void answer_request(struct control *c, struct buf *line, json_t *answer)
{
    struct error e = { 0 };
    json_t *request = json_loadb((const char *)line->data, line->len, JSON_REJECT_DUPLICATES, NULL);
    const char *command = json_string_value(json_object_get(request, "command"));
    const struct control_handler *h = c->handlers;
    while (h->command && (!command || strcmp(h->command, command) != 0))
        h++;
    json_object_set_new(answer, "ok", json_true());
    int r = h->command ? h->handle(c->arg, request, answer, &e)
                       : error_say(&e, ERROR_USAGE, -EINVAL, "a request that is not understood");
    if (r < 0)
        put_error(answer, &e);
    json_decref(request);
}

static bool is_root(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == 0;
}

static void *converse(void *arg)
{
    struct connection *x = arg;
    struct control *c = x->control;
    _cleanup_(buf_release) struct buf line = { 0 };
    while (read_line(x->fd, CONTROL_REQUEST_MAX, IDLE_MS, &line) == 0) {
        json_t *answer = json_object();
        answer_request(c, &line, answer);
        int r = write_line(x->fd, answer, CONTROL_ANSWER_MAX, NULL);
        json_decref(answer);
        if (r < 0)
            break;
    }
    pthread_mutex_lock(&c->lock);
    for (unsigned i = 0; i < CONTROL_CONNECTIONS; i++)
        if (c->connections[i] == x->fd)
            c->connections[i] = -1;
    close(x->fd);
    free(x);
    c->count--;
    pthread_cond_broadcast(&c->gone);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Takes fd over. */
static void start_connection(struct control *c, int fd)
{
    struct connection *x = mem_new(1, sizeof(*x));
    *x = (struct connection){ c, fd };
    const struct timeval patience = { .tv_sec = IDLE_MS / 1000 };
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    pthread_t thread;
    bool started = false;
    pthread_mutex_lock(&c->lock);
    for (unsigned i = 0; i < CONTROL_CONNECTIONS && !c->stopped && !started; i++)
        if (c->connections[i] < 0 && pthread_create(&thread, NULL, converse, x) == 0) {
            pthread_detach(thread);
            c->connections[i] = fd;
            c->count++;
            started = true;
        }
    pthread_mutex_unlock(&c->lock);
    if (!started) {
        close(fd);
        free(x);
    }
}

static void *listen_for_commands(void *arg)
{
    struct control *c = arg;
    for (;;) {
        int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
            poll(NULL, 0, 100);
            continue;
        }
        if (fd < 0)
            return NULL; /* shut down */
        if (is_root(fd))
            start_connection(c, fd);
        else
            close(fd);
    }
}

static int open_listener(const char *path, int *ret, struct error *e)
{
    struct sockaddr_un a;
    _cleanup_close_ int dir = -1;
    int r = fd_socket_address(path, &a, &dir, e);
    if (r < 0)
        return r;
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "open a socket");
    unlink(path);
    fchmod(fd, 0600); /* the mode that bind gives the file */
    if (bind(fd, (const void *)&a, sizeof(a)) < 0 || listen(fd, CONTROL_CONNECTIONS) < 0)
        return error_set(e, ERROR_FAILED, -errno, "listen at %s", path);
    *ret = mem_steal_fd(&fd);
    return 0;
}

int control_start(const char *path, const struct control_handler *handlers, void *arg, struct control **ret,
                  struct error *e)
{
    int listener = -1;
    int r = open_listener(path, &listener, e);
    if (r < 0)
        return r;
    struct stat st;
    struct control *c = mem_new(1, sizeof(*c));
    c->handlers = handlers;
    c->arg = arg;
    c->path = mem_strdup(path);
    c->listener = listener;
    if (lstat(path, &st) == 0) {
        c->device = st.st_dev;
        c->inode = st.st_ino;
    }
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->gone, NULL);
    for (unsigned i = 0; i < CONTROL_CONNECTIONS; i++)
        c->connections[i] = -1;
    r = pthread_create(&c->thread, NULL, listen_for_commands, c);
    if (r != 0) {
        close(listener);
        free(c->path);
        free(c);
        return error_set(e, ERROR_FAILED, -r, "start the control thread");
    }
    *ret = c;
    return 0;
}

void control_stop(struct control *c)
{
    if (!c)
        return;
    struct stat st;
    if (lstat(c->path, &st) == 0 && st.st_dev == c->device && st.st_ino == c->inode)
        unlink(c->path);              /* a daemon that came after us has its own there */
    shutdown(c->listener, SHUT_RDWR); /* ends accept */
    pthread_join(c->thread, NULL);
    pthread_mutex_lock(&c->lock);
    c->stopped = true;
    for (unsigned i = 0; i < CONTROL_CONNECTIONS; i++)
        if (c->connections[i] >= 0)
            shutdown(c->connections[i], SHUT_RD); /* who is being answered still is: `stop`, above all */
    while (c->count > 0)
        pthread_cond_wait(&c->gone, &c->lock);
    pthread_mutex_unlock(&c->lock);
    close(c->listener);
    pthread_cond_destroy(&c->gone);
    pthread_mutex_destroy(&c->lock);
    free(c->path);
    free(c);
}

static int take_error(const json_t *answer, struct error *e)
{
    const char *kind = json_string_value(json_object_get(answer, "kind"));
    const char *message = json_string_value(json_object_get(answer, "message"));
    const char *hint = json_string_value(json_object_get(answer, "hint"));
    json_int_t code = json_integer_value(json_object_get(answer, "errno"));
    enum error_kind k = ERROR_FAILED;
    for (unsigned i = ERROR_FAILED; i <= ERROR_INTERRUPTED; i++)
        if (kind && strcmp(kind, error_kind_name(i)) == 0)
            k = i;
    int r =
        error_say(e, k, code > 0 && code < 4096 ? -(int)code : -EIO, "%s", message ? message : "no reason was given");
    if (hint && *hint)
        error_hint(e, "%s", hint);
    return r;
}

/* How long somebody waits: look_ms at a time, and then as waits says. Without that it is over. */
struct waiting {
    int look_ms; /* -1: without an end */
    control_waits waits;
    void *arg;
    pid_t daemon; /* 0: not known */
};

static int look_up(const struct waiting *w, const char *path, struct error *e)
{
    return w->waits ? w->waits(w->arg, w->daemon, e)
                    : error_set(e, ERROR_FAILED, -ETIMEDOUT, "no answer from the daemon at %s", path);
}

/* A daemon that is stopped takes nobody out of its queue, and where that is full connect(2) waits. */
static int connect_in_time(int fd, const struct sockaddr_un *a, const struct waiting *w, const char *path,
                           struct error *e)
{
    const struct timeval look = { .tv_sec = w->look_ms / 1000, .tv_usec = w->look_ms % 1000 * 1000 + 1 };
    if (w->look_ms >= 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &look, sizeof(look));
    int r = 0;
    while (r == 0 && connect(fd, (const void *)a, sizeof(*a)) < 0) {
        bool absent = errno == ENOENT || errno == ECONNREFUSED;
        if (errno == EAGAIN || (errno == EINTR && w->waits))
            r = look_up(w, path, e);
        else if (errno != EINTR)
            r = error_set(e, absent ? ERROR_UNKNOWN : ERROR_FAILED, -errno, "ask the daemon at %s", path);
    }
    return r;
}

static int connect_to(const char *path, struct waiting *w, int *ret, struct error *e)
{
    struct sockaddr_un a;
    struct ucred peer;
    socklen_t len = sizeof(peer);
    _cleanup_close_ int dir = -1;
    int r = fd_socket_address(path, &a, &dir, e);
    if (r < 0)
        return r;
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "open a socket");
    r = connect_in_time(fd, &a, w, path, e);
    if (r < 0)
        return r;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
        w->daemon = peer.pid;
    *ret = mem_steal_fd(&fd);
    return 0;
}

/* Until there is something to read. */
static int await_answer(int fd, const struct waiting *w, const char *path, struct error *e)
{
    struct pollfd p = { fd, POLLIN, 0 };
    int r = 0, n;
    while (r == 0 && (n = poll(&p, 1, w->look_ms)) <= 0)
        r = n < 0 && errno != EINTR ? error_set(e, ERROR_FAILED, -errno, "poll") : look_up(w, path, e);
    return r;
}

static int call(const char *path, const json_t *request, struct waiting *w, json_t **ret, struct error *e)
{
    _cleanup_close_ int fd = -1;
    _cleanup_(buf_release) struct buf line = { 0 };
    int r = connect_to(path, w, &fd, e);
    if (r == 0)
        r = write_line(fd, request, CONTROL_REQUEST_MAX, e);
    if (r == 0 && w->waits)
        r = await_answer(fd, w, path, e);
    if (r < 0)
        return r;
    r = read_line(fd, CONTROL_ANSWER_MAX, w->waits ? IDLE_MS : w->look_ms, &line);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "no answer from the daemon at %s", path);

    json_t *answer = json_loadb((const char *)line.data, line.len, 0, NULL);
    if (!json_is_object(answer))
        r = error_say(e, ERROR_FAILED, -EBADMSG, "an answer that is not understood from the daemon at %s", path);
    else if (!json_is_true(json_object_get(answer, "ok")))
        r = take_error(answer, e);
    if (r == 0 && ret)
        *ret = json_incref(answer);
    json_decref(answer);
    return r;
}

int control_call(const char *path, const json_t *request, int timeout_ms, json_t **ret, struct error *e)
{
    return call(path, request, &(struct waiting){ .look_ms = timeout_ms }, ret, e);
}

int control_call_patiently(const char *path, const json_t *request, int look_ms, control_waits waits, void *arg,
                           json_t **ret, struct error *e)
{
    return call(path, request, &(struct waiting){ .look_ms = look_ms, .waits = waits, .arg = arg }, ret, e);
}
