/* SPDX-License-Identifier: MIT */
#include "cli/patience.h"

#include "cli/interrupt.h"
#include "cli/place.h"
#include "fusefs/control.h"
#include "index/base/clock.h"
#include "index/base/mem.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>

#define LOOK_MS 200
#define SAY_NS 3000000000 /* without an answer */
#define ASK_MS 2000       /* the thread, since the last answer */

/* One question, until it is answered. */
struct question {
    struct stack *stack;
    int64_t since_ns;
    bool said, hurried; /* hurried: it ends where it would be said */
    int end_fd;         /* of the thread: readable when it is to end; -1: Ctrl-C ends it */
};

struct patience {
    struct stack *stack;
    int end_fd;
    pthread_t thread;
};

static bool is_stopped(pid_t pid)
{
    char path[64], state = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = 0;
    if (f)
        fclose(f);
    return state == 'T' || state == 't';
}

char *patience_whom(const char *box, pid_t daemon)
{
    if (daemon <= 0)
        return mem_printf("the daemon of %s, which does not answer", box);
    if (is_stopped(daemon))
        return mem_printf("the daemon of %s, pid %d, which is stopped: kill -CONT %d lets it go on", box, (int)daemon,
                          (int)daemon);
    return mem_printf("the daemon of %s, pid %d, which does not answer: kill -KILL %d ends it, and nothing is lost",
                      box, (int)daemon, (int)daemon);
}

static void tell(struct stack *s, pid_t daemon)
{
    _cleanup_free_ char *whom = patience_whom(s->name, daemon);
    ui_warn(s->ui, "waiting for %s", whom);
}

static int too_late(struct stack *s, pid_t daemon, struct error *e)
{
    _cleanup_free_ char *whom = patience_whom(s->name, daemon);
    return error_say(e, ERROR_BUSY, -ETIMEDOUT, "no answer from %s", whom);
}

static int waits(void *arg, pid_t daemon, struct error *e)
{
    struct question *q = arg;
    struct pollfd end = { .fd = q->end_fd, .events = POLLIN };
    if (q->end_fd >= 0 && poll(&end, 1, 0) > 0)
        return error_say(e, ERROR_INTERRUPTED, -ECANCELED, "it is not asked any more");
    if (!q->said && clock_boot_ns() - q->since_ns >= SAY_NS) {
        if (q->hurried)
            return too_late(q->stack, daemon, e);
        tell(q->stack, daemon);
        q->said = true;
    }
    return q->end_fd < 0 ? interrupt_check(e) : 0;
}

/* Its error in why, if it is one. */
static int ask(struct stack *s, int end_fd, bool hurried, struct error *why)
{
    struct question q = { .stack = s, .since_ns = clock_boot_ns(), .hurried = hurried, .end_fd = end_fd };
    _cleanup_free_ char *path = place_in_run(s->config, s->name, "socket");
    json_t *request = json_pack("{s:s}", "command", "status");
    int r = control_call_patiently(path, request, LOOK_MS, waits, &q, NULL, why);
    json_decref(request);
    return r;
}

static int until_answer(struct stack *s, bool hurried, struct error *e)
{
    struct error why = { 0 };
    int r = ask(s, -1, hurried, &why);
    if (r < 0 && (why.kind == ERROR_INTERRUPTED || (hurried && r == -ETIMEDOUT)))
        return error_pass(e, &why);
    return r < 0 && why.kind == ERROR_UNKNOWN; /* whatever else it is that it says, it does not hold us up */
}

int patience_ask(struct stack *s, struct error *e)
{
    return until_answer(s, false, e);
}

int patience_look(struct stack *s, struct error *e)
{
    return until_answer(s, true, e);
}

static void *run(void *arg)
{
    struct patience *p = arg;
    struct pollfd end = { .fd = p->end_fd, .events = POLLIN };
    while (poll(&end, 1, ASK_MS) <= 0)
        ask(p->stack, p->end_fd, false, NULL);
    return NULL;
}

int patience_begin(struct stack *s, struct patience **ret, struct error *e)
{
    int r = patience_ask(s, e);
    if (r < 0)
        return r;
    sigset_t all, before;
    sigfillset(&all);
    struct patience *p = mem_new(1, sizeof(*p));
    *p = (struct patience){ .stack = s, .end_fd = eventfd(0, EFD_CLOEXEC) };
    sigprocmask(SIG_SETMASK, &all, &before);
    r = p->end_fd < 0 ? -errno : -pthread_create(&p->thread, NULL, run, p);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (r < 0) {
        mem_closep(&p->end_fd);
        free(p);
        return error_set(e, ERROR_FAILED, r, "start a thread");
    }
    *ret = p;
    return 0;
}

void patience_end(struct patience **p)
{
    if (!*p)
        return;
    eventfd_write((*p)->end_fd, 1);
    pthread_join((*p)->thread, NULL);
    close((*p)->end_fd);
    free(*p);
    *p = NULL;
}
