/* SPDX-License-Identifier: MIT */
#include "cli/completion.h"

#include "cli/cmd.h"
#include "cli/stack.h"
#include "index/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What a command's first argument is; where DIR comes later, directories are offered there. */
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

/* Options whose values can be offered: by the shell's function of this name, and its argument. */
static const struct completed {
    const char *option, *function, *argument;
} completed[] = {
    { "node", "nodes", "" }, { "snapshot", "listed", "" }, { "from", "listed", "" }, { "fork", "listed", " fork" }
};
#define COMPLETED (sizeof(completed) / sizeof(completed[0]))

static const struct completed *completed_find(const struct cmd_option *o)
{
    for (size_t i = 0; i < COMPLETED; i++)
        if (strcmp(o->name, completed[i].option) == 0)
            return &completed[i];
    return NULL;
}

/* For sed: the names in a nodes file; of what `ls --snapshots` has noted in a file, what begins as said before. Nobody
 * else is asked, and what is no name is not offered. */
#define NODES "s/^[[:blank:]]*\\([A-Za-z0-9][A-Za-z0-9._-]*\\)[[:blank:]].*/\\1/p"
#define LISTED "[A-Za-z0-9:._-]*\\)[[:blank:]].*/\\1/p"
#define STATE "${AGBOX_STATE_DIR:-/var/lib/ag-box}"
#define CONFIG "${AGBOX_CONFIG_DIR:-/root/.config/box}"

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

static void add_valued(const struct cmd *c, const struct cmd_option *o, struct buf *to)
{
    (void)c;
    if (o->value && o->value[0] != '[')
        buf_printf(to, " --%s", o->name);
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
        [FIRST_NOTHING] = "", [FIRST_BOX] = " words=$(_ag_box_names)", [FIRST_DIRECTORY] = " first=0"
    };
    buf_printf(to, "    %s) options='", c->name);
    with_options(c, bash_option, to);
    buf_printf(to, "' valued='");
    with_options(c, add_valued, to);
    buf_printf(to, " '");
    if (first_of(c) == FIRST_WORDS) {
        buf_printf(to, " words='");
        add_words(c, to);
        buf_printf(to, "'");
    } else {
        buf_printf(to, "%s%s", words[first_of(c)], c->globals ? "\" " TEXT_GLOBALS "\"" : "");
    }
    buf_printf(to, "%s ;;\n", takes_directory(c) ? " directories=yes" : "");
}

static void bash_functions(struct buf *to)
{
    buf_printf(to, "%s",
               "# bash completion for ag-box, made by `ag-box debug completion bash`\n"
               "_ag_box_names() {\n"
               "    local directory\n"
               "    for directory in \"" STATE "\"/box/*/; do\n"
               "        [ -d \"$directory\" ] && [ ! -e \"$directory/" STACK_DROPPED "\" ] && basename \"$directory\"\n"
               "    done\n"
               "}\n"
               "_ag_box_nodes() { sed -n '" NODES "' \"" CONFIG "/nodes\" 2>/dev/null; }\n"
               "_ag_box_listed() { # of the box that is named in line; what begins with $1\n"
               "    local name file\n"
               "    for name in \"${line[@]:2}\"; do\n"
               "        file=" STATE "/box/$name/" STACK_LISTED "\n"
               "        [ ! -f \"$file\" ] || sed -n \"s/^\\(${1-}" LISTED "\" \"$file\" 2>/dev/null\n"
               "    done\n"
               "}\n");
}

