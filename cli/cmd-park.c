/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/flow.h"
#include "index/base/mem.h"

static int run(struct cmd_context *c, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    int r = stack_for_box(&s, c->config, c->ui, c->arguments[0], false, e);
    if (r == 0)
        r = flow_park(&s, e);
    if (r == 0)
        flow_sweep(&s);
    return flow_ended(&s, c->cmd->name, r, e);
}

const struct cmd cmd_park = {
    .name = "park",
    .summary = "send what changed and free the lease",
    .arguments = "NAME",
    .details =
        "Returns when the store has everything and any node may take the box up. Local data goes only after that.",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
