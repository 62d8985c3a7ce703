/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/dump.h"
#include "index/base/crash.h"
#include "index/base/mem.h"

#include <errno.h>
#include <string.h>

#ifdef AGBOX_FAULT
static void tell_step(const char *step, void *arg)
{
    struct ui *ui = arg;
    ui_line(ui, "%s", step);
}

static int crash_points(struct cmd_context *c, struct error *e)
{
    (void)e;
    crash_each(tell_step, c->ui);
    return 0;
}
#else
static int crash_points(struct cmd_context *c, struct error *e)
{
    (void)c;
    error_say(e, ERROR_USAGE, -ENOTSUP, "this build has no crash points");
    return error_hint(e, "meson setup -Dfault=true");
}
#endif

static int dump(struct cmd_context *c, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    json_t *object = NULL;
    int r = config_load(&c->config, e);
    if (r == 0)
        r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_store(&s, e);
    if (r == 0)
        r = dump_object(&s, c->arguments[1], &object, e);
    if (r < 0)
        return r;
    char *text = json_dumps(object, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    ui_text(c->ui, text);
    ui_field(c->ui, "object", object);
    free(text);
    return 0;
}

static int completion(struct cmd_context *c, struct error *e)
{
    _cleanup_(buf_release) struct buf text = { 0 };
    int r = completion_script(c->arguments[1], &text, e);
    if (r == 0)
        ui_bytes(c->ui, text.data, text.len);
    return r;
}

static const struct verb {
    const char *name;
    int arguments;
    int (*run)(struct cmd_context *c, struct error *e);
} verbs[] = { { "crash-points", 1, crash_points }, { "dump", 2, dump }, { "completion", 2, completion } };

static int run(struct cmd_context *c, struct error *e)
{
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(c->arguments[0], verbs[i].name) != 0 || c->argument_count != verbs[i].arguments)
            continue;
        int r = verbs[i].run(c, e);
        config_free(c->config);
        return r;
    }
    error_say(e, ERROR_USAGE, -EINVAL, "debug %s: no such verb, or a wrong number of arguments", c->arguments[0]);
    return error_hint(e, "usage: ag-box debug %s", c->cmd->arguments);
}

const struct cmd cmd_debug = {
    .name = "debug",
    .summary = "look inside: for tests and for the curious",
    .arguments = "crash-points | dump KEY|FILE | completion bash|zsh|fish",
    .details =
        "crash-points lists where a build for tests can be ended. dump prints an object of the store as JSON: a\n"
        "key such as box/NAME/head, or its file in a directory store. completion prints a shell's script.",
    .arguments_min = 1,
    .arguments_max = 2,
    .plain = true,
    .hidden = true,
    .run = run,
};