/* Behind the command's own case: what is offered for the last word. */
static void bash_offer(struct buf *to)
{
    buf_printf(to,
               "    esac\n"
               "    for piece in \"${COMP_WORDS[@]:0:COMP_CWORD + 1}\"; do # bash has cut words at : and =\n"
               "        if [[ ${#line[@]} -gt 2 && ( $piece == [:=]* || ${line[-1]} == *[:=] ) ]]; then\n"
               "            line[-1]+=$piece\n"
               "        else\n"
               "            line+=(\"$piece\")\n"
               "        fi\n"
               "    done\n"
               "    for piece in \"${line[@]:2:${#line[@]} - 3}\"; do # arguments so far; an option's value is none\n"
               "        if [ -n \"$option\" ]; then\n"
               "            option=''\n"
               "        elif [ \"$piece\" = -- ]; then\n"
               "            return 0\n"
               "        elif [[ $piece != -* ]]; then\n"
               "            ((count += 1))\n"
               "        elif [[ $valued == *\" $piece \"* ]]; then\n"
               "            option=$piece\n"
               "        fi\n"
               "    done\n"
               "    piece=${line[-1]}\n"
               "    [[ $word != [:=] ]] || word=''\n"
               "    before=${piece%%\"$word\"} # what stands there already of the word that is completed\n"
               "    if [ -z \"$option\" ] && [[ $piece == --*=* ]]; then\n"
               "        option=${piece%%%%=*} before=${before#*=} piece=${piece#*=}\n"
               "    fi\n"
               "    case $option:$piece in\n");
    for (size_t i = 0; i < COMPLETED; i++)
        buf_printf(to, "    --%s:*) words=$(_ag_box_%s%s) count=0 first=1 ;;\n", completed[i].option,
                   completed[i].function, completed[i].argument);
    buf_printf(to, "    --*) return 0 ;;\n"
                   "    :-*) words=$options count=0 first=1 ;;\n"
                   "    esac\n"
                   "    if [ \"$count\" = 0 ] && [ \"$first\" = 1 ]; then\n"
                   "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$piece\")\n"
                   "        [ -z \"$option\" ] || compopt -o nosort 2>/dev/null\n"
                   "    elif [ \"$count\" = \"$first\" ] && [ -n \"$directories\" ]; then\n"
                   "        mapfile -t COMPREPLY < <(compgen -d -- \"$piece\")\n"
                   "        compopt -o filenames 2>/dev/null\n"
                   "    fi\n"
                   "    COMPREPLY=(\"${COMPREPLY[@]#\"$before\"}\")\n"
                   "    return 0\n"
                   "}\n"
                   "complete -F _ag_box ag-box\n");
}

static void bash(struct buf *to)
{
    bash_functions(to);
    buf_printf(to,
               "_ag_box() {\n"
               "    local word=${COMP_WORDS[COMP_CWORD]} options='' valued='' words='' directories='' first=1 count=0\n"
               "    local line=() piece option='' before\n"
               "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
               "        mapfile -t COMPREPLY < <(compgen -W '--help --version");
    with_commands(bash_name, to);
    buf_printf(to, "' -- \"$word\")\n"
                   "        return\n"
                   "    fi\n"
                   "    case ${COMP_WORDS[1]} in\n");
    with_commands(bash_case, to);
    bash_offer(to);
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
    buf_printf(to, "]%s%s%s", o->value ? optional ? "::" : ":" : "", o->value && !optional ? o->value : "",
               o->value ? ":" : "");
    const struct completed *known = completed_find(o);
    if (known)
        buf_printf(to, " _ag_box_%s%s", known->function, known->argument);
    buf_printf(to, "'");
}

