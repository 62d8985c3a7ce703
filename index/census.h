/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * census - the inodes a walk has met: which name of each came first, and which numbers are taken.
 *
 * An entry's ino is the low 32 bits of st_ino where they are free, else a free number (rule O9: unique in the snapshot,
 * never 0). Which one is the same for the same walk of the same tree. One thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct census;

struct census *census_new(void);
void census_free(struct census *t); /* NULL is fine */

/* The name under which this inode came first, NULL if it has not come yet. */
const char *census_first(const struct census *t, uint64_t device, uint64_t inode);
void census_remember(struct census *t, uint64_t device, uint64_t inode, const char *path);
/* Marks number as taken; false if it was already. */
bool census_take(struct census *t, uint32_t number);
/* Finds and takes a number for st_ino. */
uint32_t census_number(struct census *t, uint64_t st_ino);
