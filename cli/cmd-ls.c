/* SPDX-License-Identifier: MIT */
#include "cli/box.h"
#include "cli/boxes.h"
#include "cli/commands.h"
#include "cli/mounts.h"
#include "cli/project.h"
#include "cli/strays.h"
#include "index/base/clock.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "sync/marking.h"

#include <errno.h>
#include <stdio.h>

#define STALE_NS (14 * 24 * 3600 * INT64_C(1000000000)) /* from this age on a hold is called stale */

static void age_text(char to[16], int64_t ns)
{
    text_duration(to, ns > 0 ? (uint64_t)ns / 1000000 : 0);
}

struct here {
    const char *state;
    bool runs;
};

static struct here look_here(struct cmd_context *c, const char *name)
{
    _cleanup_(stack_close) struct stack look = STACK_NONE;
    look.config = c->config;
    if (stack_peek(&look, name, NULL) < 0)
        return (struct here){ box_state_name(BOX_NONE), false };
    return (struct here){ mounts_state_name(&look), look.journal && box_running(&look) };
}

static json_t *describe_box(struct cmd_context *c, const struct store_box *b)
{
    struct here here = look_here(c, b->name);
    if (b->damaged && b->head.seq == 0)
        return json_pack("{s:s,s:s,s:s,s:s,s:b}", "name", b->name, "state", "damaged", "error", b->why.text, "here",
                         here.state, "runs", here.runs);
    json_t *o = json_pack("{s:s,s:s,s:s,s:I,s:I,s:b,s:s,s:b}", "name", b->name, "state", head_state_name(b->head.state),
                          "node", b->head.node, "epoch", (json_int_t)b->head.epoch, "lease_age_s",
                          (json_int_t)(b->head.age_ns / 1000000000), "expired",
                          b->head.state == HEAD_HELD && head_expired(&b->head), "here", here.state, "runs", here.runs);
    ui_path_into(o, "path", b->head.path, strlen(b->head.path));
    if (b->head.pin[0])
        json_object_set_new(o, "pin", json_string(b->head.pin));
    char id[SNAPSHOT_ID_TEXT], time[32];
    snapshot_id_text(&b->head.root, id);
    json_object_set_new(o, "snapshot", json_string(id));
    if (!b->root) {
        json_object_set_new(o, "error", json_string(b->why.text));
        return o;
    }
    text_time(time, b->root->time_ns);
    json_object_set_new(o, "time", json_string(time));
    json_object_set_new(o, "age_s", json_integer((clock_wall_ns() - b->root->time_ns) / 1000000000));
    json_object_set_new(o, "bytes", json_integer((json_int_t)b->root->bytes));
    json_object_set_new(o, "files", json_integer((json_int_t)b->root->files));
    return o;
}

static void print_box(struct ui *ui, const struct store_box *b, const json_t *o)
{
    char age[16] = "?", place[160], size[16] = "?";
    const char *here = json_string_value(json_object_get(o, "here"));
    bool runs = json_is_true(json_object_get(o, "runs"));
    if (b->root) {
        age_text(age, clock_wall_ns() - b->root->time_ns);
        text_size(size, b->root->bytes);
    }
    snprintf(place, sizeof(place), "%s@%s", b->head.seq ? head_state_name(b->head.state) : "damaged", b->head.node);
    ui_line(ui, "%-20s %-24s %-10s %8s  %-12s %s%s%s%s", b->name, place, b->head.pin[0] ? b->head.pin : "-", size, age,
            strcmp(here, "none") == 0 ? "" : here, runs ? ", running" : "",
            b->head.state == HEAD_HELD && head_expired(&b->head) ? " expired" : "", b->damaged ? " damaged" : "");
}

struct found {
    const struct config *config;
    const struct store_box *all;
    size_t count;
};

static int mark(void *arg, const char *name, struct error *e)
{
    const struct found *f = arg;
    bool there = false;
    for (size_t i = 0; i < f->count; i++)
        there |= strcmp(f->all[i].name, name) == 0;
    stack_mark(f->config, name, !there);
    return 0;
}

