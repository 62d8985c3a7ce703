/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/place.h"
#include "cli/stack.h"
#include "fusefs/control.h"
#include "index/base/mem.h"

#include <errno.h>

static int run(struct cmd_context *c, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_peek(&s, c->arguments[0], e);
    if (r < 0)
        return r;
    if (s.record.full && s.record.state == BOX_FULL_HELD) {
        ui_line(c->ui, "%s is in plain directories: everything is here", s.name);
        return 0;
    }
    if (s.record.state != BOX_MOUNTED) {
        error_say(e, ERROR_UNKNOWN, -ENOENT, "box %s is not up here", s.name);
        return error_hint(e, "ag-box up %s", s.name);
    }
    _cleanup_free_ char *path = place_in_run(c->config, s.name, "socket");
    json_t *request = json_pack("{s:s}", "command", "hydrate"), *answer = NULL;
    r = control_call(path, request, -1, &answer, e);
    json_decref(request);
    if (r < 0)
        return error_prefix(e, "hydrate %s", s.name);
    json_int_t bytes = json_integer_value(json_object_get(answer, "bytes_total"));
    ui_field_integer(c->ui, "bytes", bytes);
    ui_line(c->ui, "everything of %s is here (%lld bytes sealed)", s.name, (long long)bytes);
    json_decref(answer);
    return 0;
}

const struct cmd cmd_hydrate = {
    .name = "hydrate",
    .summary = "fetch everything of a box that is up, and wait for it",
    .arguments = "NAME",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
