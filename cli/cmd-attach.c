/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/inside.h"
#include "index/base/mem.h"
#include "sandbox/boxinit.h"

#include <errno.h>
#include <signal.h>

#define DEFAULT_TERM "xterm-256color"

/*
 * tmux may just be on its way: boxinit starts it again when it has ended. What it says on stderr it says before it has
 * attached; later it would be on the screen. -N: only boxinit starts a server, with the box's configuration. $2 is what
 * the server itself runs, whatever was installed since.
 */
#define ATTACH                                                                                                         \
    "exec 3>&1; i=0; while :; do "                                                                                     \
    "t=$2; [ -x \"$t\" ] || t=tmux; e=$(\"$t\" -N -S \"$1\" attach-session 2>&1 >&3 3>&-) && exit 0; [ -n \"$e\" ] "   \
    "|| exit 1; "                                                                                                      \
    "[ $i -lt 50 ] || { printf '%s\\n' \"$e\"; exit 1; }; i=$((i + 1)); sleep 0.1; done"

static int check_terminal(struct error *e)
{
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        return 0;
    error_say(e, ERROR_USAGE, -ENOTTY, "attach wants a terminal");
    return error_hint(e, "ag-box exec NAME -- COMMAND does without; over ssh: ssh -t"), -ENOTTY;
}

static int attach(const char *name, const struct inside *n, struct session_result *ret, struct error *e)
{
    const char *term = getenv("TERM"), *colours = getenv("COLORTERM");
    _cleanup_free_ char *socket = mem_printf("%s/%s/tmux.sock", BOXINIT_RUN, name);
    _cleanup_free_ char *program = mem_printf("%s/%s/tmux", BOXINIT_RUN, name);
    _cleanup_free_ char *term_is = mem_printf("TERM=%s", term && term[0] ? term : DEFAULT_TERM);
    _cleanup_free_ char *colours_are = colours ? mem_printf("COLORTERM=%s", colours) : NULL;
    char *argv[] = { (char *)"sh", (char *)"-c", (char *)ATTACH, (char *)"sh", socket, program, NULL };
    char *env[] = { term_is, colours_are, NULL };
    struct session s = {
        .socket = n->socket,
        .start = { .tty = true, .cwd = (char *)"", .argv = argv, .env = env },
        .in = STDIN_FILENO,
        .terminal = STDIN_FILENO,
        .leaves = true,
    };
    return inside_run(&s, ret, e);
}

/* boxinit ends a box by TERM: what attach ran may be the first to go. */
static int say_why(const struct config *c, const char *name, int code, struct error *e)
{
    enum inside_end how = inside_look(c, name);
    if (how == INSIDE_RUNS && code == 128 + SIGTERM) {
        error_say(e, ERROR_FAILED, -EIO, "attach %s: the box is being stopped, or somebody has ended its tmux", name);
        return error_hint(e, "ag-box status %s says how it stands", name), -EIO;
    }
    if (how != INSIDE_RUNS) {
        error_say(e, ERROR_FAILED, -EIO, "attach %s: the box was stopped", name);
        return error_hint(e,
                          how == INSIDE_GONE ? "ag-box up %s, once it is parked; ag-box status %s says how it stands"
                                             : "ag-box attach %s starts it again",
                          name, name),
               -EIO;
    }
    error_say(e, ERROR_FAILED, -EIO, "attach %s: tmux in the box ended with %d", name, code);
    return error_hint(e, "attach again; if it stays so: ag-box exec %s -- %s/%s/tmux -S %s/%s/tmux.sock kill-server",
                      name, BOXINIT_RUN, name, BOXINIT_RUN, name),
           -EIO;
}

static int run(struct cmd_context *c, struct error *e)
{
    const char *name = c->arguments[0];
    _cleanup_(inside_release) struct inside n = { 0 };
    struct session_result ended = { 0 };
    int r = check_terminal(e);
    if (r == 0)
        r = inside_open(c->config, c->ui, name, c->cmd->name, &n, e);
    if (r == 0)
        r = attach(name, &n, &ended, e);
    if (r < 0)
        return error_prefix(e, "attach %s", name), r;
    int code = session_exit_code(&ended.exit);
    ui_field_text(c->ui, "box", name);
    return code == 0 ? 0 : say_why(c->config, name, code, e);
}

const struct cmd cmd_attach = {
    .name = "attach",
    .summary = "show a box's tmux at this terminal",
    .arguments = "NAME",
    .details =
        "Starts the box if it is stopped. Detach with tmux's own key, Ctrl-B d; the box goes on. Its status bar is\n"
        "green, so that it is told from a tmux around it (whose prefix has to be sent through: Ctrl-B Ctrl-B d).",
    .arguments_min = 1,
    .arguments_max = 1,
    .run = run,
};
