/* SPDX-License-Identifier: MIT */
#include "cli/flow.h"

#include "cli/mounts.h"
#include "cli/place.h"
#include "cli/project.h"
#include "cli/stashing.h"
#include "cli/tools.h"
#include "fusefs/joins.h"
#include "fusefs/overlay.h"
#include "index/base/clock.h"
#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/base/text.h"
#include "index/base/together.h"
#include "index/key.h"
#include "index/random.h"
#include "index/ways.h"
#include "sync/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define LOOKS 3 /* at a head that others change meanwhile */

struct going_up {
    struct stack *stack;
    const struct flow_up_options *options;
    struct lease lease;
    struct head head;
    struct snapshot_id root; /* of the head that was read first: head changes while the lease is taken */
    struct buf sealed;       /* the snapshot object, as the store has it */
    int64_t phase_ns;
};

static void phase(struct going_up *u, const char *name)
{
    int64_t now = clock_boot_ns();
    ui_phase(u->stack->ui, name, now - u->phase_ns);
    u->phase_ns = now;
}

/* Pin and path, before each PUT that could take the lease (rule L4). */
static int check_head(void *arg, const struct head *h, struct error *e)
{
    struct going_up *u = arg;
    const char *node = u->stack->config->node;
    if (h->pin[0] && strcmp(h->pin, node) != 0) {
        error_say(e, ERROR_HELD, -EPERM, "box %s is pinned to %s", h->box, h->pin);
        return error_hint(e, "run it there, or unpin it there: `ag-box set %s pin=` on %s", h->box, h->pin);
    }
    int r = project_refuse_own(u->stack, h->path, e);
    if (r < 0)
        return error_hint(e, "ag-box set %s path=DIR gives it another place", h->box), r;
    r = project_claim(u->stack, h->path, e);
    if (r == 0)
        r = mounts_check_point(h->path, e);
    if (r < 0 && e && !e->hint[0])
        error_hint(e, "ag-box set %s path=DIR gives it another place", h->box);
    return r;
}

static int take_lease(void *arg, struct error *e)
{
    struct going_up *u = arg;
    struct lease_take t = { .force = u->options->force, .then = BOX_ACQUIRED, .check = check_head, .arg = u };
    return lease_acquire(&u->lease, &u->head, &t, e);
}

static int take_hold(void *arg, struct error *e)
{
    struct going_up *u = arg;
    struct stack *s = u->stack;
    return hold_put(s->store, &s->seal, &s->record.writer, &s->node, &u->root, e);
}

static int take_snapshot(void *arg, struct error *e)
{
    struct going_up *u = arg;
    return snapshots_fetch(u->stack->store, u->stack->name, &u->root, &u->sealed, e);
}

/* A new node's takes some writes to the disk. What goes wrong here goes wrong again, and is said, where it is needed.
 */
static int open_cache(void *arg, struct error *e)
{
    struct going_up *u = arg;
    (void)e;
    if (!u->options->full)
        stack_content(u->stack, NULL);
    return 0;
}

static bool is_held(const struct going_up *u)
{
    return u->head.state == HEAD_HELD && !u->options->force && !head_expired(&u->head) &&
           outcome_standing(&u->stack->record, &u->head) != LEASE_OURS;
}

static int take_nothing(void *arg, const struct head *h, struct error *e)
{
    (void)arg;
    return error_say(e, ERROR_BUSY, -EAGAIN, "box %s was given free while it was looked at", h->box);
}

/* Somebody else's lease, who is named; unless it has ended since we looked: then the newest head is checked, and is
 * what we go on with. */
static int see_holder(struct going_up *u, struct error *e)
{
    struct error why = { 0 };
    struct lease_take t = { .then = BOX_STATE_COUNT, .check = take_nothing };
    int r = check_head(u, &u->head, &why);
    for (unsigned i = 0; r == 0 && i < LOOKS && is_held(u); i++) {
        r = lease_acquire(&u->lease, &u->head, &t, &why);
        if (r == -EAGAIN)
            r = lease_read(&u->lease, false, &u->head, &why);
        if (r == 0)
            r = check_head(u, &u->head, &why);
    }
    if (r == 0 && is_held(u))
        r = take_nothing(NULL, &u->head, &why);
    return r < 0 ? error_pass(e, &why) : 0;
}

