/* SPDX-License-Identifier: MIT */
#include "cli/interrupt.h"

#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define WAKE_FD_MIN 64 /* above the numbers that a supervisor's daemon finds its descriptors at, or finds none */

static volatile sig_atomic_t seen;
static struct store *volatile watched;
static int wake = -1; /* readable from the first signal on, whichever thread has taken it */
static pid_t owner;   /* whoever it forks has the same counter, and signals of its own */

static void on_signal(int number)
{
    (void)number;
    int before = errno;
    seen = 1;
    struct store *s = watched;
    if (s)
        store_cancel(s);
    if (getpid() == owner)
        eventfd_write(wake, 1);
    errno = before;
}

void interrupt_install(void)
{
    struct sigaction a = { .sa_handler = on_signal };
    int counter = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    wake = counter < 0 ? -1 : fcntl(counter, F_DUPFD_CLOEXEC, WAKE_FD_MIN);
    mem_closep(&counter);
    owner = getpid();
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGHUP, &a, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void interrupt_watch(struct store *s)
{
    watched = s;
    if (seen && s)
        store_cancel(s);
}

int interrupt_seen(void)
{
    return seen != 0;
}

int interrupt_check(struct error *e)
{
    return seen ? error_say(e, ERROR_INTERRUPTED, -EINTR, "interrupted") : 0;
}

int interrupt_wait(int fd, struct error *e)
{
    struct pollfd p[] = { { .fd = fd, .events = POLLIN }, { .fd = wake, .events = POLLIN } };
    int r;
    while ((r = interrupt_check(e)) == 0 && poll(p, 2, -1) < 0 && errno == EINTR)
        ;
    return r < 0 ? r : interrupt_check(e);
}
