/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/flow.h"
#include "index/base/mem.h"

static int run(struct cmd_context *c, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    int r = stack_for_box(&s, c->config, c->ui, c->arguments[0], true, e);
    return r < 0 ? r : flow_set(&s, c->arguments + 1, c->argument_count - 1, e);
}

const struct cmd cmd_set = {
    .name = "set",
    .summary = "change what travels with a box: pin, limits, exclude rules, path",
    .arguments = "NAME KEY=VALUE…",
    .details =
        "pin=NODE (empty: none), memory_max=SIZE, nix=true|false, path=PATH, exclude+=RULE and exclude-=RULE\n"
        "(gitignore syntax). Needs the lease, or a box that nobody holds. Exclude rules count from the next snapshot.",
    .arguments_min = 2,
    .arguments_max = -1,
    .run = run,
};
