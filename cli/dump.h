/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * dump - what an object of the store says, as JSON: for people who look into a store, and for tests.
 *
 * A twin for reading only: nothing parses it back. Every kind of object of index/FORMAT.md; of a pack its footer, and
 * each page in it whose seal opens.
 */

#include "cli/stack.h"

#include <jansson.h>

/* what: a key ("box/demo/head"), or the path of an object's file in a directory store. ret: a new reference. */
int dump_object(struct stack *s, const char *what, json_t **ret, struct error *e);
