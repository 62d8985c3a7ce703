/* SPDX-License-Identifier: MIT */
#include "cli/box.h"
#include "cli/commands.h"
#include "cli/flake.h"
#include "cli/place.h"
#include "cli/stack.h"
#include "fusefs/supervisor.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "sandbox/keeper.h"

#include <errno.h>

#define GRACE_MS 10000

static void add_hidden(const struct config *c, struct words *to)
{
    const char *store = c->store && strncmp(c->store, "file://", 7) == 0 ? c->store + 7 : NULL;
    const char *const all[] = { c->config_dir, c->state_dir, c->run_dir, store };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        _cleanup_free_ char *real = all[i] ? realpath(all[i], NULL) : NULL;
        if (real)
            words_add(to, real);
    }
}

static void say_ready(void *arg)
{
    (void)arg;
    supervisor_ready();
}

static int keep(struct stack *s, struct error *e)
{
    const struct config *c = s->config;
    _cleanup_free_ char *run = place_run(c, s->name), *init = NULL;
    _cleanup_free_ char *project =
        s->record.full ? mem_strdup(s->record.path) : place_in_run(c, s->name, "tree/project");
    _cleanup_free_ char *home_from =
        s->record.full ? place_in_box(c, s->name, "home") : place_in_run(c, s->name, "tree/home");
    _cleanup_(words_release) struct words hidden = { 0 };
    _cleanup_free_ char *tools = flake_tools(c, s->name);
    int r = box_init(&init, e);
    if (r < 0)
        return r;
    add_hidden(c, &hidden);
    struct policy p = { .name = s->name,
                        .node = c->node,
                        .project = s->record.path,
                        .project_from = project,
                        .home_from = home_from,
                        .init = init,
                        .tools = tools };
    struct keeper_config k = {
        .run = run, .policy = &p, .home = config_home(), .hidden = &hidden, .grace_ms = GRACE_MS, .ready = say_ready
    };
    return keeper_run(&k, e);
}

static int run(struct cmd_context *c, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    struct error why = { 0 };
    int r = stack_open(&s, c->config, c->ui, &why);
    if (r == 0)
        r = stack_peek(&s, c->arguments[0], &why);
    if (r == 0 && (!s.journal || !s.record.path))
        r = error_say(&why, ERROR_UNKNOWN, -ENOENT, "nothing of box %s is here", c->arguments[0]);
    if (r == 0)
        r = keep(&s, &why);
    if (r < 0) {
        supervisor_failed(&why);
        error_pass(e, &why);
    }
    return r;
}

const struct cmd cmd_boxrun = {
    .name = "boxrun",
    .summary = "keep a box (started by up and attach)",
    .arguments = "NAME",
    .arguments_min = 1,
    .arguments_max = 1,
    .hidden = true,
    .run = run,
};
