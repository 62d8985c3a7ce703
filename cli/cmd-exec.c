/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/inside.h"
#include "index/base/clock.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>

#define OURS 125 /* exit codes, as env(1) and timeout(1) have them */
#define NOT_RUNNABLE 126
#define NOT_FOUND 127
#define TIMEOUT_MAX_S 1000000000u

/* What cannot be, before anything is started. */
static int check(const struct cmd_context *c, uint64_t *ret_timeout_s, struct error *e)
{
    const struct cmd_options *o = &c->options;
    if (c->argument_count < 2 || c->before_dashes != 1) {
        error_say(e, ERROR_USAGE, -EINVAL, "exec wants a box's name, then -- and a command");
        return error_hint(e, "ag-box exec %s -- ls -l", c->before_dashes == 0 ? "NAME" : c->arguments[0]), -EINVAL;
    }
    if (c->arguments[1][0] == '\0')
        return error_say(e, ERROR_USAGE, -EINVAL, "the command's name is empty");
    if (o->tty && o->detach)
        return error_say(e, ERROR_USAGE, -EINVAL, "--tty and --detach do not go together");
    if (o->timeout && o->detach)
        return error_say(e, ERROR_USAGE, -EINVAL, "--timeout and --detach do not go together");
    if (o->timeout && (text_parse_duration(o->timeout, ret_timeout_s) < 0 || *ret_timeout_s > TIMEOUT_MAX_S))
        return error_say(e, ERROR_USAGE, -EINVAL, "--timeout: '%s' is not a time (90, 90s, 15m, 2h)", o->timeout);
    for (size_t i = 0; i < o->env.count; i++)
        if (o->env.items[i][0] == '=' || !strchr(o->env.items[i], '='))
            return error_say(e, ERROR_USAGE, -EINVAL, "--env: '%s' is not NAME=VALUE", o->env.items[i]);
    return 0;
}

/* What the command's environment has over the box's own. The first is term's, for a terminal. */
static char **variables(const struct cmd_options *o, char *term)
{
    char **env = mem_new(o->env.count + 2, sizeof(*env));
    size_t count = 0;
    if (o->tty)
        env[count++] = term;
    for (size_t i = 0; i < o->env.count; i++)
        env[count++] = (char *)o->env.items[i];
    return env;
}

static int execute(const struct cmd_context *c, const struct inside *n, uint64_t timeout_s, struct session_result *ret,
                   struct error *e)
{
    const struct cmd_options *o = &c->options;
    const char *host_term = getenv("TERM");
    _cleanup_free_ char *term = mem_printf("TERM=%s", host_term && host_term[0] ? host_term : "dumb");
    _cleanup_free_ char *cwd = !o->cwd            ? mem_strdup("")
                               : o->cwd[0] == '/' ? mem_strdup(o->cwd)
                                                  : mem_printf("%s/%s", n->project, o->cwd);
    _cleanup_free_ char **env = variables(o, term);
    struct session s = {
        .socket = n->socket,
        .start = { .tty = o->tty, .detach = o->detach, .cwd = cwd, .argv = c->arguments + 1, .env = env },
        .in = o->detach ? -1 : STDIN_FILENO,
        .terminal = o->tty && isatty(STDIN_FILENO) ? STDIN_FILENO : -1,
        .timeout_s = (unsigned)timeout_s,
    };
    return inside_run(&s, ret, e);
}

static void tell(struct ui *ui, const char *name, const struct session_result *x, int64_t begun_ns)
{
    ui_field_text(ui, "box", name);
    ui_field_integer(ui, "duration_ms", (clock_boot_ns() - begun_ns) / 1000000);
    ui_field(ui, "timed_out", json_boolean(x->timed_out));
    ui_field(ui, "detached", json_boolean(x->exit.kind == MESSAGE_DETACHED));
    if (x->pid != 0)
        ui_field_integer(ui, "pid", x->pid);
}

static int failure_code(const struct session_result *x)
{
    if (!x->refused || x->refusal.stage != MESSAGE_STAGE_PROGRAM)
        return OURS;
    return x->refusal.error == ENOENT ? NOT_FOUND : NOT_RUNNABLE;
}

static int ended(struct cmd_context *c, const struct session_result *x, uint64_t timeout_s, struct error *e)
{
    int code = session_exit_code(&x->exit);
    if (x->exit.kind == MESSAGE_DETACHED)
        ui_note(c->ui, "it goes on as process %u of the box", x->pid);
    else
        ui_field_integer(c->ui, "exit_code", code);
    if (x->exit.kind == MESSAGE_KILLED)
        ui_field_integer(c->ui, "signal", x->exit.code);
    if (x->timed_out)
        return error_say(e, ERROR_FAILED, -ETIMEDOUT, "it was ended after %llu s", (unsigned long long)timeout_s);
    ui_set_exit(c->ui, code, OURS);
    return 0;
}

static int run(struct cmd_context *c, struct error *e)
{
    uint64_t timeout_s = 0;
    int64_t begun_ns = clock_boot_ns();
    _cleanup_(inside_release) struct inside n = { 0 };
    struct session_result x = { 0 };
    int r = check(c, &timeout_s, e);
    if (r == 0)
        r = inside_open(c->config, c->ui, c->arguments[0], c->cmd->name, &n, e);
    if (r == 0) {
        r = execute(c, &n, timeout_s, &x, e);
        tell(c->ui, c->arguments[0], &x, begun_ns);
        ui_set_exit(c->ui, 0, failure_code(&x));
        if (r == 0)
            r = ended(c, &x, timeout_s, e);
    }
    if (r < 0 && c->before_dashes != 0)
        error_prefix(e, "exec %s", c->arguments[0]);
    return r;
}

const struct cmd cmd_exec = {
    .name = "exec",
    .summary = "run a command in a box",
    .arguments = "NAME -- COMMAND",
    .details =
        "Starts the box if it is stopped. The exit code is the command's own, 128 and its number when a signal ended\n"
        "it; 125 when ag-box failed, 126 and 127 when the command cannot be run or is not there.",
    .arguments_min = 1,
    .arguments_max = -1,
    .failure_code = OURS,
    .options = { { "tty", CMD_FLAG, CMD_OPTION(tty), NULL, "give the command a terminal" },
                 { "cwd", CMD_TEXT, CMD_OPTION(cwd), "DIR", "start it there, not in the project" },
                 { "env", CMD_LIST, CMD_OPTION(env), "K=V", "set a variable of its environment; may be repeated" },
                 { "timeout", CMD_TEXT, CMD_OPTION(timeout), "S",
                   "end it after so many seconds (or 15m, 2h): TERM, then KILL" },
                 { "detach", CMD_FLAG, CMD_OPTION(detach), NULL, "leave it running, once it has lived for 2 s", 'd' },
                 { "json", CMD_TEXT, CMD_OPTION(json_file), "FILE", "write one JSON object there; as --json=FILE" } },
    .run = run,
};
