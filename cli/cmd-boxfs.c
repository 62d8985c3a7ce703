/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/daemon.h"
#include "cli/place.h"
#include "fusefs/supervisor.h"
#include "index/base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#define CONNECTIONS 8 /* to begin with: metadata in the background, and the first reads */

static int open_stack(struct cmd_context *c, struct stack *s, struct error *e)
{
    int r = stack_open(s, c->config, c->ui, e);
    if (r == 0)
        r = stack_peek(s, c->arguments[0], e);
    if (r == 0 && !s->journal)
        r = error_say(e, ERROR_UNKNOWN, -ENOENT, "nothing of box %s is here", c->arguments[0]);
    if (r == 0)
        r = stack_store(s, e);
    return r;
}

/* The supervisor of a lazy box: it must stay small, so it opens nothing but what it needs to know whether to mount. */
static int supervise(struct cmd_context *c, struct error *e)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n < 0)
        return error_set(e, ERROR_FAILED, -errno, "read /proc/self/exe");
    self[n] = '\0';
    char *argv[] = { self, (char *)(uintptr_t) "boxfs-serve", c->arguments[0], NULL };
    _cleanup_free_ char *point = place_in_run(c->config, c->arguments[0], "lower");
    _cleanup_free_ char *source = mem_printf("ag-box:%s", c->arguments[0]);
    struct supervisor_config sc = {
        .mount_point = point,
        .source = source,
        .argv = argv,
        .ready_fd = SUPERVISOR_READY_FD,
        .early = supervisor_early(),
    };
    return supervisor_run(&sc, e);
}

static int run_boxfs(struct cmd_context *c, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    if (supervisor_early()) /* only for a lazy box; the journal says so later */
        return supervise(c, e);
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_peek(&s, c->arguments[0], e);
    if (r < 0)
        return r;
    if (!s.record.full) {
        stack_close(&s);
        s = (struct stack)STACK_NONE;
        return supervise(c, e);
    }
    r = stack_store(&s, e);
    return r < 0 ? r : daemon_run(&s, false, e);
}

/* What needs to know nothing of what will be mounted. Errors come again when it does. */
static void prepare(struct cmd_context *c, struct stack *s)
{
    stack_use(s, c->config, c->ui);
    if (stack_connect(s, NULL) == 0)
        store_expect(s->store, CONNECTIONS);
    stack_open(s, c->config, c->ui, NULL);
}

static int run_serve(struct cmd_context *c, struct error *e)
{
    struct stack s = STACK_NONE;
    if (supervisor_early())
        prepare(c, &s);
    if (!supervisor_await()) {
        stack_close(&s);
        return 0;
    }
    int r = open_stack(c, &s, e);
    if (r == 0)
        r = daemon_run(&s, true, e);
    if (r == 0)
        stack_close(&s); /* after an error other threads may still be at work: the process ends at once */
    return r;
}

const struct cmd cmd_boxfs = {
    .name = "boxfs",
    .summary = "serve a box on this node (started by up and track)",
    .arguments = "NAME",
    .arguments_min = 1,
    .arguments_max = 1,
    .hidden = true,
    .run = run_boxfs,
};

const struct cmd cmd_boxfs_serve = {
    .name = "boxfs-serve",
    .summary = "the file system's daemon (started by its supervisor)",
    .arguments = "NAME",
    .arguments_min = 1,
    .arguments_max = 1,
    .hidden = true,
    .run = run_serve,
};
