/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * child - a program started by boxinit: a session of its own, no descriptor but the three, signals as at birth.
 *
 * The fork tells through the pipe `starting` how it went: bytes of a struct message_refusal when it could not become
 * the program, nothing but the end when it did. boxinit does not wait for that: a directory or a program in a lazy tree
 * may take long to come, and PID 1 must go on.
 */

#include "sandbox/message.h"

#include <sys/types.h>

struct child {
    pid_t pid;
    int in, out, err; /* our ends, not blocking; -1: none. With a terminal, in and out are its master. */
    int starting;
};

#define CHILD_NONE                                                                                                     \
    {                                                                                                                  \
        .in = -1, .out = -1, .err = -1, .starting = -1                                                                 \
    }

enum child_stdio {
    CHILD_PIPES,
    CHILD_TERMINAL,
    CHILD_NO_INPUT, /* stdin is /dev/null, two pipes for the rest */
};

struct child_request {
    enum child_stdio stdio;
    uint16_t rows, cols;
    const char *cwd;
    char *const *argv, *const *env; /* env: all of it */
};

/* 0 or -errno. */
int child_start(const struct child_request *q, struct child *ret);
void child_close(struct child *c); /* our ends */
/* Once `starting` is readable: 1 it runs, 0 it could not (ret is set), -EAGAIN not known yet. */
int child_started(struct child *c, struct message_refusal *ret);
void child_signal(const struct child *c, int number); /* its process group; not after it was reaped */