/* Steps 1 to 4. A foreign lease is not taken before its snapshot has been read (rule L4). */
static int acquire(struct going_up *u, struct error *e)
{
    struct stack *s = u->stack;
    int r = see_holder(u, e);
    if (r < 0)
        return r;
    u->root = u->head.root;
    bool foreign = u->head.state == HEAD_HELD;
    if (foreign) {
        r = take_snapshot(u, e);
        if (r < 0)
            return r;
        ui_warn(s->ui, "%s was held by %s: its unsent work will become a fork", s->name, u->head.node);
    }

    r = stashing_leave(s, u->head.incarnation, e);
    if (r < 0)
        return r;
    if (s->record.path && strcmp(s->record.path, u->head.path) != 0)
        mounts_leave_point(s->record.path);
    free(s->record.path);
    s->record.path = mem_strdup(u->head.path);
    memcpy(s->record.incarnation, u->head.incarnation, sizeof(s->record.incarnation));
    flow_drop_hold(s); /* a leftover of the last time */
    hold_new_writer(&s->node, &s->record.writer);
    r = stack_save_record(s, e);
    if (r < 0)
        return r;
    struct together calls[] = { { .run = take_lease, .arg = u },
                                { .run = take_hold, .arg = u },
                                { .run = open_cache, .arg = u },
                                { .run = take_snapshot, .arg = u } };
    r = together_run(calls, foreign ? 3 : 4, e);
    if (r < 0 && s->record.state != BOX_ACQUIRED && !box_record_in_doubt(&s->record)) {
        flow_drop_hold(s); /* the lease went to somebody else */
        stack_save_record(s, NULL);
    }
    if (r < 0 || snapshot_id_equal(&u->root, &u->head.root))
        return r;
    u->root = u->head.root; /* somebody has committed between our look and our lease */
    r = take_hold(u, e);
    return r < 0 ? r : take_snapshot(u, e);
}

/* --from: the tree of another snapshot under the head's meta, committed at once with the old head as parent. */
static int commit_from(struct going_up *u, struct error *e)
{
    struct stack *s = u->stack;
    if (!u->options->from)
        return 0;
    _cleanup_(snapshot_releasep) struct snapshot head = { 0 }, n = { 0 };
    struct snapshot_id id;
    struct meta meta = { 0 };
    int r = snapshots_open(buf_bytes(&u->sealed), &s->seal, &u->head.root, &head, e);
    if (r == 0)
        r = view_find(s, u->options->from, &id, e);
    if (r == 0)
        r = snapshots_get(s->store, &s->seal, &id, &n, e);
    if (r == 0)
        r = view_meta(&head, &meta, e);
    if (r == 0)
        r = flow_derive(s, &head.id, &meta, &n, e);
    struct lease_commit c = { .root = n.id, .pin = meta.pin, .path = meta.path, .then = BOX_STATE_COUNT };
    if (r == 0)
        r = lease_commit(&u->lease, &c, e);
    if (r == 0) {
        u->root = u->head.root = n.id;
        buf_clear(&u->sealed);
        snapshots_seal(&n, &s->seal, &u->sealed);
        r = take_hold(u, e); /* of the tree that is mounted, not of the one that was the head's */
    }
    meta_release(&meta);
    return r;
}

static void new_upper_name(char to[40])
{
    memcpy(to, "upper-", 6);
    random_hex(to + 6, 8);
}

/* Step 5: the base's object beside the journal, then `preparing` over it. */
static int prepare(struct going_up *u, struct snapshot *ret, struct error *e)
{
    struct stack *s = u->stack;
    struct snapshot snapshot = { 0 };
    int r = snapshots_open(buf_bytes(&u->sealed), &s->seal, &u->head.root, &snapshot, e);
    if (r == 0)
        r = fd_replace(s->box_dir, "base", u->sealed.data, u->sealed.len, e);
    if (r == 0) {
        s->record.state = BOX_PREPARING;
        s->record.full = false;
        s->record.base = s->record.committed = u->head.root;
        new_upper_name(s->record.upper);
        r = cache_known_clear(s->cache, e); /* what it knows was another base's, and may be condemned since */
    }
    if (r == 0)
        r = cache_unkeep_all(s->cache, e);
    if (r == 0)
        r = stack_save_record(s, e);
    if (r < 0) {
        snapshot_release(&snapshot);
        return r;
    }
    *ret = snapshot;
    return 0;
}

