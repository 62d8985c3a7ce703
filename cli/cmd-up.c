/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/flow.h"
#include "index/base/mem.h"

#include <errno.h>
#include <string.h>

static int run(struct cmd_context *c, struct error *e)
{
    const struct cmd_options *o = &c->options;
    if (o->node && strcmp(o->node, c->config->node) != 0) {
        error_say(e, ERROR_USAGE, -ENOTSUP, "up on another node (%s) is not built yet: this node is %s", o->node,
                  c->config->node);
        return error_hint(e, "run ag-box up %s on %s", c->arguments[0], o->node);
    }
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_store(&s, e);
    if (r == 0)
        r = stack_box(&s, c->arguments[0], true, e);
    if (r < 0)
        return r;
    struct flow_up_options up = {
        .force = o->force, .full = o->full, .accept_rollback = o->accept_rollback, .from = o->from
    };
    return flow_up(&s, &up, e);
}

const struct cmd cmd_up = {
    .name = "up",
    .summary = "take a box up here: lease, mount, ready",
    .arguments = "NAME",
    .details = "Returns when the project's path can be read; content follows on demand and in the background.",
    .arguments_min = 1,
    .arguments_max = 1,
    .options = { { "node", CMD_TEXT, CMD_OPTION(node), "NODE", "on that node (only this one for now)" },
                 { "force", CMD_FLAG, CMD_OPTION(force), NULL, "take over a lease that another node still holds" },
                 { "full", CMD_FLAG, CMD_OPTION(full), NULL, "fetch everything into plain directories first" },
                 { "from", CMD_TEXT, CMD_OPTION(from), "ID", "with project and home of this snapshot or fork" },
                 { "accept-rollback", CMD_FLAG, CMD_OPTION(accept_rollback), NULL,
                   "take a head that is older than one seen here" } },
    .run = run,
};
