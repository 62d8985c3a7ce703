/* SPDX-License-Identifier: MIT */
#include "cli/cmd.h"

#include "index/base/text.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const struct cmd_option common_options[] = {
    { "json", CMD_FLAG, CMD_OPTION(json), NULL, "print one JSON object" },
    { "help", CMD_FLAG, CMD_OPTION(help), NULL, "print this help" },
};
#define COMMON_COUNT (sizeof(common_options) / sizeof(common_options[0]))

const struct cmd_option *cmd_option_at(const struct cmd *c, size_t i)
{
    size_t own = 0;
    while (own < CMD_OPTIONS_MAX && c->options[own].name)
        own++;
    if (i < own)
        return &c->options[i];
    for (size_t common = 0; common < COMMON_COUNT; common++) {
        size_t at = 0;
        while (at < own && strcmp(c->options[at].name, common_options[common].name) != 0)
            at++;
        if (at == own && i-- == own)
            return &common_options[common];
    }
    return NULL;
}

const struct cmd *cmd_find(const char *name)
{
    for (size_t i = 0; cmd_table[i]; i++)
        if (strcmp(cmd_table[i]->name, name) == 0)
            return cmd_table[i];
    return NULL;
}

void cmd_print_overview(void)
{
    printf("usage: ag-box COMMAND [ARGUMENTS] [OPTIONS]\n\n");
    for (size_t i = 0; cmd_table[i]; i++)
        if (!cmd_table[i]->hidden)
            printf("  %-10s %s\n", cmd_table[i]->name, cmd_table[i]->summary);
    printf("\n`ag-box COMMAND --help` says more; every command takes --json.\n");
}

static void print_option(const struct cmd_option *o)
{
    char left[64];
    bool optional = o->value && o->value[0] == '[';
    int n = snprintf(left, sizeof(left), "--%s%s%s", o->name,
                     optional   ? "[="
                     : o->value ? " "
                                : "",
                     !o->value  ? ""
                     : optional ? o->value + 1
                                : o->value);
    if (o->letter)
        snprintf(left + n, sizeof(left) - (size_t)n, " (-%c)", o->letter);
    printf("  %-24s %s\n", left, o->help);
}

void cmd_print_help(const struct cmd *c)
{
    const char *dashes = strstr(c->arguments, " -- "); /* options stand before them */
    int before = (int)(dashes ? (size_t)(dashes - c->arguments) : strlen(c->arguments));
    printf("usage: ag-box %s%s%.*s [OPTIONS]%s\n\n%s\n", c->name, before ? " " : "", before, c->arguments,
           dashes ? dashes : "", c->summary);
    if (c->details)
        printf("\n%s\n", c->details);
    printf("\noptions:\n");
    for (size_t i = 0; cmd_option_at(c, i); i++)
        print_option(cmd_option_at(c, i));
}

static int set_option(const struct cmd_option *o, const char *value, struct cmd_options *to, struct error *e)
{
    char *field = (char *)to + o->offset;
    struct cmd_list *list;
    struct cmd_number *number;
    switch (o->kind) {
    case CMD_FLAG:
        *(bool *)field = true;
        return 0;
    case CMD_TEXT:
        *(const char **)(void *)field = value ? value : "";
        return 0;
    case CMD_NUMBER:
        number = (struct cmd_number *)(void *)field;
        number->given = true;
        if (text_parse_u64(value, 1000000, &number->value) < 0)
            return error_say(e, ERROR_USAGE, -EINVAL, "--%s: '%s' is not a number up to 1000000", o->name, value);
        return 0;
    case CMD_LIST:
        list = (struct cmd_list *)(void *)field;
        if (list->count == CMD_LIST_MAX)
            return error_say(e, ERROR_USAGE, -E2BIG, "--%s: more than %d of them", o->name, CMD_LIST_MAX);
        list->items[list->count++] = value;
        return 0;
    }
    return -EINVAL;
}

/* What getopt_long needs; an option's val is its number and 1, or its letter, which is a greater one. */
#define OPTIONS_MAX (CMD_OPTIONS_MAX + COMMON_COUNT)

static void describe_options(const struct cmd *cmd, struct option *ret_long, char *ret_short)
{
    const struct cmd_option *o;
    *ret_short++ = ':';
    for (size_t n = 0; (o = cmd_option_at(cmd, n)) != NULL; n++) {
        int has = !o->value ? no_argument : o->value[0] == '[' ? optional_argument : required_argument;
        *ret_long++ = (struct option){ o->name, has, NULL, (int)n + 1 };
        if (o->letter)
            *ret_short++ = o->letter;
    }
    *ret_long = (struct option){ 0 };
    *ret_short = '\0';
}

static const struct cmd_option *chosen(const struct cmd *cmd, int val)
{
    const struct cmd_option *o;
    for (size_t n = 0; (o = cmd_option_at(cmd, n)) != NULL; n++)
        if (val == (int)n + 1 || (val > (int)OPTIONS_MAX && val == o->letter))
            return o;
    return NULL;
}

int cmd_parse(const struct cmd *cmd, int argc, char **argv, struct cmd_context *ctx, struct error *e)
{
    struct option long_options[OPTIONS_MAX + 1];
    char letters[OPTIONS_MAX + 2]; /* of flags only */
    describe_options(cmd, long_options, letters);

    int dashes_at = 1; /* before getopt moves all arguments behind it */
    while (dashes_at < argc && strcmp(argv[dashes_at], "--") != 0)
        dashes_at++;
    ctx->cmd = cmd;
    opterr = 0;
    optind = 1;
    for (int val; (val = getopt_long(argc, argv, letters, long_options, NULL)) != -1;) {
        bool cut = optarg && optarg == argv[optind - 1] && strcmp(optarg, "--") == 0; /* the end of options, no value */
        if (cut)
            val = ':', optind--;
        if (val == '?' || val == ':') {
            error_say(e, ERROR_USAGE, -EINVAL, val == ':' ? "%s wants a value" : "unknown option %s", argv[optind - 1]);
            error_hint(e, "ag-box %s --help lists the options", cmd->name);
            return -EINVAL;
        }
        int r = set_option(chosen(cmd, val), optarg, &ctx->options, e);
        if (r < 0)
            return r;
    }

    bool dashes = dashes_at < argc && strcmp(argv[optind - 1], "--") == 0;
    ctx->before_dashes = dashes ? dashes_at - optind + 1 : -1;
    ctx->arguments = argv + optind;
    ctx->argument_count = argc - optind;
    if (ctx->options.help)
        return 0;
    if (ctx->argument_count < cmd->arguments_min ||
        (cmd->arguments_max >= 0 && ctx->argument_count > cmd->arguments_max)) {
        error_say(e, ERROR_USAGE, -EINVAL, "%s arguments",
                  ctx->argument_count < cmd->arguments_min ? "too few" : "too many");
        error_hint(e, "usage: ag-box %s %s", cmd->name, cmd->arguments);
        return -EINVAL;
    }
    return 0;
}
