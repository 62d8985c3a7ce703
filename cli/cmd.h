/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * cmd - one command: what main's table holds, and what help, completion and parsing are derived from.
 *
 * A command file exports one `const struct cmd cmd_NAME`. Its options point into struct cmd_options, which is the union
 * of what all commands take; run gets them parsed, and the arguments counted.
 */

#include "cli/config.h"
#include "cli/ui.h"
#include "index/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CMD_OPTIONS_MAX 12
#define CMD_LIST_MAX 64

enum cmd_option_kind { CMD_FLAG, CMD_TEXT, CMD_NUMBER, CMD_LIST };

struct cmd_option {
    const char *name;
    enum cmd_option_kind kind;
    size_t offset; /* into struct cmd_options: bool, const char *, struct cmd_number, struct cmd_list */
    const char
        *value; /* the value's word in help: "NODE"; NULL for a flag. "[N%]": may be left out (--name=VALUE form) */
    const char *help;
    char letter; /* its short form; 0: none */
};

struct cmd_list {
    const char *items[CMD_LIST_MAX];
    size_t count;
};

struct cmd_number {
    bool given;
    uint64_t value;
};

struct cmd_options {
    bool help, json, force, full, accept_rollback, yes, home, dump, foreground, active, snapshots, dry_run, local, tty,
        detach;
    bool no_start, no_sessions;
    const char *node, *from, *snapshot, *fork, *hold, *read_data, *label, *cwd, *timeout, *json_file;
    struct cmd_number keep_hourly, keep_daily, keep_weekly;
    struct cmd_list exclude, env;
};

struct cmd_context {
    const struct cmd *cmd;
    struct config *config; /* loaded before run, unless the command is `plain` */
    struct ui *ui;
    struct cmd_options options;
    char **arguments;
    int argument_count;
    int before_dashes; /* how many arguments stand before the first --; -1: there is none */
};

struct cmd {
    const char *name;
    const char *summary;              /* one line, lower case, no full stop */
    const char *arguments;            /* "NAME [DIR]" */
    const char *details;              /* more for --help: a short paragraph, may be NULL */
    int arguments_min, arguments_max; /* -1: any number */
    bool plain;                       /* needs no configuration */
    int failure_code;                 /* what a failure of ours exits with; 0: error_exit_code of its kind */
    bool globals;                     /* NAME may be TEXT_GLOBALS */
    bool hidden;                      /* not in the overview: the program's own use */
    struct cmd_option options[CMD_OPTIONS_MAX];
    int (*run)(struct cmd_context *c, struct error *e);
};

#define CMD_OPTION(field) offsetof(struct cmd_options, field)

/* A command's i-th option, its own first, then those that every command has unless it has one of that name; NULL: no
 * more. */
const struct cmd_option *cmd_option_at(const struct cmd *c, size_t i);
extern const struct cmd *const cmd_table[]; /* ends with NULL, in the order of the overview */
const struct cmd *cmd_find(const char *name);
void cmd_print_overview(void);
void cmd_print_help(const struct cmd *c);
/* Fills options and arguments of ctx from argv (argv[0] is the command's name). -EINVAL ERROR_USAGE with a hint. */
int cmd_parse(const struct cmd *cmd, int argc, char **argv, struct cmd_context *ctx, struct error *e);
