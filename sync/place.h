/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * place - the directory that a file:// store lives in: whether it is one, its clock, its lock, files being written.
 *
 * .agbox/ below the root marks it as a store and holds what no key can name: `lock`, `clock` and temporary files.
 * Opened anew for each call, so that a disk that comes and goes is noticed. Descriptors are the place's.
 */

#include "sync/store.h"

#define PLACE_OURS ".agbox"
#define PLACE_TEMPORARY_MAX 20

struct place {
    const char *path; /* borrowed */
    int root;
    int ours; /* .agbox */
};

#define PLACE_NONE ((struct place){ .root = -1, .ours = -1 })
#define _cleanup_place_ __attribute__((cleanup(place_close)))

/* Makes the directory (its parent must exist), and its mark, durably. */
int place_create(const char *path, struct error *e);
/* -EHOSTUNREACH ERROR_STORE: the mark is missing. */
int place_open(const char *path, struct place *ret, struct error *e);
void place_close(struct place *p);
/* Takes the lock under which names are given and taken, and returns its descriptor. Waits a minute, or until
 * store_cancel(s). */
int place_lock(const struct place *p, const struct store *s, struct error *e);
/*
 * The clock of whoever keeps the files (rule L3): the time it stamps a file with. A file that is there already, so that
 * a full disk can still be pruned. Where we may not write, our own clock: a reader takes no lease.
 */
int place_now(const struct place *p, int64_t *ret_ns, struct error *e);
/*
 * Builds with -Dfault=true: AGBOX_STORE_CLOCK=seconds moves the clock of the store as far ahead, for place_now and for
 * every object written: what happens days later can be told in a test. place_stamp gives a file that time.
 */
int place_stamp(int fd, const struct place *p, struct error *e);
/* A new file in .agbox; returns its descriptor and its name there. */
int place_temporary(const struct place *p, char name[PLACE_TEMPORARY_MAX], struct error *e);
/* Removes temporary files that killed writers left more than a day ago. */
void place_sweep(const struct place *p);

/* The kernel's errno in the store's words (-ESTALE, -ENOENT, -EBUSY mean something else there): "what name: strerror".
 */
int place_refused(struct error *e, int number, const char *what, const char *name);
