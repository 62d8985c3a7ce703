/* SPDX-License-Identifier: MIT */
#include "fusefs/reader.h"

#include "index/base/mem.h"

#include <errno.h>

struct reader {
    struct source *source;
    struct answers *answers;
    struct lists *lists;
    struct ahead *ahead;
    atomic_uint waiting;
};

/* The frames of the extents that a read touches. */
struct pieces {
    const struct extent *extents;
    struct frame **frames;
    size_t count;
};

int reader_new(struct source *source, struct answers *answers, struct reader **ret, struct error *e)
{
    struct reader *c = mem_new(1, sizeof(*c));
    c->source = source;
    c->answers = answers;
    int r = lists_new(source, &c->lists, e);
    if (r == 0)
        r = ahead_new(source, &c->ahead, e);
    if (r < 0) {
        reader_free(c);
        return r;
    }
    *ret = c;
    return 0;
}

void reader_free(struct reader *c)
{
    if (!c)
        return;
    ahead_free(c->ahead);
    lists_free(c->lists);
    free(c);
}

unsigned reader_waiting(struct reader *c)
{
    return c->waiting;
}

static void pieces_release(struct pieces *p)
{
    for (size_t i = 0; i < p->count; i++)
        frame_drop(p->frames[i]);
    free(p->frames);
}

static bool same_frame(const struct extent *a, const struct extent *b)
{
    return a->frame.offset == b->frame.offset && pack_equal(&a->frame.pack, &b->frame.pack);
}

static int get_frame(struct reader *c, struct pieces *p, size_t i, struct error *e)
{
    const struct extent *x = &p->extents[i];
    if (i > 0 && same_frame(x, x - 1))
        p->frames[i] = frame_hold(p->frames[i - 1]);
    else {
        c->waiting++;
        int r = source_get(c->source, &x->frame, FRAME_DATA, &p->frames[i], e);
        c->waiting--;
        if (r < 0)
            return r;
    }
    if (x->within > p->frames[i]->len || x->length > p->frames[i]->len - x->within)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "an extent that leaves its frame");
    return 0;
}

static int gather(struct reader *c, const struct extents *x, uint64_t offset, uint64_t end, struct pieces *ret,
                  struct error *e)
{
    size_t first = extents_from(x, offset), last = first;
    while (last < x->count && x->at[last].start < end)
        last++;
    if (last == first)
        return 0;
    struct pieces p = { &x->at[first], mem_new(last - first, sizeof(*p.frames)), last - first };
    for (size_t i = 0; i < p.count; i++) {
        int r = get_frame(c, &p, i, e);
        if (r < 0) {
            pieces_release(&p);
            return r;
        }
    }
    *ret = p;
    return 0;
}

static void copy(const struct pieces *p, uint64_t offset, uint64_t end, char *to)
{
    uint64_t at = offset;
    for (size_t i = 0; i < p->count; i++) {
        const struct extent *x = &p->extents[i];
        uint64_t from = x->start > offset ? x->start : offset;
        uint64_t stop = x->start + x->length < end ? x->start + x->length : end;
        memset(to + (at - offset), 0, from - at);
        memcpy(to + (from - offset), p->frames[i]->data + x->within + (from - x->start), stop - from);
        at = stop;
    }
    memset(to + (at - offset), 0, end - at);
}

int reader_read(struct reader *c, uint64_t position, const struct entry *n, uint64_t offset, size_t size,
                char **ret_answer, size_t *ret_len, struct error *e)
{
    uint64_t end = offset < n->size ? n->size : offset;
    if (end - offset > size)
        end = offset + size;
    if (end - offset > ANSWER_SIZE)
        end = offset + ANSWER_SIZE;
    if (end == offset) {
        *ret_answer = NULL;
        *ret_len = 0;
        return 0;
    }

    struct extents x;
    int r = lists_get(c->lists, position, n, &x, e);
    if (r < 0)
        return r;
    ahead_note(c->ahead, position, &x, offset, end);
    struct pieces p = { 0 };
    r = gather(c, &x, offset, end, &p, e);
    if (r == 0) {
        char *answer = answers_take(c->answers);
        copy(&p, offset, end, answer);
        pieces_release(&p);
        *ret_answer = answer;
        *ret_len = end - offset;
    }
    lists_release(c->lists, &x);
    return r;
}

int reader_seek(struct reader *c, uint64_t position, const struct entry *n, uint64_t offset, int whence, uint64_t *ret,
                struct error *e)
{
    if (offset >= n->size)
        return error_say(e, ERROR_FAILED, -ENXIO, "seek behind the end");
    struct extents x;
    int r = lists_get(c->lists, position, n, &x, e);
    if (r < 0)
        return r;

    size_t i = extents_from(&x, offset);
    uint64_t at = offset;
    if (whence == SEEK_HOLE) {
        for (; i < x.count && x.at[i].start <= at; i++)
            at = x.at[i].start + x.at[i].length;
    } else if (i == x.count)
        r = error_say(e, ERROR_FAILED, -ENXIO, "only a hole follows");
    else if (x.at[i].start > at)
        at = x.at[i].start;
    lists_release(c->lists, &x);
    if (r == 0)
        *ret = at;
    return r;
}
