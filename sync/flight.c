/* SPDX-License-Identifier: MIT */
#include "sync/flight.h"

#include "index/base/mem.h"

#include <utlist.h>

_Static_assert(sizeof(struct locator) == 44, "hashed as bytes: no padding");

static void leave_table(struct flights *s, struct flight *f)
{
    if (!f->overtaken)
        HASH_DEL(s->table, f);
}

static bool to_overtake(const struct flight *f)
{
    return f->state == FLIGHT_FLYING && !f->demand && f->range > FLIGHT_OVERTAKE;
}

struct flight *flight_join(struct flights *s, const struct locator *l, bool demand, bool *ret_made)
{
    struct flight *f = NULL;
    HASH_FIND(hh, s->table, l, sizeof(*l), f);
    if (f && demand && to_overtake(f)) {
        leave_table(s, f);
        f->overtaken = true;
        f = NULL;
    }
    *ret_made = !f;
    if (!f) {
        f = mem_new(1, sizeof(*f));
        f->frame = *l;
        HASH_ADD(hh, s->table, frame, sizeof(*l), f);
    }
    f->waiters++;
    return f;
}

static void unqueue(struct flights *s, struct flight *f)
{
    if (f->demand) {
        DL_DELETE(s->demand_queue, f);
        s->demand--;
    } else {
        DL_DELETE(s->background_queue, f);
        s->background_queued--;
    }
}

static void enqueue(struct flights *s, struct flight *f, bool front)
{
    struct flight **queue = f->demand ? &s->demand_queue : &s->background_queue;
    if (front)
        DL_PREPEND(*queue, f);
    else
        DL_APPEND(*queue, f);
    if (f->demand)
        s->demand++;
    else
        s->background_queued++;
}

void flight_promote(struct flights *s, struct flight *f)
{
    if (f->demand)
        return;
    if (f->state == FLIGHT_QUEUED)
        unqueue(s, f);
    f->demand = true;
    if (f->state == FLIGHT_QUEUED)
        enqueue(s, f, false);
    else if (f->state == FLIGHT_FLYING)
        s->demand++;
}

void flight_want(struct flights *s, struct flight *f, enum frame_kind kind)
{
    if (!f->kind)
        f->kind = kind;
    flight_promote(s, f);
}

void flight_queue(struct flights *s, struct flight *f, bool front)
{
    if (f->state == FLIGHT_FLYING && f->demand)
        s->demand--;
    f->state = FLIGHT_QUEUED;
    enqueue(s, f, front);
}

static uint32_t end_of(const struct flight *f)
{
    return f->frame.offset + f->frame.sealed;
}

static bool fits(const struct flight_range *r, const struct flight *f, uint32_t max)
{
    return r->count < FLIGHT_RANGE_FRAMES && !f->alone && !r->flights[0]->alone &&
           pack_equal(&f->frame.pack, &r->flights[0]->frame.pack) && f->frame.offset >= r->to &&
           f->frame.offset - r->to <= FLIGHT_GAP && end_of(f) - r->from <= max;
}

bool flight_take(struct flights *s, bool demand, struct flight_range *ret)
{
    uint32_t max = demand ? FLIGHT_DEMAND_MAX : FLIGHT_BACKGROUND_MAX;
    struct flight *f;
    ret->count = 0;
    while ((f = demand ? s->demand_queue : s->background_queue) && (ret->count == 0 || fits(ret, f, max))) {
        unqueue(s, f);
        f->state = FLIGHT_FLYING;
        if (f->demand)
            s->demand++;
        if (ret->count == 0)
            ret->from = f->frame.offset;
        ret->to = end_of(f);
        ret->flights[ret->count++] = f;
    }
    for (size_t i = 0; i < ret->count; i++)
        ret->flights[i]->range = ret->to - ret->from;
    return ret->count > 0;
}

static void destroy(struct flight *f)
{
    frame_drop(f->decoded);
    free(f->error);
    free(f);
}

void flight_land(struct flights *s, struct flight *f, int result, const struct error *e)
{
    if (f->state == FLIGHT_QUEUED)
        unqueue(s, f);
    else if (f->state == FLIGHT_FLYING && f->demand)
        s->demand--;
    leave_table(s, f);
    f->state = FLIGHT_LANDED;
    f->result = result;
    if (result < 0)
        f->error = mem_copy(e, sizeof(*e));
    if (f->waiters == 0)
        destroy(f);
}

void flight_leave(struct flights *s, struct flight *f)
{
    if (--f->waiters > 0)
        return;
    if (f->state == FLIGHT_LANDED) {
        destroy(f);
    } else if (f->state == FLIGHT_QUEUED) {
        unqueue(s, f);
        leave_table(s, f);
        destroy(f);
    }
}
