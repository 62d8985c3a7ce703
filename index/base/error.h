/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * error - what went wrong, for the caller, the user and the exit code.
 *
 * Functions that can fail return 0 or -errno and take `struct error *e` as last argument. The one that detects the
 * failure sets kind and text; callers may prefix what they were doing, so that the chain reads from outside in:
 * "park demo: write pack 3f9a: No space left on device". e may be NULL when only the code matters, so nobody but this
 * module writes to it whole.
 * An error is a plain value: no ownership, no freeing, not shared between threads.
 */

enum error_kind {
    ERROR_FAILED,      /* exit 1 */
    ERROR_USAGE,       /* exit 2: the user or the configuration */
    ERROR_HELD,        /* exit 3: another node has the lease, or took it */
    ERROR_UNKNOWN,     /* exit 4: no such box, snapshot or object */
    ERROR_STORE,       /* exit 5: the store cannot be reached */
    ERROR_DOUBT,       /* exit 6: a commit's outcome is not known yet */
    ERROR_DAMAGED,     /* exit 7: bytes that cannot be true, or a rolled back head */
    ERROR_BUSY,        /* exit 8 */
    ERROR_PASSWORD,    /* exit 9 */
    ERROR_INTERRUPTED, /* exit 130 */
};

struct error {
    enum error_kind kind;
    int code;       /* -errno; 0: no error was set */
    char text[512]; /* the chain; cut at the end, never in the middle of a prefix */
    char hint[256]; /* what the user can do about it; empty: nothing to say */
};

/* Sets kind and text ("fmt: strerror(-code)"), clears the hint, returns code: `return error_set(...)` reads well. */
int error_set(struct error *e, enum error_kind kind, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* As error_set, but the text is fmt alone: where strerror would only repeat or blur what fmt says. */
int error_say(struct error *e, enum error_kind kind, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts "fmt: " before the text, unless it begins so already. Returns e's code (-1 if e is NULL). */
int error_prefix(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* e becomes a copy of why, hint and all. Returns why's code. */
int error_pass(struct error *e, const struct error *why);
void error_clear(struct error *e); /* as if nothing had gone wrong */

/* Sets the hint, one sentence that names the next step. Returns e's code (-1 if e is NULL). */
int error_hint(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The word of interface.md's JSON (`"kind":"held"`), and the exit code of a kind. */
const char *error_kind_name(enum error_kind kind);
int error_exit_code(enum error_kind kind);
