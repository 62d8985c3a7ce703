/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/flow.h"
#include "index/base/mem.h"

#include <errno.h>

static int run(struct cmd_context *c, struct error *e)
{
    const struct cmd_options *o = &c->options;
    if (o->fork && o->hold)
        return error_say(e, ERROR_USAGE, -EINVAL, "--fork and --hold: one at a time");
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    struct flow_drop_options d = { .yes = o->yes, .force = o->force, .fork = o->fork, .hold = o->hold };
    s.admits_globals = o->hold; /* a hold of theirs may be stale like any other; they themselves stay */
    int r = stack_for_box(&s, c->config, c->ui, c->arguments[0], true, e);
    return r < 0 ? r : flow_drop(&s, &d, e);
}

const struct cmd cmd_drop = {
    .name = "drop",
    .summary = "delete a box from the store, or one fork or hold of it",
    .arguments = "NAME",
    .details =
        "Asks for the box's name before anything is deleted. Refuses a box that is held, and one that has holds\n"
        "or forks unless --force is given.",
    .arguments_min = 1,
    .arguments_max = 1,
    .options = { { "yes", CMD_FLAG, CMD_OPTION(yes), NULL, "do not ask" },
                 { "force", CMD_FLAG, CMD_OPTION(force), NULL, "though holds or forks exist, or an expired lease" },
                 { "fork", CMD_TEXT, CMD_OPTION(fork), "ID", "only this fork" },
                 { "hold", CMD_TEXT, CMD_OPTION(hold), "ID", "only this hold" } },
    .run = run,
};
