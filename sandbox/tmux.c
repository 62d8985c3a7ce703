/* SPDX-License-Identifier: MIT */
#include "sandbox/tmux.h"

#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONFIGURATION "/run/box/etc/tmux.conf"
#define SAID_MAX 4096
#define PAUSE_MIN_MS 100
#define PAUSE_MAX_MS 30000
#define LONG_LIFE_NS INT64_C(10000000000)
#define MS INT64_C(1000000)

/* Whoever attaches does without it. */
static void show_program(struct tmux *t, pid_t server)
{
    char target[32];
    snprintf(target, sizeof(target), "/proc/%d/exe", server);
    unlink(t->program);
    if (server > 0 && symlink(target, t->program) < 0)
        log_info("link %s: %m", t->program);
}

static void pause_then_start(struct tmux *t, int64_t now)
{
    show_program(t, 0);
    t->server = 0;
    t->pause_ms = t->pause_ms == 0 ? PAUSE_MIN_MS : t->pause_ms * 2;
    if (t->pause_ms > PAUSE_MAX_MS)
        t->pause_ms = PAUSE_MAX_MS;
    t->at_ns = now + t->pause_ms * MS;
}

static void start(struct tmux *t, int64_t now)
{
    const char *argv[] = { "tmux", "-f", CONFIGURATION, "-S", t->socket, "new-session", "-d",
                           "-P",   "-F", "#{pid}",      "-c", t->cwd,    NULL };
    /* Not in the project: the server's own directory would hold it, and may be slow to come. */
    struct child_request q = { .stdio = CHILD_NO_INPUT, .cwd = "/", .argv = (char *const *)argv, .env = environ };
    queue_release(&t->said);
    if (child_start(&q, &t->client) < 0)
        pause_then_start(t, now);
    else
        t->at_ns = now + TMUX_START_MS * MS;
}

void tmux_watch(struct tmux *t, struct watch *w)
{
    bool client = t->client.pid > 0;
    if (client || (t->server == 0 && !t->ended))
        watch_until(w, t->at_ns);
    /* Both pipes are read when it is gone: what it says is far less than they hold. */
    t->place = watch_add(w, t->client.starting, POLLIN);
}

void tmux_step(struct tmux *t, const struct watch *w)
{
    struct message_refusal why;
    if (watch_came(w, t->place) && child_started(&t->client, &why) == 0)
        buf_printf(&t->said.bytes, "%s", strerror(why.error));
    if (w->now_ns < t->at_ns)
        return;
    if (t->client.pid > 0) {
        buf_printf(&t->said.bytes, "it did not start within %d s", TMUX_START_MS / 1000);
        child_signal(&t->client, SIGKILL);
        t->at_ns = INT64_MAX;
    } else if (t->server == 0 && !t->ended) {
        start(t, w->now_ns);
    }
}

static void read_said(struct tmux *t)
{
    struct message_refusal why;
    if (t->client.starting >= 0 && child_started(&t->client, &why) == 0)
        buf_printf(&t->said.bytes, "%s", strerror(why.error));
    queue_fill(&t->said, t->client.out, SAID_MAX);
    queue_fill(&t->said, t->client.err, SAID_MAX);
    child_close(&t->client);
    t->client.pid = 0;
}

/* The pid that the client printed, in its first line; 0: none. */
static pid_t server_pid(struct tmux *t)
{
    uint64_t pid;
    char *line = (char *)buf_string(&t->said.bytes);
    line[strcspn(line, "\n")] = '\0';
    return text_parse_u64(line, INT32_MAX, &pid) < 0 ? 0 : (pid_t)pid;
}

static int client_reaped(struct tmux *t, int status, int64_t now, char why[256])
{
    read_said(t);
    bool done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    pid_t pid = done ? server_pid(t) : 0;
    if (pid > 1 && kill(pid, 0) == 0) {
        t->server = pid;
        t->at_ns = now;
        show_program(t, pid);
        return 1;
    }
    pause_then_start(t, now);
    const char *said = buf_string(&t->said.bytes);
    snprintf(why, 256, "tmux: %.*s", (int)strcspn(said, "\n"), said[0] ? said : "it ended at once");
    return -1;
}

int tmux_reaped(struct tmux *t, pid_t pid, int status, int64_t now, char why[256])
{
    if (t->client.pid > 0 && pid == t->client.pid)
        return client_reaped(t, status, now, why);
    if (t->server > 0 && pid == t->server) {
        if (now - t->at_ns >= LONG_LIFE_NS)
            t->pause_ms = 0;
        pause_then_start(t, now);
    }
    return 0;
}
