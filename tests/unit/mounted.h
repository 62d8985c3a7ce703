/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * mounted - a twin tree behind a real kernel mount: supervisor, daemon (this test binary, executed again) and, if asked
 * for, the overlay. For tests of fusefs; needs root and /dev/fuse.
 *
 * A test program's main calls mounted_main first: it becomes the daemon when it was started as one, and otherwise moves
 * to a mount namespace of its own. Scenes are built in the daemon and, to compare with, in the test: the same both
 * times.
 */

#include "tests/unit/twin.h"

#include <stdatomic.h>
#include <sys/types.h>

/* Shared by the test and its daemons. */
struct mounted_shared {
    atomic_uint data_gets;  /* of file content */
    atomic_uint delay_us;   /* before each get's answer */
    atomic_uint hold;       /* gets of content that begins with "ABSENT" wait while it is set */
    atomic_uint hold_pages; /* gets of pages wait while it is set */
    atomic_uint waiting;    /* so many gets do */
    atomic_uint crash;      /* a get of content that begins with "CRASH" kills the daemon */
    atomic_uint crashes;
    atomic_uint fail;      /* gets of content that begins with "FAIL" answer ERROR_DAMAGED */
    atomic_int daemon;     /* pid of the newest */
    atomic_uint apart;     /* serve_config's; set under an overlay */
    atomic_uint no_xattrs; /* the next daemon says there are none */
    atomic_uint starts;    /* of daemons */
    atomic_uint touched;   /* calls of serve_config.touched */
};

typedef struct tree_root (*mounted_scene)(struct twin *t, struct link_group **ret_groups, size_t *ret_count);

struct mounted_scenes {
    const char *name;
    mounted_scene build; /* groups may stay NULL */
};

/* Returns only in the test. scenes ends with name NULL. */
void mounted_main(int argc, char **argv, const struct mounted_scenes *scenes);

struct mounted {
    char directory[32];
    char lower[64], merged[64], upper[64], work[64];
    struct mounted_shared *shared;
    pid_t supervisor, test;
    bool overlay;
};

struct mounted *mounted_start(const char *scene, bool overlay);
void mounted_stop(struct mounted *m);     /* unmounts; the supervisor must end with 0; leaves nothing */
unsigned mounted_kill(struct mounted *m); /* the daemon; returns starts as it was */
void mounted_await_start(struct mounted *m, unsigned starts); /* until another one has started */
void mounted_overlay(struct mounted *m);                      /* mounts it (again) */
void mounted_drop_caches(void);                               /* of the whole machine: rarely */
/* To stderr: where the kernel has every thread of the daemon, the supervisor and the test's other children. */
void mounted_show_stacks(const struct mounted *m, const pid_t *children, size_t count);
pid_t mounted_fork(void); /* a child that does not outlive the test */
