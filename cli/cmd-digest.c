/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "index/base/mem.h"
#include "index/digest.h"

#include <stdio.h>
#include <string.h>

static int run(struct cmd_context *c, struct error *e)
{
    const struct cmd_list *list = &c->options.exclude;
    struct bytes rules[CMD_LIST_MAX];
    for (size_t i = 0; i < list->count; i++)
        rules[i] = (struct bytes){ (const uint8_t *)list->items[i], strlen(list->items[i]) };
    struct exclude *x = NULL;
    int r = list->count ? exclude_new(rules, list->count, &x, e) : 0;
    if (r < 0)
        return r;
    struct digest d;
    char text[65];
    r = digest_directory(c->arguments[0], x, c->options.dump && !c->options.json ? stdout : NULL, &d, e);
    exclude_free(x);
    if (r < 0)
        return error_prefix(e, "digest %s", c->arguments[0]), r;
    digest_text(&d, text);
    if (!c->options.dump)
        ui_line(c->ui, "%s", text);
    ui_field_text(c->ui, "digest", text);
    ui_field_integer(c->ui, "entries", (int64_t)d.entries);
    ui_field_integer(c->ui, "bytes", (int64_t)d.bytes);
    ui_field_integer(c->ui, "sockets", (int64_t)d.sockets);
    return 0;
}

const struct cmd cmd_digest = {
    .name = "digest",
    .summary = "print one digest of a whole directory tree",
    .arguments = "DIR",
    .details =
        "Equal digests mean equal trees: names, types, modes, owners, times, extended attributes, ACLs, hard links\n"
        "and content. The last line of --dump's text is the tree's last entry; its SHA-256 is the digest.",
    .arguments_min = 1,
    .arguments_max = 1,
    .plain = true,
    .options = { { "dump", CMD_FLAG, CMD_OPTION(dump), NULL, "print the text that is hashed" },
                 { "exclude", CMD_LIST, CMD_OPTION(exclude), "RULE", "leave out what this gitignore rule covers" } },
    .run = run,
};
