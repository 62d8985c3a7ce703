/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * twin-store - a store in memory for unit tests: right by itself, and wrong, late or away when a rule says so.
 *
 * Conditions are atomic, etags are never reused, the clock can be moved. Rules are looked at in the order in which they
 * were made; the first that fits acts and is used up after `times` requests. A held gate stops GETs until it is
 * released, and tells how many stand there: no test has to sleep.
 * Safe from many threads. twin_store_free also frees what a test left in it; store_close does the same.
 */

#include "sync/store.h"

enum twin_action {
    TWIN_FAIL,       /* value: the code, e.g. -EHOSTUNREACH; nothing is changed */
    TWIN_DROP_AFTER, /* done, but the answer is -EHOSTUNREACH */
    TWIN_TRUNCATE,   /* value: how many bytes of a GET's answer are missing */
    TWIN_FLIP,       /* value: the byte of the object, one bit of which a GET sees wrong */
    TWIN_DELAY,      /* value: milliseconds before the answer */
};

struct twin_rule {
    char operations[8]; /* any of G(ET) P(UT) S(TAT) L(IST) R(EMOVE); "" all */
    char key[128];      /* a part of the key; "" all */
    enum twin_action action;
    int64_t value;
    int times; /* -1: for ever */
};

struct twin_counts {
    unsigned gets, puts, stats, lists, removes;
    uint64_t bytes_got;
    unsigned gets_at_once; /* most GETs that were in progress together */
};

struct twin_request {
    char operation;
    char key[STORE_KEY_MAX];
    uint64_t offset, length; /* of a GET, as asked for */
};

struct twin_store;

struct twin_store *twin_store_new(void);
void twin_store_free(struct twin_store *t); /* NULL is fine */
void twin_store_freep(struct twin_store **t);
struct store *twin_store_get(struct twin_store *t);

void twin_store_rule(struct twin_store *t, const struct twin_rule *r);
void twin_store_clear_rules(struct twin_store *t);
void twin_store_set(struct twin_store *t, const char *key, struct bytes data); /* past all rules and counters */
void twin_store_move_clock(struct twin_store *t, int64_t ns);

void twin_store_counts(struct twin_store *t, struct twin_counts *ret);
void twin_store_reset(struct twin_store *t); /* counters and log */
/* The n-th request since the reset; false if there is none yet. */
bool twin_store_request(struct twin_store *t, size_t n, struct twin_request *ret);

/* GETs of keys with this part stop at the gate ("" all); they are counted and logged when they reach it. */
void twin_store_hold(struct twin_store *t, const char *key_part);
void twin_store_release(struct twin_store *t);
/* Until n GETs stand at the gate, or n requests were made since the reset; after 10 s: false. */
bool twin_store_wait_held(struct twin_store *t, unsigned n);
bool twin_store_wait_requests(struct twin_store *t, size_t n);
