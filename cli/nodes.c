/* SPDX-License-Identifier: MIT */
#include "cli/nodes.h"

#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BLANKS " \t\r"

/* ssh takes user@host, host names, addresses and names of its own configuration; never what it would read as an option.
 */
static bool is_alias(const char *s)
{
    if (*s == '-' || strlen(s) >= sizeof(((struct nodes_entry *)NULL)->alias))
        return false;
    for (; *s; s++)
        if (*s <= ' ' || *s > '~')
            return false;
    return true;
}

static const struct nodes_entry *named(const struct nodes *n, const char *name)
{
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->entries[i].name, name) == 0)
            return &n->entries[i];
    return NULL;
}

static int check(const struct nodes *n, const char *name, const char *alias, const char *self, struct error *e)
{
    bool local = strcmp(alias, "local") == 0, ours = strcmp(name, self) == 0;
    if (!text_is_name(name))
        return error_say(e, ERROR_USAGE, -EINVAL, "'%s' is not a name ([A-Za-z0-9][A-Za-z0-9._-]{0,62})", name);
    if (!is_alias(alias))
        return error_say(e, ERROR_USAGE, -EINVAL, "'%s' is nothing that ssh could be given", alias);
    if (named(n, name))
        return error_say(e, ERROR_USAGE, -EINVAL, "node %s has a line already", name);
    if (local && !ours) {
        error_say(e, ERROR_USAGE, -EINVAL, "%s is not this node: it is %s", name, self);
        return error_hint(e, "this node's name is BOX_NODE in env; other nodes have an ssh alias here");
    }
    if (ours && !local) {
        error_say(e, ERROR_USAGE, -EINVAL, "%s is this node: its alias is the word local", name);
        return error_hint(e, "write `%s local`", name);
    }
    if (n->count == NODES_MAX)
        return error_say(e, ERROR_USAGE, -E2BIG, "more than %d nodes", NODES_MAX);
    return 0;
}

static int parse_line(char *line, const char *self, struct nodes *n, struct error *e)
{
    line[strcspn(line, "#")] = '\0';
    char *rest = NULL, *name = strtok_r(line, BLANKS, &rest);
    if (!name)
        return 0;
    char *alias = strtok_r(NULL, BLANKS, &rest);
    if (!alias || strtok_r(NULL, BLANKS, &rest))
        return error_say(e, ERROR_USAGE, -EINVAL, "not a line of two words, NAME ALIAS");
    int r = check(n, name, alias, self, e);
    if (r < 0)
        return r;
    struct nodes_entry *to = &n->entries[n->count++];
    snprintf(to->name, sizeof(to->name), "%s", name);
    snprintf(to->alias, sizeof(to->alias), "%s", strcmp(alias, "local") == 0 ? "" : alias);
    return 0;
}

int nodes_parse(struct bytes text, const char *where, const char *self, struct nodes *ret, struct error *e)
{
    _cleanup_free_ char *copy = mem_copy(text.data, text.len);
    _cleanup_free_ struct nodes *n = mem_new(1, sizeof(*n));
    unsigned number = 0;
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n"));) {
        number++;
        int r = parse_line(line, self, n, e);
        if (r < 0)
            return error_prefix(e, "%s:%u", where, number), r;
    }
    *ret = *n;
    return 0;
}

bool nodes_alone(const struct nodes *n)
{
    for (size_t i = 0; i < n->count; i++)
        if (n->entries[i].alias[0])
            return false;
    return true;
}

int nodes_load(const struct config *c, struct nodes *ret, struct error *e)
{
    _cleanup_free_ char *path = mem_printf("%s/nodes", c->config_dir);
    _cleanup_(buf_release) struct buf text = { 0 };
    int r = config_read(c->config_dir, "nodes", &text, e);
    return r < 0 ? r : nodes_parse(buf_bytes(&text), path, c->node, ret, e);
}

int nodes_find(const struct nodes *n, const struct config *c, const char *name, const struct nodes_entry **ret,
               struct error *e)
{
    const struct nodes_entry *found = named(n, name);
    if (found) {
        *ret = found;
        return 0;
    }
    char known[128] = "";
    for (size_t i = 0, at = 0; i < n->count && at < sizeof(known); i++)
        at += (size_t)snprintf(known + at, sizeof(known) - at, " %s", n->entries[i].name);
    error_say(e, ERROR_USAGE, -EINVAL, "no node %s in %s/nodes (this node is %s)", name, c->config_dir, c->node);
    error_hint(e, "%s%s; for one more: a line `NAME ALIAS`, the alias as ssh takes it",
               known[0] ? "there are:" : "the file names no nodes", known);
    return -EINVAL;
}

void nodes_say(const struct config *c, const char *node, const char *command, bool terminal, char to[512])
{
    struct nodes n;
    const struct nodes_entry *there = nodes_load(c, &n, NULL) == 0 ? named(&n, node) : NULL;
    if (there && there->alias[0])
        snprintf(to, 512, "ssh %s%s ag-box %s", terminal ? "-t " : "", there->alias, command);
    else
        snprintf(to, 512, "on %s: ag-box %s", node, command);
}
