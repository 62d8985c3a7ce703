/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * frame - what a client on the host and boxinit in the box say to each other, on one connection a command.
 *
 * A frame is u8 type, u32 length (at most FRAME_MAX), payload; integers are little endian, strings as index/base/wire
 * has them. No descriptor is ever passed. Each side takes what comes from the other as hostile: every decoder checks all
 * it reads and keeps nothing on failure (-EBADMSG). After that the connection is of no use.
 *
 *     client → boxinit                                   boxinit → client
 *     START_PART* START   once, first                    STARTED pid | REFUSED stage, errno
 *     IN bytes, IN_END    never more than was granted    OUT, ERR bytes     ERR never with a terminal
 *     SIGNAL number       to the command's group         MORE count         that many bytes of IN may be sent further
 *     SIZE rows, columns  of its terminal                EXIT kind, code    the last frame
 *
 * FRAME_WINDOW bytes of IN are granted from the start. So boxinit never stops reading, and a SIGNAL never waits behind
 * input that the command does not take.
 */

#include "index/base/error.h"

#include "index/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define FRAME_HEAD 5
#define FRAME_MAX 65536u
#define FRAME_WINDOW (4 * FRAME_MAX)
#define FRAME_START_MAX (1u << 20) /* all parts together */
#define FRAME_LIST_MAX 65536u      /* arguments, and variables */

enum frame_type {
    FRAME_START_PART = 1, /* a piece of START's payload */
    FRAME_START = 2,      /* its last piece */
    FRAME_IN = 3,
    FRAME_IN_END = 4,
    FRAME_SIGNAL = 5,
    FRAME_SIZE = 6,

    FRAME_STARTED = 17,
    FRAME_REFUSED = 18,
    FRAME_OUT = 19,
    FRAME_ERR = 20,
    FRAME_MORE = 21,
    FRAME_EXIT = 22,
};

struct frame {
    uint8_t type;
    struct bytes payload; /* of the bytes it was found in */
};

/* The frame that bytes begin with: 1; 0: there is not all of it yet; -EBADMSG: no frame begins like that. */
int frame_next(struct bytes bytes, struct frame *ret, size_t *ret_used);
void frame_put(struct buf *to, enum frame_type type, const void *payload, size_t len); /* len <= FRAME_MAX */

struct frame_start {
    bool tty, detach;    /* not both */
    uint16_t rows, cols; /* of the terminal; 0 without */
    char *cwd;           /* "": the project */
    char **argv, **env;  /* NULL behind; env: K=V, over what boxinit's own environment has */
};

/* Appends START_PART… START. -E2BIG ERROR_USAGE when it is more than FRAME_START_MAX. */
int frame_put_start(struct buf *to, const struct frame_start *s, struct error *e);
/* The payloads of all parts. The result owns its memory. */
int frame_start_decode(struct bytes b, struct frame_start *ret);
void frame_start_release(struct frame_start *s);

void frame_put_u32(struct buf *to, enum frame_type type, uint32_t v); /* SIGNAL, STARTED, MORE */
/* SIGNAL: 1 … 64. STARTED: a pid. MORE: at most FRAME_WINDOW. */
int frame_u32_decode(const struct frame *f, uint32_t *ret);

void frame_put_size(struct buf *to, uint16_t rows, uint16_t cols);
int frame_size_decode(const struct frame *f, uint16_t *ret_rows, uint16_t *ret_cols);

enum frame_stage { FRAME_STAGE_BOX, FRAME_STAGE_DIRECTORY, FRAME_STAGE_PROGRAM, FRAME_STAGE_MAX };

/* Why a command was not started: something in the box, its directory, or the program could not be had. */
struct frame_refusal {
    enum frame_stage stage;
    int error; /* errno, 1 … 4095 */
};

void frame_put_refusal(struct buf *to, const struct frame_refusal *r);
int frame_refusal_decode(const struct frame *f, struct frame_refusal *ret);

enum frame_exit_kind { FRAME_EXITED, FRAME_KILLED, FRAME_DETACHED, FRAME_EXIT_MAX };

struct frame_exit {
    enum frame_exit_kind kind; /* DETACHED: it lived through its first two seconds and goes on alone */
    uint8_t code;              /* the exit code or the signal's number */
};

void frame_put_exit(struct buf *to, const struct frame_exit *x);
int frame_exit_decode(const struct frame *f, struct frame_exit *ret);
