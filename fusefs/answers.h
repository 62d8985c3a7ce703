/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * answers - memory that answers to the kernel are sent from.
 *
 * A SIGKILL while the kernel copies from a page that is not there ends that request with EIO, and nothing can replay it
 * (rule O11). So file bytes, directory listings and attribute values are copied into these buffers, which are touched
 * and locked, and never sent from anywhere else. There are few: take one only with everything at hand that will be
 * copied, never across a wait for the store. Safe from any thread.
 */

#include "fusefs/loop.h"

#define ANSWER_SIZE LOOP_MAX_WRITE /* the kernel asks for no more at once */

struct answers;

int answers_new(unsigned count, struct answers **ret, struct error *e);
void answers_free(struct answers *a);  /* all given back; NULL is fine */
char *answers_take(struct answers *a); /* ANSWER_SIZE bytes, of any content; waits until one is free */
void answers_give(struct answers *a, char *answer);
