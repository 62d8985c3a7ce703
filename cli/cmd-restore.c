/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/filling.h"
#include "cli/visit.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int refuse_entries(const char *path, struct error *e)
{
    DIR *d = opendir(path);
    if (!d)
        return errno == ENOENT ? 0 : error_set(e, ERROR_USAGE, -errno, "%s", path);
    unsigned entries = 0;
    while (entries <= 2 && readdir(d))
        entries++;
    closedir(d);
    if (entries <= 2)
        return 0;
    error_say(e, ERROR_USAGE, -ENOTEMPTY, "%s is not empty", path);
    return error_hint(e, "restore writes into an empty directory, or makes it");
}

/* Globals are a home without a project. */
static const char *part_of(const struct cmd_context *c)
{
    return c->options.home || strcmp(c->arguments[0], TEXT_GLOBALS) == 0 ? "home" : "project";
}

static void tell(struct cmd_context *c, const struct visit *v, const struct snapshot *n, const struct fill_stats *stats)
{
    char id[SNAPSHOT_ID_TEXT], size[16], time[32];
    const char *path = c->arguments[1];
    snapshot_id_text(&v->snapshot, id);
    text_size(size, stats->bytes);
    text_time(time, n->time_ns);
    ui_line(c->ui, "%s: %s, %s, in %s: the %s of %s as of %s (snapshot %.8s by %s)", v->box,
            TEXT_COUNT(stats->files, "file"), size, path, part_of(c), v->box, time, id, n->node);
    ui_field_text(c->ui, "snapshot", id);
    ui_field_integer(c->ui, "files", (int64_t)stats->files);
    ui_field_integer(c->ui, "directories", (int64_t)stats->directories);
    ui_field_integer(c->ui, "bytes", (int64_t)stats->bytes);
    ui_field_path(c->ui, "path", path);
}

static int fill_directory(struct cmd_context *c, struct stack *s, const struct visit *v, struct error *e)
{
    const char *path = c->arguments[1];
    _cleanup_(view_close) struct view view = { 0 };
    struct fill_stats stats = { 0 };
    uint64_t lost = 0;
    int r = stack_content(s, e);
    if (r == 0)
        r = view_open_id(s, &v->snapshot, &view, e);
    if (r < 0)
        return r;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_set(e, ERROR_USAGE, -errno, "make %s", path);
    _cleanup_close_ int to = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0)
        return error_set(e, ERROR_USAGE, -errno, "open %s", path);
    r = filling_run(s, &view, part_of(c), to, false, &lost, &stats, e);
    if (r < 0) {
        error_prefix(e, "restore %s", v->box);
        return error_hint(e, "%s holds what was written until then; remove it before you try again", path);
    }
    tell(c, v, &view.snapshot, &stats);
    ui_field_integer(c->ui, "lost", (int64_t)lost);
    if (lost == 0)
        return 0;
    error_say(e, ERROR_DAMAGED, -EIO, "restore %s: damaged in the store, and left out: %s", v->box,
              TEXT_COUNT(lost, "file"));
    return error_hint(e, "an older snapshot may have them: ag-box ls --snapshots %s", v->box);
}

static int run(struct cmd_context *c, struct error *e)
{
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    _cleanup_(visit_release) struct visit v = VISIT_NONE;
    s.admits_globals = true;
    int r = refuse_entries(c->arguments[1], e);
    if (r == 0)
        r = visit_begin(&s, c->config, c->ui, c->arguments[0], c->options.snapshot, NULL, &v, e);
    if (r < 0)
        return r;
    r = fill_directory(c, &s, &v, e);
    struct error why = { 0 };
    if (visit_end(&s, &v, &why) < 0)
        ui_warn(c->ui, "the hold of this restore stays until the next command can remove it: %s", why.text);
    return r;
}

const struct cmd cmd_restore = {
    .name = "restore",
    .summary = "write a snapshot's project or home into a directory",
    .arguments = "NAME DIR",
    .details =
        "DIR is absent or empty. Everything a file has is restored: owners, modes, times, links, holes, xattrs.\n"
        "NAME may be globals.",
    .arguments_min = 2,
    .arguments_max = 2,
    .options = { { "snapshot", CMD_TEXT, CMD_OPTION(snapshot), "ID",
                   "of this snapshot or fork:NODE-EPOCH, not the newest" },
                 { "home", CMD_FLAG, CMD_OPTION(home), NULL, "the home, not the project" } },
    .run = run,
};
