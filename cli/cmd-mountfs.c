/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"
#include "cli/view.h"
#include "cli/visit.h"
#include "fusefs/hydrate.h"
#include "fusefs/serve.h"
#include "fusefs/supervisor.h"
#include "index/base/fd.h"
#include "index/base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

/* What serves a read-only mount: the same supervisor and file system as a box's, without a box. */

static int run_supervisor(struct cmd_context *c, struct error *e)
{
    _cleanup_(visit_release) struct visit v = VISIT_NONE;
    _cleanup_close_ int lock = -1;
    int r = visit_load(c->config, c->arguments[0], &v, e);
    if (r == 0)
        r = visit_serve(&v, &lock, e);
    if (r < 0)
        return r;
    char self[PATH_MAX], source[128];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n < 0)
        return error_set(e, ERROR_FAILED, -errno, "read /proc/self/exe");
    self[n] = '\0';
    visit_source(&v, source);
    char *argv[] = { self, (char *)(uintptr_t) "mountfs-serve", v.id, NULL };
    struct supervisor_config sc = {
        .mount_point = v.point, .source = source, .argv = argv, .ready_fd = SUPERVISOR_READY_FD
    };
    return supervisor_run(&sc, e);
}

struct serving {
    struct stack *stack;
    struct view view;
    struct serve *serve;
    struct hydrate *hydrate;
};

static void on_ready(void *arg)
{
    (void)arg;
    supervisor_ready();
}

static void on_ended(void *arg)
{
    fetch_stop(((struct serving *)arg)->stack->fetch);
}

static int open_view(struct serving *m, const struct visit *v, struct error *e)
{
    _cleanup_(buf_release) struct buf sealed = { 0 };
    struct snapshot snapshot = { 0 };
    int r = fd_read_file(v->dir, "base", SNAPSHOT_MAX + 4096, &sealed, e);
    if (r == 0)
        r = snapshots_open(buf_bytes(&sealed), &m->stack->seal, &v->snapshot, &snapshot, e);
    return r < 0 ? r : view_open(m->stack, &snapshot, &m->view, e);
}

static int open_serve(struct serving *m, struct error *e)
{
    struct link_group *groups = NULL;
    size_t count = 0;
    int r = view_links(&m->view, &groups, &count, e);
    if (r < 0)
        return r;
    struct serve_config c = { .tree = m->view.tree,
                              .source = view_source(&m->view),
                              .groups = groups,
                              .group_count = count,
                              .bytes = m->view.snapshot.bytes,
                              .fuse_fd = SUPERVISOR_FUSE_FD,
                              .slots_fd = SUPERVISOR_SLOTS_FD,
                              .ready = on_ready,
                              .ended = on_ended,
                              .arg = m };
    r = serve_new(&c, &m->serve, e);
    links_free(groups, count);
    return r;
}

/* All metadata at once (rule F2); content as it is read: who looks into an old snapshot rarely wants all of it. */
static int start_metadata(struct serving *m, struct error *e)
{
    struct hydrate_config c = { .tree = m->view.tree, .source = view_source(&m->view), .metadata_only = true };
    return hydrate_start(&c, &m->hydrate, e);
}

static int serve(struct serving *m, const struct visit *v, struct error *e)
{
    int r = stack_store(m->stack, e);
    if (r == 0)
        r = stack_content(m->stack, e);
    if (r == 0)
        r = open_view(m, v, e);
    if (r == 0)
        r = open_serve(m, e);
    if (r == 0)
        r = start_metadata(m, e);
    return r < 0 ? r : serve_run(m->serve, e);
}

static int run_serve(struct cmd_context *c, struct error *e)
{
    _cleanup_(visit_release) struct visit v = VISIT_NONE;
    struct stack s = STACK_NONE;
    struct serving *m = mem_new(1, sizeof(*m));
    m->stack = &s;
    int r = visit_load(c->config, c->arguments[0], &v, e);
    if (r == 0)
        r = stack_open(&s, c->config, c->ui, e);
    if (r == 0)
        r = stack_peek(&s, v.box, e);
    if (r == 0)
        r = serve(m, &v, e);
    if (r < 0)
        return r; /* threads may still use what is here: the process ends */
    hydrate_free(m->hydrate);
    serve_free(m->serve);
    view_close(&m->view);
    stack_close(&s);
    free(m);
    return 0;
}

const struct cmd cmd_mountfs = {
    .name = "mountfs",
    .summary = "keep a read-only mount (started by mount)",
    .arguments = "ID",
    .arguments_min = 1,
    .arguments_max = 1,
    .hidden = true,
    .run = run_supervisor,
};

const struct cmd cmd_mountfs_serve = {
    .name = "mountfs-serve",
    .summary = "the file system of a read-only mount (started by its supervisor)",
    .arguments = "ID",
    .arguments_min = 1,
    .arguments_max = 1,
    .hidden = true,
    .run = run_serve,
};