static int list_boxes(struct cmd_context *c, struct stack *s, struct error *e)
{
    struct store_box *all = NULL;
    size_t count = 0, damaged = count;
    int r = boxes_list(s, BOXES_SNAPSHOTS, &all, &count, e);
    if (r < 0)
        return r;
    json_t *list = json_array();
    if (count)
        ui_line(c->ui, "%-20s %-24s %-10s %8s  %-12s %s", "BOX", "STATE@NODE", "PIN", "SIZE", "AGE", "HERE");
    for (size_t i = 0; i < count; i++) {
        json_t *o = describe_box(c, &all[i]);
        print_box(c->ui, &all[i], o);
        json_array_append_new(list, o);
        if (all[i].damaged && damaged++ == 0)
            error_pass(e, &all[i].why);
    }
    if (count == 0)
        ui_line(c->ui, "no boxes in %s", s->store->description);
    ui_field(c->ui, "boxes", list);
    struct found found = { c->config, all, count };
    project_each_box(s, mark, &found, NULL); /* of use for completion alone */
    boxes_free(all, count);
    if (damaged == 0)
        return 0;
    e->kind = ERROR_DAMAGED;
    e->code = -EBADMSG;
    return -EBADMSG;
}

/* --- one box */

struct listing {
    struct cmd_context *context;
    struct stack *stack;
    struct inventory inventory;
    struct head head;
    struct error unread; /* a damaged head's */
    struct buf listed;   /* what --snapshot and --fork take, for completion */
};

static json_t *describe_snapshot(const struct listing *l, const struct snapshot_id *id,
                                 const struct inventory_snapshot *n)
{
    char text[SNAPSHOT_ID_TEXT], time[32];
    snapshot_id_text(id, text);
    json_t *o = json_pack("{s:s,s:b}", "snapshot", text, "newest", snapshot_id_equal(id, &l->head.root));
    const struct snapshot *s = n ? n->object : NULL;
    if (!s) {
        json_object_set_new(o, "damaged", json_true());
        return o;
    }
    text_time(time, s->time_ns);
    json_object_set_new(o, "time", json_string(time));
    json_object_set_new(o, "node", json_string(s->node));
    json_object_set_new(o, "bytes", json_integer((json_int_t)s->bytes));
    json_object_set_new(o, "files", json_integer((json_int_t)s->files));
    json_object_set_new(o, "one_instant", json_boolean(s->one_instant));
    if (!snapshot_id_none(&s->parent)) {
        snapshot_id_text(&s->parent, text);
        json_object_set_new(o, "parent", json_string(text));
    }
    return o;
}

static void print_snapshot(struct listing *l, const char *id, const json_t *o, const char *more)
{
    const char *time = json_string_value(json_object_get(o, "time"));
    char size[16];
    if (!time) {
        ui_line(l->context->ui, "%-32s damaged or gone %s", id, more);
        return;
    }
    buf_printf(&l->listed, "%s\t%s %s\n", id, time, json_string_value(json_object_get(o, "node")));
    text_size(size, (uint64_t)json_integer_value(json_object_get(o, "bytes")));
    ui_line(l->context->ui, "%-32s %s  %-16s %8s  %14s%s", id, time, json_string_value(json_object_get(o, "node")),
            size, TEXT_COUNT((uint64_t)json_integer_value(json_object_get(o, "files")), "file"), more);
}

static bool of_fork(const struct inventory *v, const struct snapshot_id *id)
{
    for (size_t i = 0; i < v->fork_count; i++)
        if (snapshot_id_equal(&v->forks[i].snapshot, id))
            return true;
    return false;
}

/* Newest first. A store's clock may count in seconds: within one the writers' own stamps decide. */
static int by_age(const void *a, const void *b)
{
    const struct inventory_snapshot *x = *(const struct inventory_snapshot *const *)a;
    const struct inventory_snapshot *y = *(const struct inventory_snapshot *const *)b;
    int64_t older = x->modified_ns, younger = y->modified_ns;
    if (older == younger && x->object && y->object) {
        older = x->object->time_ns;
        younger = y->object->time_ns;
    }
    return older < younger ? 1 : older > younger ? -1 : 0;
}

/* What lies below a fork, down to the box's line, is listed by its fork. The rest beside the line goes with the next
 * prunes, unless somebody is about to commit it. */
enum standing { ON_LINE, IN_FORK, UNREFERENCED };

