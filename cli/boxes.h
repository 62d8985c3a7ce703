/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * boxes - the boxes that the store has, with their heads and newest snapshots, many read at once.
 *
 * Dropped boxes, and names under which nothing but an unfinished `track` lies, are none. A failure to list or read is
 * an error, never a shorter list; what is damaged is marked and stays in it.
 */

#include "cli/stack.h"
#include "sync/head.h"
#include "sync/snapshots.h"

struct store_box {
    char name[64];
    struct head head;
    struct snapshot *root; /* NULL: not asked for, or damaged */
    bool damaged;          /* the head, or what it names; why says it */
    struct error why;
};

enum { BOXES_SNAPSHOTS = 1, BOXES_GLOBALS = 2 };

/* In order of names; needs the stack's store. which: BOXES_SNAPSHOTS: the newest of each is read, too; BOXES_GLOBALS:
 * TEXT_GLOBALS is among them, once something was pushed. */
int boxes_list(struct stack *s, unsigned which, struct store_box **ret, size_t *ret_count, struct error *e);
void boxes_free(struct store_box *b, size_t count);
