/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * world - a store that holds one box's head and misbehaves on request, for tests of sync/lease.
 *
 * Each node has its own struct store over the same world. Before a request is answered, `before` may let other nodes
 * act; `choose` says what goes wrong. PUTs that were delayed, or sent twice, land later (world_deliver) if their
 * condition still holds. Every PUT that takes effect is opened and shown to `landed`. Time passes only when a test says
 * so.
 */

#include "sync/head.h"

#define WORLD_DELAYED 64

enum world_fault {
    WORLD_FINE,
    WORLD_LOST_REQUEST, /* nothing happens; the answer says: unreachable */
    WORLD_LOST_ANSWER,  /* it happens; the answer says: unreachable */
    WORLD_DELAYED_PUT,  /* it may happen later; the answer says: unreachable */
    WORLD_SENT_TWICE,   /* it happens; a copy arrives later, too */
    WORLD_RESENT,       /* it happens, and the answer is that of its copy: the condition fails */
    WORLD_RATE,         /* 429 */
    WORLD_CONFLICT,     /* 409: nothing happens */
    WORLD_REFUSED,      /* 403 */
    WORLD_DIES,         /* the node is killed before it happens */
    WORLD_DIES_AFTER,
};

struct world_put {
    struct buf body;
    uint64_t needs; /* the version it is conditional on; 0: absent */
    int node;
};

struct world;

struct world_node {
    struct store store;
    struct world *world;
    int number;
    bool dead; /* every request fails until the test revives it */
};

struct world {
    const struct seal_context *seal;
    struct buf body;
    uint64_t version; /* 0: absent */
    int64_t now_ns, modified_ns;
    struct world_put delayed[WORLD_DELAYED];
    size_t delayed_count;
    void *arg;
    enum world_fault (*choose)(struct world_node *n, bool put); /* NULL: all is fine */
    void (*before)(struct world_node *n, bool put, struct bytes body);
    void (*landed)(struct world *w, int node, const struct head *before,
                   const struct head *after); /* before->seq 0: none */
    void (*died)(struct world_node *n);
};

void world_node_init(struct world_node *n, struct world *w, int number);
/* The delayed PUT at place i arrives, and is gone. */
void world_deliver(struct world *w, size_t i);
/* The head as it is; seq 0 when there is none. */
void world_head(const struct world *w, struct head *ret);
void world_release(struct world *w);
