/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * supervisor - keeps a mount alive over the death of its daemon (rule O11).
 *
 * A process of its own, as small as can be, since nothing may kill it: it holds the /dev/fuse descriptor and the
 * request slots, mounts, takes the kernel's FUSE_INIT into the slots unanswered, and starts the daemon again whenever
 * it ends with anything but 0. After its start it allocates nothing. A daemon that dies at once is started again after
 * a pause that doubles up to SUPERVISOR_PAUSE_MAX_MS; the supervisor never gives up while the file system is mounted.
 *
 * The daemon is exec'ed with the descriptors below and everything else closed; it exits with 0 when it has seen the
 * file system unmounted (serve_run returned 0), and so does the supervisor. It is started as an I/O flusher
 * (PR_SET_IO_FLUSHER in prctl(2)): a thread that is short of memory must not wait for an inode whose pages it is itself
 * to answer. SIGTERM, SIGINT and SIGHUP are ignored: it
 * ends by unmounting, so that a stray signal cannot take the tree away under its users.
 */

#include "index/base/error.h"

#include <stdbool.h>
#include <sys/types.h>

#define SUPERVISOR_FUSE_FD 3
#define SUPERVISOR_SLOTS_FD 4
#define SUPERVISOR_READY_FD 5 /* a pipe for the daemon's supervisor_ready; may be closed */
#define SUPERVISOR_WORD_FD 6  /* a pipe for supervisor_await; may be closed */

#define SUPERVISOR_PAUSE_MAX_MS 5000

struct supervisor_config {
    const char *mount_point;
    const char *source; /* what mountinfo shows */
    char *const *argv;  /* the daemon's, NULL behind; argv[0] is a path */
    int ready_fd;       /* write end of a pipe for supervisor_wait, -1: none. Ours from now on. */
    bool early;         /* starts the first daemon at once, mounts when supervisor_await allows it, then tells it */
};

/* Mounts and supervises: blocks until unmounted, 0. Call it in a process that has no other duty. A failure before the
 * first daemon has been started is an error, undone and told through ready_fd too. */
int supervisor_run(const struct supervisor_config *c, struct error *e);

/*
 * For who was started early, supervisor or daemon, and has made ready what does not depend on what is to be mounted:
 * waits for the word (a byte on SUPERVISOR_WORD_FD). True: it came, or there is nothing to wait for. False: nothing
 * will be mounted, and the process is to end with 0.
 */
bool supervisor_early(void); /* whether there is something to wait for */
bool supervisor_await(void);

/* For the daemon, once it answers: tells whoever waits, once. Nobody there: nothing happens. */
void supervisor_ready(void);
/* Or why it will not. */
void supervisor_failed(const struct error *why);

/* For the one who started the supervisor: waits on the pipe's read end until the mount answers (0), the supervisor has
 * failed (its error), or timeout_ms have passed (-ETIMEDOUT). The other write ends must be closed. Closes nothing. */
int supervisor_wait(int fd, int timeout_ms, struct error *e);
