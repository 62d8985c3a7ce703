/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * inside - a way into a box that is up here: what attach and exec begin with, and what they share.
 */

#include "cli/config.h"
#include "cli/ui.h"
#include "sandbox/session.h"

struct inside {
    char *socket;  /* the keeper's */
    char *project; /* its path, in the box as on the host */
};

void inside_release(struct inside *n);
/* Starts the box if it is stopped. ERROR_UNKNOWN, ERROR_HELD, ERROR_BUSY: the box, or its tree, is not here; the hint
 * says where command (attach, exec) works. */
int inside_open(const struct config *c, struct ui *ui, const char *name, const char *command, struct inside *ret,
                struct error *e);
/* How things stand after a session that ended badly: stopping is all but sure, too, where TERM ended what was run. */
enum inside_end { INSIDE_RUNS, INSIDE_STOPPED, INSIDE_GONE };
enum inside_end inside_look(const struct config *c, const char *name); /* GONE: the box is not up here any more */
/* session_run at our standard descriptors, the terminal raw meanwhile if the session has one. */
int inside_run(struct session *s, struct session_result *ret, struct error *e);
