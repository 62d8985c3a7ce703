/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * message - what a client on the host and boxinit in the box say to each other, on one connection a command.
 *
 * A message is u8 type, u32 length (at most MESSAGE_MAX), payload; integers are little endian, strings as
 * index/base/wire has them. No descriptor is ever passed. Each side takes what comes from the other as hostile: every
 * decoder checks all it reads and keeps nothing on failure (-EBADMSG). After that the connection is of no use.
 *
 *     client → boxinit                                   boxinit → client
 *     START_PART* START   once, first                    STARTED pid | REFUSED stage, errno
 *     IN bytes, IN_END    never more than was granted    OUT, ERR bytes     ERR never with a terminal
 *     SIGNAL number       to the command's group         MORE count         that many bytes of IN may be sent further
 *     SIZE rows, columns  of its terminal                EXIT kind, code    the last message
 *
 * MESSAGE_WINDOW bytes of IN are granted from the start. So boxinit never stops reading, and a SIGNAL never waits
 * behind input that the command does not take.
 */

#include "index/base/error.h"

#include "index/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define MESSAGE_HEAD 5
#define MESSAGE_MAX 65536u
#define MESSAGE_WINDOW (4 * MESSAGE_MAX)
#define MESSAGE_START_MAX (1u << 20) /* all parts together */
#define MESSAGE_ARGV_MAX 65536u
#define MESSAGE_ENV_MAX 1024u

enum message_type {
    MESSAGE_START_PART = 1, /* a piece of START's payload */
    MESSAGE_START = 2,      /* its last piece */
    MESSAGE_IN = 3,
    MESSAGE_IN_END = 4,
    MESSAGE_SIGNAL = 5,
    MESSAGE_SIZE = 6,

    MESSAGE_STARTED = 17,
    MESSAGE_REFUSED = 18,
    MESSAGE_OUT = 19,
    MESSAGE_ERR = 20,
    MESSAGE_MORE = 21,
    MESSAGE_EXIT = 22,
};

struct message {
    uint8_t type;
    struct bytes payload; /* of the bytes it was found in */
};

/* The message that bytes begin with: 1; 0: there is not all of it yet; -EBADMSG: no message begins like that. */
int message_next(struct bytes bytes, struct message *ret, size_t *ret_used);
void message_put(struct buf *to, enum message_type type, const void *payload, size_t len); /* len <= MESSAGE_MAX */

struct message_start {
    bool tty, detach;    /* not both */
    uint16_t rows, cols; /* of the terminal; 0 without */
    char *cwd;           /* "": the project */
    char **argv, **env;  /* NULL behind; env: K=V, over what boxinit's own environment has */
};

/* Appends START_PART… START. -E2BIG ERROR_USAGE when it is more than MESSAGE_START_MAX. */
int message_put_start(struct buf *to, const struct message_start *s, struct error *e);
/* The payloads of all parts. The result owns its memory. */
int message_start_decode(struct bytes b, struct message_start *ret);
void message_start_release(struct message_start *s);

void message_put_u32(struct buf *to, enum message_type type, uint32_t v); /* SIGNAL, STARTED, MORE */
/* SIGNAL: 1 … 64. STARTED: a pid. MORE: at most MESSAGE_WINDOW. */
int message_u32_decode(const struct message *f, uint32_t *ret);

void message_put_size(struct buf *to, uint16_t rows, uint16_t cols);
int message_size_decode(const struct message *f, uint16_t *ret_rows, uint16_t *ret_cols);

enum message_stage { MESSAGE_STAGE_BOX, MESSAGE_STAGE_DIRECTORY, MESSAGE_STAGE_PROGRAM, MESSAGE_STAGE_MAX };

/* Why a command was not started: something in the box, its directory, or the program could not be had. */
struct message_refusal {
    enum message_stage stage;
    int error; /* errno, 1 … 4095 */
};

void message_put_refusal(struct buf *to, const struct message_refusal *r);
int message_refusal_decode(const struct message *f, struct message_refusal *ret);

enum message_exit_kind { MESSAGE_EXITED, MESSAGE_KILLED, MESSAGE_DETACHED, MESSAGE_EXIT_MAX };

struct message_exit {
    enum message_exit_kind kind; /* DETACHED: it lived through its first two seconds and goes on alone */
    uint8_t code;              /* the exit code or the signal's number */
};

void message_put_exit(struct buf *to, const struct message_exit *x);
int message_exit_decode(const struct message *f, struct message_exit *ret);