static void zsh_case(const struct cmd *c, struct buf *to)
{
    buf_printf(to, "    %s)\n        _arguments", c->name);
    with_options(c, zsh_option, to);
    enum first first = first_of(c);
    if (first == FIRST_BOX) {
        buf_printf(to, " \\\n            '1:box: _ag_box_names%s'", c->globals ? " " TEXT_GLOBALS : "");
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
    buf_printf(to, "%s",
               "#compdef ag-box\n"
               "# zsh completion for ag-box, made by `ag-box debug completion zsh`\n"
               "_ag_box_names_here() { [[ ! -e $REPLY/" STACK_DROPPED " ]]; }\n"
               "_ag_box_names() {\n"
               "    local -a names\n"
               "    names=(" STATE "/box/*(N/+_ag_box_names_here:t))\n"
               "    names+=($argv)\n"
               "    compadd -a names\n"
               "}\n"
               "_ag_box_nodes() {\n"
               "    local -a names\n"
               "    names=(${(f)\"$(sed -n '" NODES "' \"" CONFIG "/nodes\" 2>/dev/null)\"})\n"
               "    compadd -a names\n"
               "}\n"
               "_ag_box_listed() { # of the box that is named in words; what begins with $1\n"
               "    local name file\n"
               "    local -a names\n"
               "    for name in $words; do\n"
               "        file=" STATE "/box/$name/" STACK_LISTED "\n"
               "        [[ -f $file ]] || continue\n"
               "        names+=(${(f)\"$(sed -n \"s/^\\(${1-}" LISTED "\" \"$file\" 2>/dev/null)\"})\n"
               "    done\n"
               "    compadd -V listed -a names\n"
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
    const struct completed *known = completed_find(o);
    buf_printf(to, "complete -c ag-box -n '__fish_seen_subcommand_from %s' -l %s%s", c->name, o->name,
               o->value && o->value[0] != '[' ? " -x" : "");
    if (known)
        buf_printf(to, " -k -a '(__ag_box_%s%s)'", known->function, known->argument);
    buf_printf(to, " -d '");
    add_quoted(to, o->help, "\\'");
    buf_printf(to, "'\n");
}

/* What is offered as the argument that has so many others before it, up to the closing quote. */
static void fish_argument(const struct cmd *c, unsigned before, struct buf *to)
{
    buf_printf(to, "complete -c ag-box -f -n '__ag_box_at %s %u", c->name, before);
    with_options(c, add_valued, to);
    buf_printf(to, "' -a '");
}

static void fish_command(const struct cmd *c, struct buf *to)
{
    buf_printf(to, "complete -c ag-box -f -n __fish_use_subcommand -a %s -d '", c->name);
    add_quoted(to, c->summary, "\\'");
    buf_printf(to, "'\n");
    with_options(c, fish_option, to);
    enum first first = first_of(c);
    if (first != FIRST_NOTHING && first != FIRST_DIRECTORY) {
        fish_argument(c, 0, to);
        if (first == FIRST_BOX)
            buf_printf(to, "(__ag_box_names)%s", c->globals ? " " TEXT_GLOBALS : "");
        else
            add_words(c, to);
        buf_printf(to, "'\n");
    }
    if (takes_directory(c)) {
        fish_argument(c, first == FIRST_DIRECTORY ? 0 : 1, to);
        buf_printf(to, "(__fish_complete_directories)'\n");
    }
}

static void fish(struct buf *to)
{
    buf_printf(to, "%s",
               "# fish completion for ag-box, made by `ag-box debug completion fish`\n"
               "function __ag_box_state\n"
               "    set -q AGBOX_STATE_DIR; and echo $AGBOX_STATE_DIR; or echo /var/lib/ag-box\n"
               "end\n"
               "function __ag_box_nodes\n"
               "    set -l config /root/.config/box\n"
               "    set -q AGBOX_CONFIG_DIR; and set config $AGBOX_CONFIG_DIR\n"
               "    sed -n '" NODES "' $config/nodes 2>/dev/null\n"
               "end\n"
               "function __ag_box_listed # of the box that is named before; what begins with the argument\n"
               "    for name in (commandline -opc)\n"
               "        set -l file (__ag_box_state)/box/$name/" STACK_LISTED "\n"
               "        test -f $file; and sed -n \"s/^\\(\"\"$argv\"\"" LISTED "\" $file 2>/dev/null\n"
               "    end\n"
               "end\n"
               "function __ag_box_names\n"
               "    for directory in (__ag_box_state)/box/*/\n"
               "        test -e $directory/" STACK_DROPPED "; or basename $directory\n"
               "    end\n"
               "end\n"
               "# __ag_box_at COMMAND COUNT OPTION...: COUNT arguments precede; the OPTIONs take a value\n"
               "function __ag_box_at\n"
               "    set -l words (commandline -opc)\n"
               "    test \"$words[2]\" = $argv[1]; or return 1\n"
               "    set -l count 0\n"
               "    set -l value no\n"
               "    for word in $words[3..-1]\n"
               "        if test $value = yes\n"
               "            set value no\n"
               "        else if test \"$word\" = --\n"
               "            return 1\n"
               "        else if contains -- $word $argv[3..-1]\n"
               "            set value yes\n"
               "        else if not string match -q -- '-*' $word\n"
               "            set count (math $count + 1)\n"
               "        end\n"
               "    end\n"
               "    test $value = no -a $count = $argv[2]\n"
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
