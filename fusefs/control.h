/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * control - the daemon's ear: a unix socket where commands ask it things.
 *
 * Line-delimited JSON. A request is one object with "command" and whatever that command takes; the answer is one object
 * with "ok":true and what the handler put in, or "ok":false with code (exit code), kind, message and hint. Lines are
 * bounded (CONTROL_REQUEST_MAX, CONTROL_ANSWER_MAX), and only uid 0 is heard (SO_PEERCRED; the socket is 0600 too).
 * Each connection has a thread, at most CONTROL_CONNECTIONS, so a handler may take its time; the daemon's file system
 * is never held up.
 */

#include "index/base/error.h"

#include <jansson.h>
#include <sys/types.h>

#define CONTROL_REQUEST_MAX (64u * 1024)
#define CONTROL_ANSWER_MAX (1024u * 1024)
#define CONTROL_CONNECTIONS 16

struct control_handler {
    const char *command;
    /* Adds to answer. 0, or -errno with e set. Called from many threads. */
    int (*handle)(void *arg, const json_t *request, json_t *answer, struct error *e);
};

struct control;

/* handlers: ends with command NULL; it and arg are borrowed until control_stop. What lies at path is replaced. Any
 * length of path. */
int control_start(const char *path, const struct control_handler *handlers, void *arg, struct control **ret,
                  struct error *e);
/* Hears no more, waits for handlers that run (end what they wait for first) until they are answered, removes the
 * socket. NULL is fine. */
void control_stop(struct control *c);

/*
 * Asks the daemon at path. timeout_ms -1: as long as it takes. *ret is a new reference, may be NULL. The daemon's own
 * error comes back as it was set there; -ENOENT, -ECONNREFUSED ERROR_UNKNOWN: no daemon there.
 */
int control_call(const char *path, const json_t *request, int timeout_ms, json_t **ret, struct error *e);

/*
 * The same with all the time it takes: after each look_ms without an answer, and after a signal, waits is called, and
 * ends it by what it returns below 0, with e set. daemon: whom it waits for; 0: that is not to be seen from here.
 */
typedef int (*control_waits)(void *arg, pid_t daemon, struct error *e);
int control_call_patiently(const char *path, const json_t *request, int look_ms, control_waits waits, void *arg,
                           json_t **ret, struct error *e);
