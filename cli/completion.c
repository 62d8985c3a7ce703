/* SPDX-License-Identifier: MIT */
#include "cli/completion.h"

#include "cli/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What a command's first argument is; where DIR comes later, directories are offered beside box names. */
enum first { FIRST_NOTHING, FIRST_BOX, FIRST_DIRECTORY, FIRST_WORDS };

static enum first first_of(const struct cmd *c)
{
    if (strchr(c->arguments, '|'))
        return FIRST_WORDS;
    if (strncmp(c->arguments, "NAME", 4) == 0 || strncmp(c->arguments, "[NAME]", 6) == 0)
        return FIRST_BOX;
    return strstr(c->arguments, "DIR") ? FIRST_DIRECTORY : FIRST_NOTHING;
}

static bool takes_directory(const struct cmd *c)
{
    return strstr(c->arguments, "DIR") != NULL;
}

/* "passwd|add|remove SLOT|list" -> "passwd add remove list": the first word of each alternative. */
static void add_words(const struct cmd *c, struct buf *to)
{
    bool in_word = true;
    for (const char *p = c->arguments; *p; p++) {
        if (*p == '|')
            buf_printf(to, " ");
        if (*p == '|' || *p == ' ')
            in_word = *p == '|';
        else if (in_word)
            buf_add(to, p, 1);
    }
}

typedef void (*each_option)(const struct cmd *c, const struct cmd_option *o, struct buf *to);

static void with_options(const struct cmd *c, each_option each, struct buf *to)
{
    for (size_t i = 0; cmd_option_at(c, i); i++)
        each(c, cmd_option_at(c, i), to);
}

static void with_commands(void (*each)(const struct cmd *c, struct buf *to), struct buf *to)
{
    for (size_t i = 0; cmd_table[i]; i++)
        if (!cmd_table[i]->hidden)
            each(cmd_table[i], to);
}

/* For single quotes of a shell; backslash: what stands for a quote in them. */
static void add_quoted(struct buf *to, const char *text, const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'')
            buf_printf(to, "%s", quote);
        else
            buf_add(to, text, 1);
    }
}

/* --- bash */

static void bash_name(const struct cmd *c, struct buf *to)
{
    buf_printf(to, " %s", c->name);
}

static void bash_option(const struct cmd *c, const struct cmd_option *o, struct buf *to)
{
    (void)c;
    buf_printf(to, " --%s%s", o->name, o->value && o->value[0] == '[' ? "=" : "");
}

static void bash_case(const struct cmd *c, struct buf *to)
{
    static const char *const words[] = {
        [FIRST_NOTHING] = "", [FIRST_BOX] = " words=$(_ag_box_names)", [FIRST_DIRECTORY] = ""
    };
    buf_printf(to, "    %s) options='", c->name);
    with_options(c, bash_option, to);
    buf_printf(to, "'");
    if (first_of(c) == FIRST_WORDS) {
        buf_printf(to, " words='");
        add_words(c, to);
        buf_printf(to, "'");
    } else {
        buf_printf(to, "%s", words[first_of(c)]);
    }
    buf_printf(to, "%s ;;\n", takes_directory(c) ? " directories=yes" : "");
}