/* Names that are to be joined. */
struct joining {
    struct going_up *up;
    struct view *view;
    struct link_group *groups;
    size_t count;
    uint64_t names, done;
};

static int read_links(void *arg, struct error *e)
{
    struct joining *j = arg;
    return view_links(j->view, &j->groups, &j->count, e);
}

static int read_inner_pages(void *arg, struct error *e)
{
    struct joining *j = arg;
    (void)e;
    ways_begin(j->view->tree, view_source(j->view));
    return 0;
}

/* What is likely to be listed first: else it would wait for a round trip of its own, with all that is fetched then. */
static int read_first_listing(void *arg, struct error *e)
{
    struct joining *j = arg;
    _cleanup_(buf_release) struct buf own = { 0 };
    (void)e;
    if (key_directory_prefix((struct bytes){ (const uint8_t *)"project", 7 }, &own) == 0)
        tree_warm(j->view->tree, buf_bytes(&own));
    return 0;
}

/*
 * Before there is a mount: the daemon then finds the list in the cache, however long it took to come, and each name
 * that is joined finds its pages there. The list and the inner pages do not wait for each other: only the leaves are
 * one round trip more.
 */
static int fetch_links(struct joining *j, struct error *e)
{
    if (j->view->snapshot.links.count == 0)
        return 0;
    struct together calls[] = { { .run = read_links, .arg = j },
                                { .run = read_inner_pages, .arg = j },
                                { .run = read_first_listing, .arg = j } };
    int r = together_run(calls, 3, e);
    if (r == 0)
        r = ways_to_links(j->view->tree, view_source(j->view), j->groups, j->count, e);
    for (size_t g = 0; g < j->count; g++)
        j->names += j->groups[g].count;
    return r;
}

static void on_joined(void *arg, size_t names)
{
    struct joining *j = arg;
    j->done += names;
    ui_progress(j->up->stack->ui, "joining hard links", j->done, j->done, j->names);
}

static void on_apart(void *arg, const char *path)
{
    struct joining *j = arg;
    ui_warn(j->up->stack->ui,
            "%s: the file system takes no more names of one file: from here on they are another file, and so the next "
            "park has them",
            path);
}

