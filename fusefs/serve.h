/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * serve - the daemon's file system, assembled: lower over loop, on descriptors that the supervisor opened and mounted.
 *
 * serve_run blocks until the file system is unmounted. Whatever waits for the source then must be ended by the caller's
 * `ended` (cancel the source), or serve_run waits too. After success serve_free, then tree and source may go; after an
 * error other threads may still use them: end the process, with anything but 0, so that the supervisor starts another
 * one.
 */

#include "index/snapshot.h"

#include <sys/types.h>

#define SERVE_THREADS 8

struct serve_config {
    struct tree *tree;
    struct source *source;
    const struct link_group *groups; /* of the snapshot; until serve_new has returned */
    size_t group_count;
    bool apart;                                    /* an overlay on top joins names: each is a file of its own here */
    bool far; /* pages come from far away: they are asked for a look-up ahead, until serve_complete (fusefs/guess) */
    uint64_t bytes;                                /* what statfs says; snapshot.bytes */
    int fuse_fd, slots_fd;                         /* SUPERVISOR_FUSE_FD, SUPERVISOR_SLOTS_FD; made close-on-exec */
    unsigned threads;                              /* 0: SERVE_THREADS */
    void (*touched)(void *arg, uint64_t position); /* a file's content is read; many threads; may be NULL */
    void (*ready)(void *arg);                      /* the mount answers; may be NULL */
    void (*ended)(void *arg);                      /* unmounted; may be NULL */
    void *arg;
};

struct serve;

int serve_new(const struct serve_config *c, struct serve **ret, struct error *e); /* copies c */
int serve_run(struct serve *s, struct error *e);
void serve_free(struct serve *s); /* NULL is fine */

struct serve_stats {
    unsigned waiting_reads, given_up; /* given_up: of those, reads of killed tasks, which nobody waits for */
    pid_t supervisor, daemon;
};
void serve_stats(struct serve *s, struct serve_stats *ret); /* from any thread, between new and free */

/* The whole tree has been seen and no entry has an extended attribute: the kernel need not ask for any. From any
 * thread. */
void serve_without_xattrs(struct serve *s);
void serve_complete(struct serve *s); /* all pages of the tree are here; from any thread */
