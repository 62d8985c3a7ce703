/* SPDX-License-Identifier: MIT */
#include "sandbox/replies.h"

#include <errno.h>

void replies_begin(struct replies *r, const struct message_start *s)
{
    *r = (struct replies){ .tty = s->tty, .detach = s->detach, .granted = MESSAGE_WINDOW };
}

void replies_release(struct replies *r)
{
    queue_release(&r->out);
    queue_release(&r->err);
}

static int take_beginning(struct replies *r, const struct message *f)
{
    if (f->type == MESSAGE_STARTED) {
        r->started = true;
        return message_u32_decode(f, &r->pid);
    }
    if (f->type != MESSAGE_REFUSED)
        return -EBADMSG;
    r->refused = true;
    return message_refusal_decode(f, &r->refusal);
}

static int take_more(struct replies *r, const struct message *f)
{
    uint32_t more;
    if (message_u32_decode(f, &more) < 0 || more > MESSAGE_WINDOW - r->granted)
        return -EBADMSG;
    r->granted += more;
    return 0;
}

static int take_exit(struct replies *r, const struct message *f)
{
    r->ended = true;
    int bad = message_exit_decode(f, &r->exit);
    return bad < 0 || (r->exit.kind == MESSAGE_DETACHED && !r->detach) ? -EBADMSG : 0;
}

static int take(struct replies *r, const struct message *f)
{
    if (r->refused || r->ended)
        return -EBADMSG;
    if (!r->started)
        return take_beginning(r, f);
    switch (f->type) {
    case MESSAGE_OUT:
        buf_add(&r->out.bytes, f->payload.data, f->payload.len);
        return 0;
    case MESSAGE_ERR:
        buf_add(&r->err.bytes, f->payload.data, f->payload.len);
        return r->tty ? -EBADMSG : 0;
    case MESSAGE_MORE:
        return take_more(r, f);
    case MESSAGE_EXIT:
        return take_exit(r, f);
    default:
        return -EBADMSG;
    }
}

int replies_take(struct replies *r, struct queue *from, size_t max)
{
    struct message f;
    size_t used;
    int got = 1;
    while (got == 1 && queue_bytes(&r->out).len < max && queue_bytes(&r->err).len < max) {
        got = message_next(queue_bytes(from), &f, &used);
        if (got == 1) {
            int bad = take(r, &f);
            queue_take(from, used);
            got = bad < 0 ? bad : 1;
        }
    }
    return got < 0 ? got : 0;
}
