/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * box - the running part of a box on this node: its keeper (sandbox/keeper), started and stopped.
 *
 * Whether it runs is never remembered: the keeper's lock says it. The tree must be shown, and the lease here, before a
 * box is started; nothing of the tree may be taken away before it is stopped.
 */

#include "cli/stack.h"
#include "index/meta.h"

#include <sys/types.h>

/* The program that is PID 1 in a box, malloc'd. */
int box_init(char **ret, struct error *e);
/* What a box needs and this machine has not, as the package that brings it: before a lease is asked for. ERROR_USAGE.
 */
int box_check(struct error *e);
/* The keeper's pid, -1 if it cannot be seen from here; 0: the box is stopped. */
pid_t box_running(const struct stack *s);
/* What a start now would set, of the newest snapshot known here; without that, or keys to read it, the node's. */
struct box_settings {
    uint64_t memory_max; /* bytes; 0: no limit */
    bool nix;            /* its tools are to come from the flake (cli/flake) */
};
void box_settings(struct stack *s, struct box_settings *ret);
/* The meta of the newest snapshot known here; an error leaves it empty. */
int box_meta(struct stack *s, struct meta *ret);
/* Runs already: 0. Needs the stack's record; -ENOENT ERROR_UNKNOWN, ERROR_HELD: there is no tree here to run in. With
 * the keys that are kept here (stack_store). */
int box_start(struct stack *s, struct error *e);
/* Returns when nothing of it runs any more; *ret_was (may be NULL): it did run. Stopped already: 0. */
int box_stop(struct stack *s, bool *ret_was, struct error *e);
