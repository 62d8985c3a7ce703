/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * command - boxinit's side of one connection: one program, from START to EXIT.
 *
 *     waiting ──START──► starting ──► running ──reaped──► draining ──► over (EXIT is queued) ──sent──► gone
 *                            └─────────── REFUSED ─────────────────────┘
 *
 * Memory is bounded: of input there is at most what was granted, of output at most a little over COMMAND_OUT_MAX; then
 * its pipes are not read, and the program waits. A client that breaks the protocol or is gone ends the program: SIGHUP,
 * and the ends of its pipes or its terminal. A detached one goes on; what it prints is then read and dropped.
 * When the program is gone but something it left behind keeps its output open, EXIT does not wait for that: what was
 * written before is sent, no more.
 */

#include "sandbox/watch.h"

#include <stdbool.h>
#include <sys/types.h>

#define COMMAND_OUT_MAX 131072
#define COMMAND_PROBE_MS 2000 /* a detached program that ends within this time has failed to start */

struct command;

/* Takes over the socket, which does not block. cwd: where programs start that say nothing else; it is borrowed. */
struct command *command_new(int socket, const char *cwd);
void command_free(struct command *c); /* closes all; the program gets SIGHUP unless it is detached or reaped */
void command_watch(struct command *c, struct watch *w);
void command_step(struct command *c, const struct watch *w);
bool command_gone(const struct command *c);
bool command_is_detached(const struct command *c);             /* no client any more */
bool command_reaped(struct command *c, pid_t pid, int status); /* true: it was this one's program */
void command_hang_up(struct command *c);                       /* a terminal's program gets SIGHUP: the box ends */
