/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * host - facts about this machine that a box's policy depends on: what there is to show, and what of it must be hidden.
 *
 * Only looks, changes nothing. Facts are of one moment: they are gathered anew before each start.
 */

#include "index/base/error.h"
#include "sandbox/words.h"

#include <stdbool.h>

enum host_kind { HOST_ABSENT, HOST_DIRECTORY, HOST_LINK };

/* System directories beside /usr; in most systems links into it. */
#define HOST_SYSTEM_COUNT 6
extern const char *const host_system[HOST_SYSTEM_COUNT];

/* Directories of the user's that a box sees read-only, below HOME. Of ~/.local not all: programs keep their state
 * there. */
#define HOST_CONFIGURATION_COUNT 7
extern const char *const host_configuration[HOST_CONFIGURATION_COUNT];

struct host {
    char *home; /* of the user that runs us */
    bool nix;
    struct {
        enum host_kind kind;
        char *target; /* of a link */
    } system[HOST_SYSTEM_COUNT];
    bool configuration[HOST_CONFIGURATION_COUNT];
    struct words hidden_files;       /* paths in the box (sandbox/hidden) */
    struct words hidden_directories; /* none of them below another */
};

/* home: the user's. ours: directories of ours, to be hidden wherever a box would see them. */
int host_look(const char *home, const struct words *ours, struct host *ret, struct error *e);
void host_release(struct host *h);
