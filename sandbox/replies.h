/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * replies - what a box may answer to one START, in which order: the host's check of everything that comes from boxinit.
 *
 *     (nothing) ──STARTED──► started ──EXIT──► ended
 *         └──────REFUSED──► refused
 *
 * OUT, ERR and MORE belong to `started`; nothing comes after the end. Pure: no descriptors, no clock.
 */

#include "sandbox/message.h"
#include "sandbox/queue.h"

struct replies {
    bool tty, detach; /* what was asked for */
    bool started, refused, ended;
    uint32_t pid;     /* in the box, once started; for people only */
    uint32_t granted; /* bytes of IN that may be sent */
    struct message_refusal refusal;
    struct message_exit exit;
    struct queue out, err;
};

void replies_begin(struct replies *r, const struct message_start *s);
void replies_release(struct replies *r);
/* Takes the whole messages that `from` begins with, as long as out and err hold less than max. -EBADMSG: a box does not
 * answer like that. */
int replies_take(struct replies *r, struct queue *from, size_t max);
