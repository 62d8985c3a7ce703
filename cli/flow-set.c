/* SPDX-License-Identifier: MIT */
#include "cli/flow.h"

#include "cli/mounts.h"
#include "cli/nodes.h"
#include "cli/project.h"
#include "cli/stashing.h"
#include "index/base/clock.h"
#include "index/base/mem.h"

#include <errno.h>
#include <stdio.h>

int flow_derive(struct stack *s, const struct snapshot_id *parent, const struct meta *meta, struct snapshot *n,
                struct error *e)
{
    char *text = NULL;
    int r = meta_encode(meta, &text, e);
    if (r < 0)
        return r;
    free(n->meta);
    n->meta = text;
    n->parent = *parent;
    n->epoch = s->record.epoch;
    n->time_ns = clock_wall_ns();
    memcpy(n->incarnation, s->record.incarnation, sizeof(n->incarnation));
    snprintf(n->node, sizeof(n->node), "%s", s->config->node);
    snapshots_new_id(&n->id);

    char key[STORE_KEY_MAX];
    _cleanup_(buf_release) struct buf sealed = { 0 };
    snapshots_seal(n, &s->seal, &sealed);
    snapshots_key(s->name, &n->id, key);
    return store_put(s->store, key, buf_bytes(&sealed), STORE_ALWAYS, NULL, NULL, e);
}

/* The assignments, one after the other; path only while the box is up nowhere. */
static int assign(struct meta *m, char *const *assignments, int count, bool up_here, bool *changed, struct error *e)
{
    for (int i = 0; i < count; i++) {
        if (up_here && strncmp(assignments[i], "path=", 5) == 0) {
            error_say(e, ERROR_BUSY, -EBUSY, "the path cannot change while the box is up");
            return error_hint(e, "park it first");
        }
        bool one = false;
        int r = meta_set(m, assignments[i], &one, e);
        if (r < 0)
            return r;
        *changed |= one;
    }
    return 0;
}

/*
 * A pin is its node's to take away: what .auth-secret it stands for lies in a stash there. Work here says that this
 * node gave it: no other could have this box while it is pinned.
 */
static int refuse_pin(struct stack *s, const char *pin, char *const *assignments, int count, struct error *e)
{
    bool ours = s->record.state == BOX_MOUNTED || s->record.state == BOX_FULL_HELD;
    if (!pin[0] || ours || strcmp(pin, s->config->node) == 0)
        return 0;
    for (int i = 0; i < count; i++) {
        if (strncmp(assignments[i], "pin=", 4) != 0 || strcmp(assignments[i] + 4, pin) == 0)
            continue;
        error_say(e, ERROR_HELD, -EPERM, "box %s is pinned to %s, and only there the pin can be taken away", s->name,
                  pin);
        return error_hint(e, "`ag-box set %s pin=` on %s; if it has an .auth-secret, that is in the stash there",
                          s->name, pin);
    }
    return 0;
}

/* A box that is pinned to a name that no node has comes up nowhere, and nobody can take the pin away. */
static int refuse_unknown_pin(const struct config *c, char *const *assignments, int count, struct error *e)
{
    struct nodes nodes;
    const struct nodes_entry *ignored;
    int r = 0;
    for (int i = 0; r == 0 && i < count; i++) {
        const char *pin = strncmp(assignments[i], "pin=", 4) == 0 ? assignments[i] + 4 : "";
        if (!pin[0] || strcmp(pin, c->node) == 0)
            continue;
        r = nodes_load(c, &nodes, e);
        if (r == 0 && !nodes_alone(&nodes))
            r = nodes_find(&nodes, c, pin, &ignored, e);
    }
    return r;
}

/* Before the lease is taken: what no box takes needs none. What up would refuse here, it would refuse elsewhere, too,
 * or on the way back. */
static int refuse_bad(struct stack *s, char *const *assignments, int count, struct error *e)
{
    struct meta any = { 0 };
    bool changed = false;
    int r = assign(&any, assignments, count, false, &changed, e);
    if (r == 0 && any.path)
        r = project_refuse_own(s, any.path, e);
    if (r == 0 && any.path)
        r = project_claim(s, any.path, e);
    meta_release(&any);
    return r;
}

