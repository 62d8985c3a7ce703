/* SPDX-License-Identifier: MIT */
#include "sandbox/service.h"

#include "index/base/mem.h"
#include "sandbox/command.h"
#include "sandbox/message.h"

#include <errno.h>
#include <sys/socket.h>

#define REST_NS 100000000 /* after accept(2) failed for want of something */

void service_watch(struct service *s, struct watch *w)
{
    bool rests = w->now_ns < s->rest_ns;
    if (rests)
        watch_until(w, s->rest_ns);
    s->place = watch_add(w, s->listener, rests ? 0 : POLLIN);
    for (size_t i = 0; i < s->count; i++)
        command_watch(s->commands[i], w);
}

/* A client beyond the limit is told so, not left waiting. */
static void refuse(int socket)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    message_put_refusal(&b, &(struct message_refusal){ MESSAGE_STAGE_BOX, EUSERS });
    (void)!send(socket, b.data, b.len, MSG_NOSIGNAL);
    close(socket);
}

static void take_client(struct service *s, int64_t now)
{
    size_t clients = 0;
    int socket = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            s->rest_ns = now + REST_NS;
        return;
    }
    for (size_t i = 0; i < s->count; i++)
        clients += !command_is_detached(s->commands[i]);
    if (clients == SERVICE_CLIENTS || s->count == SERVICE_CLIENTS + SERVICE_DETACHED)
        refuse(socket);
    else
        s->commands[s->count++] = command_new(socket, s->cwd);
}

void service_step(struct service *s, const struct watch *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        command_step(s->commands[i], w);
        if (command_gone(s->commands[i]))
            command_free(s->commands[i]);
        else
            s->commands[kept++] = s->commands[i];
    }
    s->count = kept;
    if (watch_came(w, s->place) && s->listener >= 0)
        take_client(s, w->now_ns);
}

void service_reaped(struct service *s, pid_t pid, int status)
{
    for (size_t i = 0; i < s->count; i++)
        if (command_reaped(s->commands[i], pid, status))
            return;
}

void service_end(struct service *s)
{
    mem_closep(&s->listener);
    for (size_t i = 0; i < s->count; i++)
        command_hang_up(s->commands[i]);
}

bool service_is_idle(const struct service *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (!command_is_detached(s->commands[i]))
            return false;
    return true;
}