static void bash(struct buf *to)
{
    buf_printf(to, "# bash completion for ag-box, made by `ag-box debug completion bash`\n"
                   "_ag_box_names() {\n"
                   "    local directory\n"
                   "    for directory in \"${AGBOX_STATE_DIR:-/var/lib/ag-box}\"/box/*/; do\n"
                   "        [ -d \"$directory\" ] && basename \"$directory\"\n"
                   "    done\n"
                   "}\n"
                   "_ag_box() {\n"
                   "    local word=${COMP_WORDS[COMP_CWORD]} options='' words='' directories=''\n"
                   "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                   "        mapfile -t COMPREPLY < <(compgen -W '--help --version");
    with_commands(bash_name, to);
    buf_printf(to, "' -- \"$word\")\n"
                   "        return\n"
                   "    fi\n"
                   "    case ${COMP_WORDS[1]} in\n");
    with_commands(bash_case, to);
    buf_printf(to, "    esac\n"
                   "    case $word in\n"
                   "    -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\") ;;\n"
                   "    *)\n"
                   "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\"\n"
                   "            [ -z \"$directories\" ] || compgen -d -- \"$word\")\n"
                   "        [ -z \"$directories\" ] || compopt -o filenames 2>/dev/null\n"
                   "        ;;\n"
                   "    esac\n"
                   "}\n"
                   "complete -F _ag_box ag-box\n");
}

/* --- zsh */

static void zsh_name(const struct cmd *c, struct buf *to)
{
    buf_printf(to, "        '%s:", c->name);
    add_quoted(to, c->summary, "'\\''");
    buf_printf(to, "'\n");
}

static void zsh_option(const struct cmd *c, const struct cmd_option *o, struct buf *to)
{
    (void)c;
    bool optional = o->value && o->value[0] == '[';
    buf_printf(to, " \\\n            '%s--%s%s[", o->kind == CMD_LIST ? "*" : "", o->name,
               !o->value  ? ""
               : optional ? "=-"
                          : "=");
    for (const char *p = o->help; *p; p++) { /* brackets and colons mean something here */
        if (*p == '\'')
            buf_printf(to, "'\\''");
        else
            buf_printf(to, strchr("[]:", *p) ? "\\%c" : "%c", *p);
    }
    buf_printf(to, "]%s%s%s'", o->value ? optional ? "::" : ":" : "", o->value && !optional ? o->value : "",
               o->value ? ":" : "");
}

static void zsh_case(const struct cmd *c, struct buf *to)
{
    buf_printf(to, "    %s)\n        _arguments", c->name);
    with_options(c, zsh_option, to);
    enum first first = first_of(c);
    if (first == FIRST_BOX) {
        buf_printf(to, " \\\n            '1:box:_ag_box_names'");
    } else if (first == FIRST_WORDS) {
        buf_printf(to, " \\\n            '1:verb:(");
        add_words(c, to);
        buf_printf(to, ")'");
    }
    if (takes_directory(c))
        buf_printf(to, " \\\n            '*:directory:_files -/'");
    buf_printf(to, "\n        ;;\n");
}

static void zsh(struct buf *to)
{
    buf_printf(to, "#compdef ag-box\n"
                   "# zsh completion for ag-box, made by `ag-box debug completion zsh`\n"
                   "_ag_box_names() {\n"
                   "    local -a names\n"
                   "    names=(${AGBOX_STATE_DIR:-/var/lib/ag-box}/box/*(N/:t))\n"
                   "    compadd -a names\n"
                   "}\n"
                   "_ag_box() {\n"
                   "    local -a commands\n"
                   "    commands=(\n");
    with_commands(zsh_name, to);
    buf_printf(to, "    )\n"
                   "    if ((CURRENT == 2)); then\n"
                   "        _describe command commands\n"
                   "        return\n"
                   "    fi\n"
                   "    shift words\n"
                   "    ((CURRENT--))\n"
                   "    case $words[1] in\n");
    with_commands(zsh_case, to);
    buf_printf(to, "    esac\n"
                   "}\n"
                   "_ag_box \"$@\"\n");
}

/* --- fish */

static void fish_option(const struct cmd *c, const struct cmd_option *o, struct buf *to)
{
    buf_printf(to, "complete -c ag-box -n '__fish_seen_subcommand_from %s' -l %s%s -d '", c->name, o->name,
               o->value && o->value[0] != '[' ? " -x" : "");
    add_quoted(to, o->help, "\\'");
    buf_printf(to, "'\n");
}

static void fish_command(const struct cmd *c, struct buf *to)
{
    buf_printf(to, "complete -c ag-box -f -n __fish_use_subcommand -a %s -d '", c->name);
    add_quoted(to, c->summary, "\\'");
    buf_printf(to, "'\n");
    with_options(c, fish_option, to);
    enum first first = first_of(c);
    if (first != FIRST_NOTHING && first != FIRST_DIRECTORY) {
        buf_printf(to, "complete -c ag-box -f -n '__fish_seen_subcommand_from %s' -a '", c->name);
        if (first == FIRST_BOX)
            buf_printf(to, "(__ag_box_names)");
        else
            add_words(c, to);
        buf_printf(to, "'\n");
    }
    if (takes_directory(c))
        buf_printf(to, "complete -c ag-box -f -n '__fish_seen_subcommand_from %s' -a '(__fish_complete_directories)'\n",
                   c->name);
}

static void fish(struct buf *to)
{
    buf_printf(to, "# fish completion for ag-box, made by `ag-box debug completion fish`\n"
                   "function __ag_box_names\n"
                   "    set -l state /var/lib/ag-box\n"
                   "    set -q AGBOX_STATE_DIR; and set state $AGBOX_STATE_DIR\n"
                   "    for directory in $state/box/*/\n"
                   "        basename $directory\n"
                   "    end\n"
                   "end\n"
                   "complete -c ag-box -f\n");
    with_commands(fish_command, to);
}

int completion_script(const char *shell, struct buf *to, struct error *e)
{
    static const struct {
        const char *name;
        void (*make)(struct buf *to);
    } shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].make(to);
            return 0;
        }
    }
    return error_say(e, ERROR_USAGE, -EINVAL, "no completion for '%s': bash, zsh or fish", shell);
}
