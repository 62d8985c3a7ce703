/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * keeper - the process that is a box, as seen from the host: it starts bwrap, stays its parent, and ends after it.
 *
 *     RUN/keeper     locked (F_SETLK) as long as anything of the box runs: that is what "running" means
 *     RUN/exec       the socket on which PID 1 is asked to run commands; only root of the host can connect
 *     RUN/etc        sandbox/etc, while the box runs
 *     RUN/copies     sandbox/copies
 *
 * A killed keeper takes the box with it (bwrap's --die-with-parent). Only the end of its lock says that all is gone: it
 * waits for the pid namespace's last process.
 */

#include "sandbox/policy.h"

#include <sys/types.h>

struct keeper_config {
    const char *run;             /* RUN, which is there */
    const struct policy *policy; /* name, node, project, project_from, home_from, init, tools; the rest is found here */
    const char *home;            /* of the host's user */
    const struct words *hidden;  /* our own directories */
    unsigned grace_ms;           /* what PID 1 has after TERM, before KILL */
    void (*ready)(void *arg);    /* called once the box answers */
    void *arg;
};

/*
 * Runs until the box ends or TERM comes; 0 then. -EALREADY ERROR_BUSY: another keeper has it. Call it in a process that
 * has no other duty, before it has other threads.
 */
int keeper_run(const struct keeper_config *c, struct error *e);

/* Who keeps the box in run? 0: nobody; it does not run. A keeper that cannot be seen from here is -1. */
pid_t keeper_find(const char *run);
