/* SPDX-License-Identifier: MIT */
#include "cli/advice.h"
#include "cli/cmd.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/unit.h"
#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool wants_json(const struct cmd *cmd, int argc, char **argv)
{
    for (size_t i = 0; cmd && i < CMD_OPTIONS_MAX && cmd->options[i].name; i++)
        if (strcmp(cmd->options[i].name, "json") == 0)
            return false; /* its own, which does not print */
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

static int run(struct cmd_context *c, struct error *e)
{
    if (c->cmd->plain)
        return c->cmd->run(c, e);

    int r = config_load(&c->config, e);
    if (r == 0)
        r = c->cmd->run(c, e);
    if (r < 0)
        advice_give(c->config, e);
    config_free(c->config);
    return r;
}

static int set_log_level(struct error *e)
{
    enum log_level level;
    const char *word = getenv("AGBOX_LOG");
    if (!word)
        return 0;
    if (log_parse_level(word, &level) < 0)
        return error_say(e, ERROR_USAGE, -EINVAL, "AGBOX_LOG=%s: not one of debug, info, warn", word);
    log_set_level(level);
    return 0;
}

/* A service of ours: what its starter gives it comes before everything that reads the environment. */
static int inherit(const struct cmd *cmd, struct error *e)
{
    const char *ready = getenv("AGBOX_READY");
    return cmd->hidden && ready ? unit_inherit(ready, e) : 0;
}

static int dispatch(const struct cmd *cmd, int argc, char **argv, struct ui *ui)
{
    struct error e = { 0 };
    struct cmd_context c = { .ui = ui };
    int r = inherit(cmd, &e);
    if (r == 0)
        r = set_log_level(&e);
    if (cmd->failure_code)
        ui_set_exit(ui, 0, cmd->failure_code);
    if (r == 0)
        r = cmd_parse(cmd, argc - 1, argv + 1, &c, &e);
    if (r == 0 && c.options.help) {
        cmd_print_help(cmd);
        return 0;
    }
    if (r == 0) { /* also what was shortened, and before anything else can fail */
        ui_set_json(ui, c.options.json);
        ui_set_json_file(ui, c.options.json_file);
        crash_command(cmd->name);
        r = run(&c, &e);
    }
    return ui_end(ui, r, &e);
}

int main(int argc, char **argv)
{
    umask(077);
    fd_open_standard();
    if (argc == 3 && strcmp(argv[1], "help") == 0 && cmd_find(argv[2])) {
        cmd_print_help(cmd_find(argv[2]));
        return 0;
    }
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        cmd_print_overview();
        return argc < 2 ? 2 : 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("ag-box %s\n", AGBOX_VERSION);
        return 0;
    }
    interrupt_install();

    struct ui *ui = ui_new();
    const struct cmd *cmd = cmd_find(argv[1]);
    ui_set_json(ui, wants_json(cmd, argc, argv));
    int code;
    if (cmd) {
        code = dispatch(cmd, argc, argv, ui);
    } else {
        struct error e = { 0 };
        error_say(&e, ERROR_USAGE, -EINVAL, "unknown command '%s'", argv[1]);
        error_hint(&e, "ag-box --help lists the commands");
        code = ui_end(ui, -EINVAL, &e);
    }
    ui_free(ui);
    return code;
}
