/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/patience.h"
#include "cli/place.h"
#include "cli/stack.h"
#include "fusefs/control.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>

#define LOOK_MS 200

struct waiting {
    struct ui *ui;
    const char *socket;
};

static int ask(const char *socket, const char *command, json_t **ret, control_waits waits, struct waiting *w,
               struct error *e)
{
    json_t *request = json_pack("{s:s}", "command", command);
    int r = waits ? control_call_patiently(socket, request, LOOK_MS, waits, w, ret, e)
                  : control_call(socket, request, LOOK_MS, ret, e);
    json_decref(request);
    return r;
}

static int show(void *arg, pid_t daemon, struct error *e)
{
    (void)daemon;
    struct waiting *w = arg;
    json_t *status = NULL;
    if (ui_shows_progress(w->ui) && ask(w->socket, "status", &status, NULL, NULL, NULL) == 0)
        ui_progress(w->ui, "fetching", 0, (uint64_t)json_integer_value(json_object_get(status, "bytes_done")),
                    (uint64_t)json_integer_value(json_object_get(status, "bytes_total")));
    json_decref(status);
    return interrupt_check(e);
}

/* Until the daemon has answered, or Ctrl-C. */
static int wait_for_all(struct stack *s, json_t **ret, struct error *e)
{
    _cleanup_(patience_end) struct patience *p = NULL;
    _cleanup_free_ char *socket = place_in_run(s->config, s->name, "socket");
    struct waiting w = { s->ui, socket };
    int r = patience_begin(s, &p, e);
    if (r == 0)
        r = ask(socket, "hydrate", ret, show, &w, e);
    ui_progress_end(s->ui);
    return r;
}

static int hydrate(struct stack *s, struct error *e)
{
    struct error why = { 0 };
    json_t *answer = NULL;
    int r = wait_for_all(s, &answer, &why);
    if (r < 0) {
        error_pass(e, &why);
        if (why.kind == ERROR_INTERRUPTED)
            return error_hint(e, "the content of %s goes on coming in the background", s->name), r;
        if (!why.hint[0]) /* it has ended, and another one takes its place */
            error_hint(e, "ag-box hydrate %s goes on", s->name);
        return error_prefix(e, "hydrate %s", s->name), r;
    }
    json_int_t bytes = json_integer_value(json_object_get(answer, "bytes_total"));
    char size[16];
    text_size(size, (uint64_t)bytes);
    ui_field_integer(s->ui, "bytes", bytes);
    ui_line(s->ui, "everything of %s is here (%s as it is stored)", s->name, size);
    json_decref(answer);
    return 0;
}

static int run(struct cmd_context *c, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_peek(&s, c->arguments[0], e);
    if (r < 0)
        return r;
    bool fenced = s.record.state == BOX_FENCED; /* its work goes on (rule L5) */
    if (s.record.full && (s.record.state == BOX_FULL_HELD || fenced)) {
        ui_line(c->ui, "%s is in plain directories: everything is here", s.name);
        return 0;
    }
    if (s.record.state != BOX_MOUNTED && !fenced) {
        error_say(e, ERROR_UNKNOWN, -ENOENT, "box %s is not up here", s.name);
        return error_hint(e, "ag-box up %s", s.name);
    }
    return hydrate(&s, e);
}

const struct cmd cmd_hydrate = {
    .name = "hydrate",
    .summary = "fetch everything of a box that is up, and wait for it",
    .arguments = "NAME",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
