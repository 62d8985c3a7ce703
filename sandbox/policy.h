/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * policy - what a box may see and reach, as bwrap's command line. Pure: facts in, words out.
 *
 * The order is that of mounting, so that nothing hides what was put below it: the system, what of it is hidden, the
 * private places, HOME and what lies in it, the project, and at last the root read-only.
 */

#include "index/base/error.h"
#include "sandbox/environment.h"
#include "sandbox/host.h"

#include <stdint.h>

/* What of the host's configuration HOME has a mount point for (sandbox/points); others are left out. */
struct policy {
    const char *name, *node;
    const char *project;           /* its own path */
    const char *project_from;      /* the directory that is shown there */
    const char *home_from;         /* shown at /root */
    const char *etc;               /* shown at /etc, read-only (sandbox/etc) */
    const char *copies;            /* shown at /run/box/etc, read-only (sandbox/copies) */
    const char *init;              /* the program that is PID 1 */
    const char *tools;             /* for its environment (sandbox/environment) */
    const struct host *host;
    bool configuration[HOST_CONFIGURATION_COUNT];
    int listen_fd, ready_fd;       /* for PID 1 */
    int filter_fd, info_fd;        /* for bwrap */
};

struct environment policy_environment(const struct policy *p); /* borrows of it */
/* -EINVAL ERROR_USAGE: a box of this name or a project at this path cannot be shown. */
int policy_argv(const struct policy *p, struct words *ret, struct error *e);
