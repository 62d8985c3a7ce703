/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * session - the host's side of one command in a box: bytes in both directions, signals, a time limit, how it ended.
 *
 * Descriptors are borrowed and stay blocking. While it runs, INT, TERM, HUP, QUIT, USR1 and USR2 to this process go to
 * the command instead (whoever sends INT or TERM a third time does not want to wait: -EINTR), with `leaves` they end
 * the session (-EINTR, ERROR_INTERRUPTED); a command whose session has ended gets SIGHUP in the box. Main thread only.
 */

#include "sandbox/message.h"

struct session {
    const char *socket; /* the keeper's RUN/exec */
    struct message_start start;
    int in, out, err; /* in -1: the command has no input */
    int terminal;     /* its size is the command's; -1: none */
    bool leaves;
    unsigned timeout_s;                         /* then the command gets TERM, 10 s later KILL; 0: none */
    void (*resumed)(void *arg), *arg;           /* we were stopped and go on (SIGCONT); may be NULL */
};

struct session_result {
    bool refused; /* why: refusal; the error says it, too */
    struct message_refusal refusal;
    uint32_t pid; /* in the box; 0: it was not started */
    struct message_exit exit;
    bool timed_out;
};

/*
 * 0: the command has ended or was detached. Otherwise -errno, ret then tells how far it came: -ENOTCONN ERROR_BUSY (no
 * box runs there), -EBADMSG ERROR_DAMAGED (the box answered what cannot be), refused, lost, or interrupted.
 */
int session_run(const struct session *s, struct session_result *ret, struct error *e);
int session_exit_code(const struct message_exit *x); /* as a shell has it: the code, or 128 and the signal */
