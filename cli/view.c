/* SPDX-License-Identifier: MIT */
#include "cli/view.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "sync/condemned.h"
#include "sync/fork.h"
#include "sync/head.h"

#include <errno.h>

#define LIST_TRIES 3

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

static int find_fork(struct stack *stack, const char *text, struct snapshot_id *ret, struct error *e)
{
    _cleanup_free_ struct fork *all = NULL;
    const struct fork *f = NULL;
    size_t count = 0;
    int r = fork_list(stack->store, &stack->seal, &all, &count, e);
    if (r == 0)
        r = fork_find(all, count, stack->name, text, &f, e);
    if (r == 0 && f->damaged)
        r = error_say(e, ERROR_DAMAGED, -EBADMSG, "fork %s of %s cannot be read: damaged, or not what it is called",
                      f->name, stack->name);
    if (r == 0)
        *ret = f->snapshot;
    return r;
}

/* head: as it was read after whatever uses the snapshot was PUT; read again when a prune has replaced the list since.
 */
static int refuse_condemned(struct stack *stack, struct head *head, const struct snapshot_id *id, struct error *e)
{
    struct condemned c = { 0 };
    int r = condemned_get(stack->store, &stack->seal, head->condemned, &c, e);
    for (int i = 0; r == -ENOENT && i < LIST_TRIES; i++) {
        r = head_read(stack->store, &stack->seal, head, e);
        if (r == 0)
            r = condemned_get(stack->store, &stack->seal, head->condemned, &c, e);
    }
    if (r == 0 && condemned_find_snapshot(&c, id)) {
        error_say(e, ERROR_UNKNOWN, -ENOENT, "this snapshot is condemned: prune is about to delete it");
        error_hint(e, "choose a younger one: ag-box ls --snapshots %s", stack->name);
        r = -ENOENT;
    }
    condemned_release(&c);
    return r;
}

int view_check(struct stack *stack, const struct snapshot_id *id, struct error *e)
{
    _cleanup_(head_releasep) struct head head = { 0 };
    struct error why = { 0 };
    int r = head_read(stack->store, &stack->seal, &head, &why);
    if (r < 0 && why.kind == ERROR_DAMAGED) /* view_find has said so */
        return 0;
    return r < 0 ? error_pass(e, &why) : refuse_condemned(stack, &head, id, e);
}

int view_find(struct stack *stack, const char *text, struct snapshot_id *ret, struct error *e)
{
    _cleanup_(head_releasep) struct head head = { 0 };
    struct snapshot_id id;
    struct error why = { 0 };
    int r = head_read(stack->store, &stack->seal, &head, &why);
    if (r == -ENOENT || (r == 0 && head.state == HEAD_TOMBSTONE))
        return stack_no_box(stack, r == 0, e);
    bool unread = r < 0 && why.kind == ERROR_DAMAGED && text; /* a snapshot that is named needs no head to lead to it */
    if (r < 0 && !unread)
        return error_pass(e, &why);
    if (unread)
        ui_warn(stack->ui, "%s", why.text);
    r = 0;
    id = head.root;
    if (text && strncmp(text, "fork:", 5) == 0)
        r = find_fork(stack, text, &id, e);
    else if (text)
        r = snapshots_find(stack->store, stack->name, text, &id, e);
    if (r == 0 && text && !unread)
        r = refuse_condemned(stack, &head, &id, e);
    if (r == 0)
        *ret = id;
    return r;
}

int view_open_id(struct stack *stack, const struct snapshot_id *id, struct view *ret, struct error *e)
{
    struct snapshot s = { 0 };
    int r = snapshots_get(stack->store, &stack->seal, id, &s, e);
    return r < 0 ? r : view_open(stack, &s, ret, e);
}

static int read_file(struct stack *stack, const char *name, const struct snapshot_id *id, struct snapshot *ret,
                     struct error *e)
{
    _cleanup_(buf_release) struct buf sealed = { 0 };
    int r = fd_read_file(stack->box_dir, name, SNAPSHOT_MAX + 4096, &sealed, e);
    return r < 0 ? r : snapshots_open(buf_bytes(&sealed), &stack->seal, id, ret, e);
}

static int open_file(struct stack *stack, const char *name, const struct snapshot_id *id, struct view *ret,
                     struct error *e)
{
    struct snapshot s = { 0 };
    int r = read_file(stack, name, id, &s, e);
    return r < 0 ? r : view_open(stack, &s, ret, e);
}

int view_shown(struct stack *stack, struct snapshot *ret, struct error *e)
{
    const struct box_record *b = &stack->record;
    int r = b->full ? read_file(stack, "committed", &b->committed, ret, NULL) : -ENOENT;
    return r == 0 ? 0 : read_file(stack, "base", &b->base, ret, e);
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

int view_links(struct view *v, struct link_group **ret, size_t *ret_count, struct error *e)
{
    const struct snapshot_frames *links = &v->snapshot.links;
    *ret = NULL;
    *ret_count = 0;
    if (links->count == 0)
        return 0;
    _cleanup_(buf_release) struct buf raw = { 0 };
    int r = source_join(view_source(v), links->frames, links->count, FRAME_LINKS, LINKS_MAX, &raw, e);
    return r < 0 ? r : links_decode(buf_bytes(&raw), ret, ret_count, e);
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

int view_meta(const struct snapshot *s, struct meta *ret, struct error *e)
{
    return meta_decode((struct bytes){ (const uint8_t *)s->meta, strlen(s->meta) }, ret, e);
}
