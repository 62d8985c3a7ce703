/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * tmux - the box's tmux server, kept standing by boxinit.
 *
 * `tmux new-session -d` starts the server, which becomes a child of PID 1; its pid is what the client prints. When that
 * pid is reaped (the last shell ended, or it was killed), it is started again on the same socket, after a pause that
 * doubles while it does not live long.
 *
 * While it stands, `program` is a link to what it runs: tmux may be upgraded below it, and a newer client need not
 * speak its language.
 */

#include "sandbox/child.h"
#include "sandbox/queue.h"
#include "sandbox/watch.h"

#include <stdbool.h>

#define TMUX_START_MS 30000

struct tmux {
    const char *cwd, *socket, *program; /* borrowed */
    struct child client;                /* pid 0: none runs */
    struct queue said;
    pid_t server; /* 0: none that we know of */
    unsigned pause_ms;
    int64_t at_ns; /* a client runs: until when; a server: since when; neither: when to start */
    bool ended;    /* the box ends: never again */
    int place;
};

#define TMUX_NONE                                                                                                      \
    {                                                                                                                  \
        .client = CHILD_NONE                                                                                           \
    }

void tmux_watch(struct tmux *t, struct watch *w);
void tmux_step(struct tmux *t, const struct watch *w);
/* What the reaped process means: 1 the server stands, -1 it could not be started (why), 0 nothing to tell. */
int tmux_reaped(struct tmux *t, pid_t pid, int status, int64_t now, char why[256]);
