/* SPDX-License-Identifier: MIT */
#include "cli/boxes.h"
#include "cli/commands.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/base/text.h"
#include "index/random.h"
#include "sync/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

#define SHOWN 20
#define READ_TIMEOUT_S 60
#define PREFIX "check." /* of a directory in the state directory */

/* What is read goes through a cache of its own, which begins empty: so that it is the store that is checked. */
struct checking {
    struct cmd_context *context;
    struct stack stack;
    char directory[32];
    int lock; /* of the directory */
    json_t *findings;
    size_t shown;
};

static void on_found(void *arg, const struct check_finding *f)
{
    struct checking *k = arg;
    struct ui *ui = k->context->ui;
    char id[SNAPSHOT_ID_TEXT] = "";
    _cleanup_(buf_release) struct buf path = { 0 };
    json_t *o = json_pack("{s:s,s:s,s:s}", "box", k->stack.name, "object", f->object, "what", f->what);
    if (f->snapshot) {
        snapshot_id_text(f->snapshot, id);
        json_object_set_new(o, "snapshot", json_string(id));
    }
    if (f->path) {
        ui_path_into(o, "path", f->path, strlen(f->path));
        text_escape(&path, f->path, strlen(f->path));
    }
    if (f->entries)
        json_object_set_new(o, "entries", json_integer((json_int_t)f->entries));
    json_array_append_new(k->findings, o);
    if (k->shown++ >= SHOWN)
        return;
    if (f->entries)
        ui_line(ui, "%s: %s: snapshot %.8s lacks %s%s%s", f->object, f->what, id, TEXT_COUNT(f->entries, "entry"),
                f->path ? ", up to " : "", f->path ? buf_string(&path) : "");
    else
        ui_line(ui, "%s: %s%s%s%s%s", f->object, f->what, id[0] ? ": snapshot " : "", id[0] ? (id[8] = '\0', id) : "",
                f->path ? ", " : "", f->path ? buf_string(&path) : "");
}

/* What checks that were killed have left: nobody locks it. */
static void sweep(struct stack *s)
{
    int fd = openat(s->state_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *n; d && (n = readdir(d));) {
        if (strncmp(n->d_name, PREFIX, strlen(PREFIX)) != 0)
            continue;
        _cleanup_close_ int old = openat(fd, n->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (old >= 0 && flock(old, LOCK_EX | LOCK_NB) == 0)
            remove_tree(fd, n->d_name, NULL);
    }
    if (d)
        closedir(d);
}

static int open_source(struct checking *k, struct error *e)
{
    struct stack *s = &k->stack;
    sweep(s);
    memcpy(k->directory, PREFIX, strlen(PREFIX));
    random_hex(k->directory + strlen(PREFIX), 8);
    _cleanup_free_ char *path = mem_printf("%s/%s", s->config->state_dir, k->directory);
    int r = cache_open(path, s->name, 0, &s->cache, e);
    k->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (k->lock >= 0)
        flock(k->lock, LOCK_EX | LOCK_NB); /* a cache that is taken away begins again, empty */
    struct fetch_config c = { .store = s->store, .seal = s->seal, .cache = s->cache, .timeout_s = READ_TIMEOUT_S };
    return r < 0 ? r : fetch_new(&c, &s->fetch, e);
}

static void close_source(struct checking *k)
{
    struct stack *s = &k->stack;
    fetch_free(mem_steal(s->fetch));
    cache_close(mem_steal(s->cache));
    mem_closep(&k->lock);
    if (k->directory[0] && s->state_dir >= 0)
        remove_tree(s->state_dir, k->directory, NULL);
}

/* "" or a percentage: "5%". */
static int parse_percent(const char *text, unsigned *ret, struct error *e)
{
    uint64_t n = 100;
    char digits[4] = "";
    size_t len = text ? strlen(text) : 0;
    *ret = text ? 100 : 0;
    if (len == 0)
        return 0;
    if (len > 4 || text[len - 1] != '%')
        return error_say(e, ERROR_USAGE, -EINVAL, "--read-data=%s: must be 1%% to 100%%", text);
    memcpy(digits, text, len - 1);
    if (text_parse_u64(digits, 100, &n) < 0 || n == 0)
        return error_say(e, ERROR_USAGE, -EINVAL, "--read-data=%s: must be 1%% to 100%%", text);
    *ret = (unsigned)n;
    return 0;
}

static int open_box(struct checking *k, const char *name, struct error *e)
{
    struct cmd_context *c = k->context;
    k->stack.admits_globals = true;
    int r = stack_open(&k->stack, c->config, c->ui, e);
    if (r == 0)
        r = stack_store(&k->stack, e);
    if (r == 0)
        r = stack_peek(&k->stack, name, e);
    return r < 0 ? r : open_source(k, e);
}

static int check_one(struct cmd_context *c, const char *name, json_t *boxes, json_t *findings, size_t *damaged,
                     struct error *e)
{
    struct checking k = { .context = c, .stack = STACK_NONE, .lock = -1, .findings = findings };
    struct check_result done;
    unsigned percent = 0;
    int r = parse_percent(c->options.read_data, &percent, e);
    if (r == 0)
        r = open_box(&k, name, e);
    if (r == 0) {
        struct check_config f = { .store = k.stack.store,
                                  .seal = k.stack.seal,
                                  .source = fetch_source(k.stack.fetch),
                                  .read_percent = percent,
                                  .found = on_found,
                                  .arg = &k };
        r = check_run(&f, &done, e);
    }
    close_source(&k);
    stack_close(&k.stack);
    if (r < 0)
        return r;
    if (done.findings > SHOWN)
        ui_line(c->ui, "… and %zu more; --json has them all", done.findings - SHOWN);
    ui_line(c->ui, "%s: %s, %s (%zu read whole), %s, %s: %s", name, TEXT_COUNT(done.snapshots, "snapshot"),
            TEXT_COUNT(done.packs, "pack"), done.packs_read, TEXT_COUNT(done.pages, "page"),
            TEXT_COUNT(done.files, "file"), done.findings ? "DAMAGED" : "all is well");
    json_array_append_new(boxes, json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I}", "name", name, "snapshots",
                                           (json_int_t)done.snapshots, "packs", (json_int_t)done.packs, "packs_read",
                                           (json_int_t)done.packs_read, "pages", (json_int_t)done.pages, "files",
                                           (json_int_t)done.files, "findings", (json_int_t)done.findings));
    *damaged += done.findings;
    return 0;
}

