/* SPDX-License-Identifier: MIT */
#include "cli/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t seen;
static struct store *volatile watched;

static void on_signal(int number)
{
    (void)number;
    seen = 1;
    struct store *s = watched;
    if (s)
        store_cancel(s);
}

void interrupt_install(void)
{
    struct sigaction a = { .sa_handler = on_signal };
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
