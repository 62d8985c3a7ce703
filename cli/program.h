/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * program - other people's programs: found on the PATH, asked several at once within a deadline, or run in our place.
 *
 * Only argument vectors, never a shell's line.
 */

#include "index/base/buf.h"
#include "index/base/error.h"

#include <stddef.h>

#define PROGRAM_OUTPUT_MAX (64u * 1024)

struct program_call {
    const char *const *argv;        /* NULL-terminated; argv[0] is looked for on the PATH */
    const char *const *environment; /* NULL-terminated NAME=VALUE; NULL: ours */
    /* set by program_ask: */
    int code; /* its exit code, 128 + signal, or killed: -ETIMEDOUT at the deadline, -EFBIG for a longer output than
                 PROGRAM_OUTPUT_MAX; -errno: not started */
    struct buf output; /* what it wrote to stdout */
    struct buf errors; /* to stderr: its last PROGRAM_OUTPUT_MAX bytes */
};

/* The program's path, malloc'd; NULL: it is not on the PATH. */
char *program_find(const char *name);
/* Runs all of them beside each other, with /dev/null as stdin, for at most timeout_ms; Ctrl-C ends them, too. */
void program_ask(struct program_call *calls, size_t count, int timeout_ms);
void program_release(struct program_call *call);
/* The last line of its errors, else why there are none: for a message. */
void program_complaint(const struct program_call *call, char to[128]);

/* Runs it with our terminal and waits. *ret_code as code above. */
int program_run(const char *const *argv, int *ret_code, struct error *e);