static int join_names(struct joining *j, struct error *e)
{
    struct stack *s = j->up->stack;
    if (j->count == 0)
        return 0;
    _cleanup_free_ char *tree = place_in_run(s->config, s->name, "tree");
    _cleanup_close_ int root = open(tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s", tree);
    const struct joins_told told = { on_joined, on_apart, j };
    int r = joins_make(root, j->groups, j->count, &told, e);
    ui_progress_end(s->ui);
    return r < 0 ? r : overlay_sync(tree, e); /* once the journal says mounted, walkers rely on them */
}

static void tell(struct going_up *u, const struct snapshot *n)
{
    struct ui *ui = u->stack->ui;
    char id[SNAPSHOT_ID_TEXT], age[16];
    int64_t age_ns = clock_wall_ns() - n->time_ns;
    snapshot_id_text(&n->id, id);
    text_duration(age, (uint64_t)(age_ns > 0 ? age_ns : 0) / 1000000);
    ui_line(ui, "%s is up at %s: snapshot %.8s by %s, %s ago", u->stack->name, u->head.path, id, n->node, age);
    flow_tell_shown(u->stack, n);
    struct meta meta = { 0 };
    if (view_meta(n, &meta, NULL) == 0)
        tools_warn(u->stack->config, &meta, ui);
    meta_release(&meta);
}

/* Mounts, and makes names that are one inode one again. */
static int mount_joined(struct going_up *u, struct view *v, struct error *e)
{
    struct joining j = { .up = u, .view = v };
    int r = fetch_links(&j, e);
    if (r == 0)
        r = mounts_up(u->stack, true, e);
    if (r == 0) {
        phase(u, "mount");
        r = join_names(&j, e);
    }
    if (r == 0 && j.count)
        phase(u, "links");
    links_free(j.groups, j.count);
    return r;
}

/* Steps 6 to 8. */
static int bring_up(struct going_up *u, struct error *e)
{
    struct stack *s = u->stack;
    struct snapshot snapshot = { 0 };
    int r = stack_content(s, e);
    if (r == 0)
        r = prepare(u, &snapshot, e);
    if (r < 0)
        return r;
    _cleanup_(view_close) struct view v = { 0 };
    r = view_open(s, &snapshot, &v, e);
    if (r == 0)
        r = mount_joined(u, &v, e);
    if (r < 0)
        return r;
    mounts_tell_held(s);
    s->record.state = BOX_MOUNTED;
    r = stack_save_record(s, e);
    if (r == 0)
        r = flow_show(s, e);
    if (r == 0)
        tell(u, &v.snapshot);
    return r;
}

/* An `up` that fails after its lease PUT frees the head again, root unchanged (rule L4). Not once it is mounted: then
 * the upper may hold what lay in the stash, and nowhere else. */
static void give_back(struct going_up *u)
{
    struct stack *s = u->stack;
    struct error ignored = { 0 };
    flow_throw_away(s, &ignored);
    store_resume(s->store); /* after Ctrl-C */
    if (lease_free(&u->lease, s->record.aside ? BOX_MOVED_ASIDE : BOX_NONE, &ignored) < 0) {
        ui_warn(s->ui, "the lease of %s could not be given back (%s); `ag-box park %s` will", s->name, ignored.text,
                s->name);
        return;
    }
    flow_drop_hold(s);
    stack_save_record(s, &ignored);
}

static int read_head(struct going_up *u, struct error *e)
{
    int r = lease_read(&u->lease, u->options->accept_rollback, &u->head, e);
    bool dropped = r == 0 && u->head.state == HEAD_TOMBSTONE;
    return r == -ENOENT || dropped ? stack_no_box(u->stack, dropped, e) : r;
}

static int end(struct going_up *u, int r)
{
    enum box_state state = u->stack->record.state;
    if (r < 0 && (state == BOX_ACQUIRED || state == BOX_PREPARING)) /* once mounted, the upper is work */
        give_back(u);
    head_release(&u->head);
    buf_release(&u->sealed);
    return r;
}

/* Steps 5 to 8. */
static int come_up(struct going_up *u, struct error *e)
{
    struct stack *s = u->stack;
    const char *missing = u->options->full ? NULL : mounts_missing();
    if (missing)
        ui_warn(s->ui, "no %s here: %s comes up in full mode, as plain directories", missing, s->name);
    if (!missing && !u->options->full)
        return bring_up(u, e);
    int r = flow_full_begin(s, &u->head.root, buf_bytes(&u->sealed), e);
    return r < 0 ? r : flow_full_go_on(s, e);
}

int flow_up_fresh(struct stack *s, const struct flow_up_options *o, struct error *e)
{
    struct going_up u = { .stack = s, .options = o, .phase_ns = clock_boot_ns() };
    flow_lease(s, &u.lease);
    u.lease.fetched = o->fetched;
    int r = read_head(&u, e);
    if (r == 0)
        r = acquire(&u, e);
    if (r == 0) /* again: of two boxes that come up at one path at the same time each sees the other by now */
        r = project_claim(s, s->record.path, e);
    if (r == 0)
        r = commit_from(&u, e);
    if (r == 0) {
        phase(&u, "lease");
        r = come_up(&u, e);
    }
    return end(&u, r);
}

/* The lease was taken from us before there was a tree here: as if there had been none. */
static int start_over(struct stack *s, const struct flow_up_options *o, struct error *e)
{
    struct flow_up_options again = *o;
    again.fetched = NULL;
    flow_drop_hold(s);
    int r = flow_set_state(s, BOX_NONE, e);
    return r < 0 ? r : flow_up_fresh(s, &again, e);
}

int flow_up_acquired(struct stack *s, const struct flow_up_options *o, struct error *e)
{
    struct going_up u = { .stack = s, .options = o, .phase_ns = clock_boot_ns() };
    flow_lease(s, &u.lease);
    int r = flow_throw_away(s, e);
    if (r == 0)
        r = read_head(&u, e);
    if (r == 0 && outcome_standing(&s->record, &u.head) != LEASE_OURS) {
        head_release(&u.head);
        return start_over(s, o, e);
    }
    u.root = u.head.root;
    if (r == 0)
        r = take_hold(&u, e);
    if (r == 0)
        r = take_snapshot(&u, e);
    if (r == 0)
        r = commit_from(&u, e);
    if (r == 0)
        r = come_up(&u, e);
    return end(&u, r);
}
