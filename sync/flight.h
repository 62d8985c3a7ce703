/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * flight - frames on their way from the store to whoever waits for them (single-flight: one flight a frame, however
 * many wait).
 *
 *     state      in table  in a queue  what happens
 *     CHECKING   yes       no          the caller that made it looks into the cache
 *     QUEUED     yes       yes         waits for a carrier thread
 *     FLYING     yes       no          a carrier thread has it in a range
 *     overtaken  no        no          the same, and a read, which does not wait for the range, has made another flight
 *     LANDED     no        no          result stands; freed when the last waiter leaves
 *
 * A frame lands after its bytes are in the cache, so that there is no moment at which it is neither in the table nor in
 * the cache and a second GET would start. Flights that somebody reads (demand) are queued apart from background ones; a
 * read that joins a queued background flight moves it over. One that finds it flying in a background range of more than
 * FLIGHT_OVERTAKE bytes, which a thin line takes long to bring, has a flight of its own: that frame comes twice. No
 * more than was flying then can: background starts nothing as long as anybody reads. All functions need the owner's
 * lock.
 */

#include "index/source.h"

#include <stdbool.h>
#include <uthash.h>

#define FLIGHT_GAP (64u * 1024)              /* bytes not asked for that a merged range may hold between two frames */
#define FLIGHT_DEMAND_MAX (4u * 1024 * 1024) /* of one range */
#define FLIGHT_BACKGROUND_MAX (8u * 1024 * 1024)
#define FLIGHT_OVERTAKE (128u * 1024)
#define FLIGHT_RANGE_FRAMES 1024

enum flight_state { FLIGHT_CHECKING, FLIGHT_QUEUED, FLIGHT_FLYING, FLIGHT_LANDED };

struct flight {
    struct locator frame;
    enum flight_state state;
    enum frame_kind kind; /* as which it is to be opened; 0: nobody reads it yet */
    bool demand;
    bool alone;     /* not to be merged: a range with it failed */
    bool overtaken; /* not in the table any more */
    uint32_t range; /* bytes of the range that it flies in */
    unsigned waiters;
    unsigned spoiled;      /* answers that did not open */
    struct frame *decoded; /* as kind; set before it lands */
    int kept;              /* 0, or why the cache has not taken it */
    int result;
    struct error *error; /* of result; NULL if 0 */
    struct flight *prev, *next;
    UT_hash_handle hh;
};

struct flights {
    struct flight *table;
    struct flight *demand_queue, *background_queue;
    size_t demand;            /* demand flights QUEUED or FLYING: while there are any, background yields */
    size_t background_queued; /* for the statistics */
};

/* Consecutive flights of one pack that one GET brings. */
struct flight_range {
    struct flight *flights[FLIGHT_RANGE_FRAMES];
    size_t count;
    uint32_t from, to;
};

/* The frame's flight, made (CHECKING) if there is none, or if demand overtakes it. The caller is one of its waiters
 * until flight_leave. */
struct flight *flight_join(struct flights *s, const struct locator *l, bool demand, bool *ret_made);
/* Somebody reads it as kind, if no other kind came first. */
void flight_want(struct flights *s, struct flight *f, enum frame_kind kind);
/* Makes it a demand flight. */
void flight_promote(struct flights *s, struct flight *f);
void flight_queue(struct flights *s, struct flight *f, bool front);
/* Takes the first flight of a queue and those behind it that go into the same GET. False: the queue is empty. */
bool flight_take(struct flights *s, bool demand, struct flight_range *ret);
void flight_land(struct flights *s, struct flight *f, int result, const struct error *e);
/* A queued flight that nobody waits for any more is dropped. */
void flight_leave(struct flights *s, struct flight *f);
