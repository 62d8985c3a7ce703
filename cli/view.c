/* SPDX-License-Identifier: MIT */
#include "cli/view.h"

#include "index/base/fd.h"
#include "index/base/mem.h"

int view_open(struct stack *stack, struct snapshot *s, struct view *ret, struct error *e)
{
    ret->snapshot = *s;
    *s = (struct snapshot){ 0 };
    ret->open = true;
    int r = snapshot_source_new(&ret->snapshot, fetch_source(stack->fetch), &ret->source, e);
    if (r == 0)
        r = tree_open(view_source(ret), &ret->snapshot.root, 0, &ret->tree, e);
    if (r < 0)
        view_close(ret);
    return r;
}

int view_open_id(struct stack *stack, const struct snapshot_id *id, struct view *ret, struct error *e)
{
    struct snapshot s = { 0 };
    int r = snapshots_get(stack->store, &stack->seal, id, &s, e);
    return r < 0 ? r : view_open(stack, &s, ret, e);
}

static int open_file(struct stack *stack, const char *name, const struct snapshot_id *id, struct view *ret,
                     struct error *e)
{
    _cleanup_(buf_release) struct buf sealed = { 0 };
    struct snapshot s = { 0 };
    int r = fd_read_file(stack->box_dir, name, SNAPSHOT_MAX + 4096, &sealed, e);
    if (r == 0)
        r = snapshots_open(buf_bytes(&sealed), &stack->seal, id, &s, e);
    return r < 0 ? r : view_open(stack, &s, ret, e);
}

int view_open_base(struct stack *stack, struct view *ret, struct error *e)
{
    return open_file(stack, "base", &stack->record.base, ret, e);
}

int view_open_committed(struct stack *stack, struct view *ret, struct error *e)
{
    const struct snapshot_id *id = &stack->record.committed;
    if (open_file(stack, "committed", id, ret, NULL) == 0 || open_file(stack, "base", id, ret, NULL) == 0)
        return 0;
    return view_open_id(stack, id, ret, e);
}

struct source *view_source(struct view *v)
{
    return snapshot_source_get(v->source);
}

void view_close(struct view *v)
{
    if (!v->open)
        return;
    tree_close(v->tree);
    snapshot_source_free(v->source);
    snapshot_release(&v->snapshot);
    *v = (struct view){ 0 };
}