static enum standing *stand(const struct listing *l, const struct condemned *condemned)
{
    const struct inventory *v = &l->inventory;
    _cleanup_free_ struct retention_item *items = marking_items(v, &l->head, condemned, &RETENTION_DEFAULT);
    enum standing *ret = mem_new(v->snapshot_count + 1, sizeof(*ret));
    for (size_t i = 0; i < v->snapshot_count; i++)
        ret[i] = items[i].line || v->snapshots[i].damaged ? ON_LINE : UNREFERENCED;
    for (size_t f = 0; f < v->fork_count; f++) {
        const struct inventory_snapshot *n = inventory_find_snapshot(v, &v->forks[f].snapshot);
        while (n && ret[n - v->snapshots] == UNREFERENCED) {
            ret[n - v->snapshots] = IN_FORK;
            n = n->object ? inventory_find_snapshot(v, &n->object->parent) : NULL;
        }
    }
    return ret;
}

static void list_snapshots(struct listing *l, const struct condemned *condemned)
{
    const struct inventory *v = &l->inventory;
    json_t *list = json_array();
    _cleanup_free_ enum standing *standing = stand(l, condemned);
    _cleanup_free_ const struct inventory_snapshot **sorted = mem_new(v->snapshot_count + 1, sizeof(*sorted));
    for (size_t i = 0; i < v->snapshot_count; i++)
        sorted[i] = &v->snapshots[i];
    qsort(sorted, v->snapshot_count, sizeof(*sorted), by_age);
    for (size_t i = 0; i < v->snapshot_count; i++) {
        const struct inventory_snapshot *n = sorted[i];
        enum standing how = standing[n - v->snapshots];
        if (condemned_find_snapshot(condemned, &n->id) || of_fork(v, &n->id) || how == IN_FORK ||
            (!n->object && !n->damaged))
            continue;
        json_t *o = describe_snapshot(l, &n->id, n);
        char id[SNAPSHOT_ID_TEXT];
        snapshot_id_text(&n->id, id);
        json_object_set_new(o, "id", json_string(id));
        json_object_set_new(o, "unreferenced", json_boolean(how == UNREFERENCED));
        print_snapshot(l, id, o,
                       json_is_true(json_object_get(o, "newest")) ? "  newest"
                       : how == UNREFERENCED                      ? "  unreferenced"
                                                                  : "");
        json_array_append_new(list, o);
    }
    ui_field(l->context->ui, "snapshots", list);
}

static void list_forks(struct listing *l)
{
    const struct inventory *v = &l->inventory;
    json_t *list = json_array();
    for (size_t i = 0; i < v->fork_count; i++) {
        const struct fork *f = &v->forks[i];
        char id[FORK_ID_MAX];
        fork_id(v->forks, v->fork_count, f, id);
        json_t *o = describe_snapshot(l, &f->snapshot, inventory_find_snapshot(v, &f->snapshot));
        json_object_set_new(o, "id", json_string(id));
        json_object_set_new(o, "name", json_string(f->name));
        json_object_set_new(o, "epoch", json_integer((json_int_t)f->epoch));
        json_object_set_new(o, "node", json_string(f->node));
        bool whole = strcmp(id + strlen("fork:"), f->name) == 0;
        print_snapshot(l, id, o,
                       fork_is_older(v->forks, v->fork_count, f) ? "  older"
                       : whole                                   ? "  one of several"
                                                                 : "");
        json_array_append_new(list, o);
    }
    ui_field(l->context->ui, "forks", list);
}

static uint64_t bytes_of_writer(const struct inventory *v, const struct writer *w)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < v->pack_count; i++)
        if (memcmp(&v->packs[i].name.writer, w, sizeof(*w)) == 0)
            bytes += v->packs[i].size;
    return bytes;
}