static int check_all(struct cmd_context *c, json_t *boxes, json_t *findings, size_t *damaged, struct error *e)
{
    struct store_box *all = NULL;
    size_t count = 0;
    struct stack s = STACK_NONE;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_store(&s, e);
    if (r == 0)
        r = boxes_list(&s, BOXES_GLOBALS, &all, &count, e);
    stack_close(&s);
    for (size_t i = 0; r == 0 && i < count; i++) {
        struct error why = { 0 };
        r = check_one(c, all[i].name, boxes, findings, damaged, &why);
        if (r < 0 && why.kind == ERROR_DAMAGED) {
            ui_line(c->ui, "%s: %s", all[i].name, why.text);
            json_array_append_new(findings, json_pack("{s:s,s:s}", "box", all[i].name, "what", why.text));
            *damaged += 1;
            r = 0;
        }
        if (r < 0)
            error_pass(e, &why);
    }
    boxes_free(all, count);
    return r;
}

static int run(struct cmd_context *c, struct error *e)
{
    json_t *boxes = json_array(), *findings = json_array();
    size_t damaged = 0;
    ui_field(c->ui, "boxes", boxes);
    ui_field(c->ui, "findings", findings);
    int r = c->argument_count == 1 ? check_one(c, c->arguments[0], boxes, findings, &damaged, e)
                                   : check_all(c, boxes, findings, &damaged, e);
    if (r < 0 || damaged == 0)
        return r;
    error_say(e, ERROR_DAMAGED, -EBADMSG, "the store has damage: %s", TEXT_COUNT(damaged, "finding"));
    return error_hint(e,
                      "ag-box restore brings what is whole; a node that still has a damaged file can be parked again"),
           -EBADMSG;
}

const struct cmd cmd_check = {
    .name = "check",
    .summary = "is everything there that the snapshots need?",
    .arguments = "[NAME]",
    .details =
        "Opens every snapshot, page and table of contents, and looks for every pack. With --read-data all content,\n"
        "or N% of the packs chosen at random, is read and hashed again. Without NAME: every box, and globals.",
    .arguments_max = 1,
    .globals = true,
    .options = { { "read-data", CMD_TEXT, CMD_OPTION(read_data), "[N%]", "read content, too" } },
    .run = run,
};
