/* SPDX-License-Identifier: MIT */
#pragma once

/* service - boxinit's listener and its commands: at most SERVICE_CLIENTS with a client, and so many detached. */

#include "sandbox/watch.h"

#include <stdbool.h>
#include <sys/types.h>

#define SERVICE_CLIENTS 64
#define SERVICE_DETACHED 64

struct command;

struct service {
    int listener; /* -1: no more */
    const char *cwd;
    struct command *commands[SERVICE_CLIENTS + SERVICE_DETACHED];
    size_t count;
    int place;
    int64_t rest_ns; /* no connection is taken before */
};

void service_watch(struct service *s, struct watch *w);
void service_step(struct service *s, const struct watch *w);
void service_reaped(struct service *s, pid_t pid, int status);
void service_end(struct service *s);           /* takes no more; terminals hang up, each time anew */
bool service_is_idle(const struct service *s); /* no client waits for anything */