/* Frees the lease again when the box is not up here. */
static int commit(struct stack *s, const struct snapshot_id *root, char *const *assignments, int count, bool up_here,
                  struct error *e)
{
    _cleanup_(snapshot_releasep) struct snapshot n = { 0 };
    struct meta meta = { 0 };
    bool changed = false;
    int r = snapshots_get(s->store, &s->seal, root, &n, e);
    if (r == 0)
        r = view_meta(&n, &meta, e);
    if (r == 0)
        r = refuse_pin(s, meta.pin, assignments, count, e);
    if (r == 0)
        r = assign(&meta, assignments, count, up_here, &changed, e);
    if (r == 0 && changed)
        r = flow_derive(s, root, &meta, &n, e);
    struct lease l;
    flow_lease(s, &l);
    struct lease_commit c = { .root = n.id,
                              .pin = meta.pin,
                              .path = meta.path,
                              .frees = !up_here,
                              .then = up_here ? BOX_STATE_COUNT : BOX_PARKED };
    if (r == 0 && changed)
        r = lease_commit(&l, &c, e);
    else if (!up_here && r == 0) /* the lease was taken for nothing */
        r = lease_free(&l, BOX_PARKED, e);
    else if (!up_here && e->kind != ERROR_DOUBT) {
        store_resume(s->store); /* after Ctrl-C */
        lease_free(&l, BOX_PARKED, NULL);
    }
    if (r == 0 && changed && up_here)
        r = flow_keep_committed(s, &n, e);
    if (r == 0 && !up_here && s->record.path && strcmp(s->record.path, meta.path) != 0)
        mounts_leave_point(s->record.path);
    if (r == 0) {
        ui_line(s->ui, changed ? "%s is changed" : "%s has these values already", s->name);
        ui_field(s->ui, "changed", json_boolean(changed));
    }
    meta_release(&meta);
    return r;
}

static int set_free(struct stack *s, char *const *assignments, int count, struct error *e)
{
    struct lease l;
    flow_lease(s, &l);
    _cleanup_(head_releasep) struct head head = { 0 };
    int r = lease_read(&l, false, &head, e);
    if (r == -ENOENT || (r == 0 && head.state == HEAD_TOMBSTONE))
        return stack_no_box(s, r == 0, e);
    if (r == 0 && head.state == HEAD_HELD) {
        error_say(e, ERROR_HELD, -EBUSY, "box %s is held by %s", s->name, head.node);
        return error_hint(e, "run it there, or park the box first");
    }
    if (r == 0)
        r = refuse_bad(s, assignments, count, e);
    if (r == 0)
        r = refuse_pin(s, head.pin, assignments, count, e);
    if (r == 0)
        r = stashing_leave(s, head.incarnation, e);
    if (r == 0)
        memcpy(s->record.incarnation, head.incarnation, sizeof(head.incarnation));
    if (r == 0)
        r = stack_save_record(s, e);
    struct lease_take t = { .then = BOX_ACQUIRED };
    if (r == 0)
        r = lease_acquire(&l, &head, &t, e);
    if (r == 0)
        r = commit(s, &head.root, assignments, count, false, e); /* of the head that the lease was taken on */
    return r < 0 ? r : flow_clean(s, e);
}

int flow_set(struct stack *s, char *const *assignments, int count, struct error *e)
{
    int r = refuse_unknown_pin(s->config, assignments, count, e);
    if (r == 0)
        r = flow_resolve(s, e);
    if (r < 0)
        return r;
    switch (s->record.state) {
    case BOX_NONE:
    case BOX_MOVED_ASIDE:
        return set_free(s, assignments, count, e);
    case BOX_PARKED:
        r = flow_clean_all(s, e);
        return r < 0 ? r : set_free(s, assignments, count, e);
    case BOX_MOUNTED:
    case BOX_FULL_HELD:
    case BOX_ACQUIRED:
    case BOX_PREPARING:
    case BOX_FILLING:
        return commit(s, &s->record.committed, assignments, count, true, e);
    case BOX_TRACKING:
        return flow_unfinished(s, e);
    case BOX_FENCED:
        error_say(e, ERROR_HELD, -ESTALE, "the lease of %s was lost", s->name);
        return error_hint(e, "ag-box park %s keeps the work here as a fork; then set it where it is held", s->name);
    case BOX_PARKING:
    case BOX_MOVING:
    case BOX_STATE_COUNT:
        break;
    }
    error_say(e, ERROR_BUSY, -EBUSY, "the park of %s has not ended", s->name);
    return error_hint(e, "`ag-box park %s` goes on with it, `ag-box up %s` calls it off", s->name, s->name);
}
