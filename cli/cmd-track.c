/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/flow.h"
#include "cli/project.h"
#include "index/base/mem.h"

static int run(struct cmd_context *c, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    s.asks_config = true;
    _cleanup_free_ char *default_dir = mem_printf("/root/%s", c->arguments[0]), *path = NULL;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_check_name(c->arguments[0], e);
    if (r == 0)
        r = project_resolve(&s, c->argument_count > 1 ? c->arguments[1] : default_dir, &path, e);
    if (r == 0)
        r = stack_store(&s, e);
    if (r == 0)
        r = stack_box(&s, c->arguments[0], false, e);
    if (r == 0)
        r = s.journal ? project_claim(&s, path, e) : flow_track_refuse(&s, path, e);
    if (r == 0 && !s.journal)
        r = stack_box(&s, c->arguments[0], true, e);
    if (r == 0)
        r = flow_resolve(&s, e);
    if (r == 0)
        r = flow_track(&s, path, !c->options.no_sessions, e);
    return flow_ended(&s, c->cmd->name, r, e);
}

const struct cmd cmd_track = {
    .name = "track",
    .summary = "make a directory a box: first full snapshot, lease here",
    .arguments = "NAME [DIR]",
    .details =
        "DIR defaults to /root/NAME. It stays as it is and in use; the box exists once the first snapshot is\n"
        "committed. A stopped track goes on where it was when it is run again. Sessions that Claude Code, Codex and\n"
        "Grok have had in DIR come into the box.",
    .arguments_min = 1,
    .arguments_max = 2,
    .options = { { "no-sessions", CMD_FLAG, CMD_OPTION(no_sessions), NULL,
                   "leave the sessions that agents have had here out of the box" } },
    .run = run,
};
