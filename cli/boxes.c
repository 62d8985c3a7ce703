/* SPDX-License-Identifier: MIT */
#include "cli/boxes.h"

#include "index/base/mem.h"
#include "index/base/pool.h"
#include "index/base/text.h"

#include <errno.h>
#include <stdio.h>

#define READERS 8
#define BOXES_MAX 65536

struct names {
    struct store_box *boxes;
    size_t count;
};

static void add(struct names *n, const char *name)
{
    if ((n->count & (n->count - 1)) == 0)
        n->boxes = mem_grow(n->boxes, n->count ? 2 * n->count : 1, sizeof(*n->boxes));
    struct store_box *b = &n->boxes[n->count++];
    *b = (struct store_box){ 0 };
    snprintf(b->name, sizeof(b->name), "%s", name);
}

static int add_name(void *arg, const char *name, struct error *e)
{
    struct names *n = arg;
    if (stack_check_name(name, NULL) < 0)
        return 0;
    if (n->count == BOXES_MAX)
        return error_say(e, ERROR_DAMAGED, -EFBIG, "more than %d boxes", BOXES_MAX);
    add(n, name);
    return 0;
}

struct reading {
    struct stack *stack;
    struct store_box *box;
    bool snapshot;
};

static int read_root(struct store *s, const struct seal_context *c, struct store_box *b, struct error *e)
{
    b->root = mem_new(1, sizeof(*b->root));
    int r = snapshots_get(s, c, &b->head.root, b->root, e);
    if (r < 0)
        free(mem_steal(b->root));
    return r;
}

/* A pool's job. What is wrong with one box is its own matter, unless the store does not answer. */
static int read_box(void *arg, struct error *e)
{
    struct reading *a = arg;
    struct store_box *b = a->box;
    struct seal_context c = { &a->stack->keys, b->name };
    int r = head_read(a->stack->store, &c, &b->head, &b->why);
    bool absent = r == -ENOENT;
    if (r == 0 && a->snapshot && b->head.state != HEAD_TOMBSTONE)
        r = read_root(a->stack->store, &c, b, &b->why);
    free(arg);
    if (r == 0 || absent)
        return 0;
    b->damaged = b->why.kind == ERROR_DAMAGED || b->why.kind == ERROR_UNKNOWN;
    if (b->damaged)
        return 0;
    error_pass(e, &b->why);
    return r;
}

static int read_all(struct stack *s, struct names *n, bool snapshots, struct error *e)
{
    struct pool *pool = NULL;
    int r = pool_new(READERS, 2 * READERS, &pool, e);
    for (size_t i = 0; r == 0 && i < n->count; i++) {
        struct reading *a = mem_new(1, sizeof(*a));
        *a = (struct reading){ s, &n->boxes[i], snapshots };
        r = pool_run(pool, read_box, free, a, e);
    }
    if (r == 0)
        r = pool_wait(pool, e);
    pool_free(pool);
    return r;
}

static void release(struct store_box *b)
{
    head_release(&b->head);
    if (b->root)
        snapshot_release(b->root);
    free(b->root);
}

void boxes_free(struct store_box *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        release(&b[i]);
    free(b);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct store_box *)a)->name, ((const struct store_box *)b)->name);
}

int boxes_list(struct stack *s, unsigned which, struct store_box **ret, size_t *ret_count, struct error *e)
{
    struct names n = { 0 };
    int r = store_list_names(s->store, "box/", add_name, &n, e);
    if (which & BOXES_GLOBALS)
        add(&n, TEXT_GLOBALS);
    if (r == 0)
        r = read_all(s, &n, which & BOXES_SNAPSHOTS, e);
    if (r < 0) {
        boxes_free(n.boxes, n.count);
        return r;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n.count; i++) {
        bool one = n.boxes[i].damaged || (n.boxes[i].head.seq > 0 && n.boxes[i].head.state != HEAD_TOMBSTONE);
        if (one)
            n.boxes[kept++] = n.boxes[i];
        else
            release(&n.boxes[i]);
    }
    if (kept)
        qsort(n.boxes, kept, sizeof(*n.boxes), by_name);
    *ret = n.boxes;
    *ret_count = kept;
    return 0;
}