static void list_holds(struct listing *l)
{
    const struct inventory *v = &l->inventory;
    struct ui *ui = l->context->ui;
    json_t *list = json_array();
    for (size_t i = 0; i < v->hold_count; i++) {
        const struct hold *h = &v->holds[i];
        char id[WRITER_TEXT], snapshot[SNAPSHOT_ID_TEXT], age[16], size[16];
        uint64_t bytes = bytes_of_writer(v, &h->writer);
        bool stale = h->age_ns >= STALE_NS;
        writer_text(&h->writer, id);
        snapshot_id_text(&h->snapshot, snapshot);
        age_text(age, h->age_ns);
        text_size(size, bytes);
        ui_line(ui, "hold %s of %s, %s old, %s under it%s%s", id, h->damaged ? "?" : h->node, age, size,
                stale ? ", stale" : "", h->damaged ? ", damaged" : "");
        if (stale)
            ui_note(ui, "  if nothing uses it any more: ag-box drop %s --hold %s", l->stack->name, id);
        json_t *o = json_pack("{s:s,s:s,s:I,s:I,s:b,s:b}", "id", id, "node", h->node, "age_s",
                              (json_int_t)(h->age_ns / 1000000000), "bytes", (json_int_t)bytes, "stale", stale,
                              "damaged", h->damaged);
        if (!snapshot_id_none(&h->snapshot))
            json_object_set_new(o, "snapshot", json_string(snapshot));
        json_array_append_new(list, o);
    }
    ui_field(ui, "holds", list);
}

static int read_one(struct listing *l, struct condemned *condemned, struct error *e)
{
    struct stack *s = l->stack;
    int r = head_read(s->store, &s->seal, &l->head, &l->unread);
    if (r == -ENOENT || (r == 0 && l->head.state == HEAD_TOMBSTONE))
        return stack_no_box(s, r == 0, e);
    if (r < 0 && l->unread.kind != ERROR_DAMAGED)
        return error_pass(e, &l->unread);
    if (r < 0) /* what it led to is there all the same */
        r = 0;
    else
        r = condemned_get(s->store, &s->seal, l->head.condemned, condemned, e);
    if (r == 0)
        r = inventory_list_snapshots(&l->inventory, s->store, s->name, e);
    if (r == 0)
        r = inventory_list_packs(&l->inventory, s->store, s->name, e);
    if (r == 0)
        r = inventory_list_users(&l->inventory, s->store, &s->seal, e);
    if (r == 0)
        r = inventory_open_snapshots(&l->inventory, s->store, &s->seal, e);
    return r;
}

/* A box that was never here has no place for it, and that it cannot be written is nobody's concern. */
static void keep_listed(const struct listing *l)
{
    const struct stack *s = l->stack;
    if (s->box_dir >= 0)
        fd_replace(s->box_dir, STACK_LISTED, l->listed.data, l->listed.len, NULL);
}

static int list_one(struct cmd_context *c, struct stack *s, const char *name, struct error *e)
{
    struct listing l = { .context = c, .stack = s };
    _cleanup_(condemned_release) struct condemned condemned = { 0 };
    s->admits_globals = true;
    int r = stack_peek(s, name, e);
    if (r == 0)
        r = strays_remove(s, NULL, e);
    if (r == 0)
        r = read_one(&l, &condemned, e);
    if (r == 0) {
        list_snapshots(&l, &condemned);
        list_forks(&l);
        list_holds(&l);
        keep_listed(&l);
        r = l.unread.code < 0 ? error_pass(e, &l.unread) : 0;
    }
    buf_release(&l.listed);
    inventory_release(&l.inventory);
    head_release(&l.head);
    return r;
}

static int run(struct cmd_context *c, struct error *e)
{
    if (c->argument_count == 1 && !c->options.snapshots)
        return error_say(e, ERROR_USAGE, -EINVAL, "what of %s? ag-box ls --snapshots %s", c->arguments[0],
                         c->arguments[0]);
    if (c->argument_count == 0 && c->options.snapshots)
        return error_say(e, ERROR_USAGE, -EINVAL, "the snapshots of which box? ag-box ls --snapshots NAME");
    _cleanup_(stack_close) struct stack s = STACK_NONE;
    int r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_store(&s, e);
    if (r < 0)
        return r;
    return c->options.snapshots ? list_one(c, &s, c->arguments[0], e) : list_boxes(c, &s, e);
}

const struct cmd cmd_ls = {
    .name = "ls",
    .summary = "list all boxes, or the snapshots of one",
    .arguments = "[NAME]",
    .arguments_max = 1,
    .globals = true,
    .options = { { "snapshots", CMD_FLAG, CMD_OPTION(snapshots), NULL, "of NAME: snapshots, forks and holds" } },
    .run = run,
};
