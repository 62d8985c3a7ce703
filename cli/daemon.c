/* SPDX-License-Identifier: MIT */
#include "cli/daemon.h"

#include "cli/interrupt.h"
#include "cli/place.h"
#include "cli/renewal.h"
#include "cli/room.h"
#include "fusefs/control.h"
#include "fusefs/hydrate.h"
#include "fusefs/serve.h"
#include "fusefs/supervisor.h"
#include "fusefs/touches.h"
#include "index/access.h"
#include "index/base/clock.h"
#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

#define KNOWN_BATCH 1024
#define HYDRATION_LOOK_MS 20
#define LOG_MAX (4u << 20)
#define ACCESS_LIST_MAX 4096 /* paths: what a session needs to begin, and no burden for a small park */

struct daemon {
    struct stack *stack;
    struct view view;
    struct serve *serve;
    struct hydrate *_Atomic hydrate; /* NULL until it has begun */
    atomic_bool no_hydration;        /* it could not */
    struct touches *touches;
    char **first; /* paths that the last session touched first; the hydrating thread's */
    size_t first_count;
    struct renewal *renewal;
    struct room *room;
    struct control *control;
    int stop_fd; /* of a full box: readable when it shall end */
    struct known_extent known[KNOWN_BATCH];
    size_t known_count;
};

/* Readers may keep this daemon long after the box was parked, and its base is another one's by then. */
static bool is_box(const struct daemon *d)
{
    struct box_record now = { 0 };
    bool is = journal_load(d->stack->journal, &now, NULL) == 0 && strcmp(now.upper, d->stack->record.upper) == 0;
    box_record_release(&now);
    return is;
}

static int flush_known(struct daemon *d, struct error *e)
{
    bool learns = d->known_count && d->stack->cache && is_box(d);
    int r = learns ? cache_known_add(d->stack->cache, d->known, d->known_count, e) : 0;
    d->known_count = 0;
    return r;
}

/* The base's content, for the next snapshot to refer to (rule S1). A cache that cannot take it costs only bytes. */
static int on_extent(void *arg, const struct extent *x, struct error *e)
{
    struct daemon *d = arg;
    (void)e;
    d->known[d->known_count++] = (struct known_extent){ x->hash, x->length, x->frame, x->within };
    if (d->known_count == KNOWN_BATCH)
        flush_known(d, NULL);
    return 0;
}

static void on_scanned(void *arg, bool xattrs)
{
    struct daemon *d = arg;
    flush_known(d, NULL);
    serve_complete(d->serve);
    if (!xattrs)
        serve_without_xattrs(d->serve);
}

static void on_touched(void *arg, uint64_t position)
{
    touches_add(((struct daemon *)arg)->touches, position);
}

static void on_ended(void *arg)
{
    fetch_stop(((struct daemon *)arg)->stack->fetch);
}

static void add_hydration(struct daemon *d, json_t *answer)
{
    struct hydrate_progress p = { 0 };
    struct hydrate *h = d->hydrate;
    double hydrated = d->serve ? 0 : 1;
    if (h) {
        hydrate_get(h, &p);
        hydrated = p.bytes_total ? (double)p.bytes_done / (double)p.bytes_total : p.phase == HYDRATE_DONE;
    }
    json_object_set_new(answer, "hydrated", json_real(hydrated));
    json_object_set_new(answer, "bytes_total", json_integer((json_int_t)p.bytes_total));
    json_object_set_new(answer, "bytes_done", json_integer((json_int_t)p.bytes_done));
}

static int answer_status(void *arg, const json_t *request, json_t *answer, struct error *e)
{
    (void)request;
    (void)e;
    struct daemon *d = arg;
    struct fetch_stats f = { 0 };
    struct serve_stats v = { .daemon = getpid() };
    if (d->stack->fetch)
        fetch_get_stats(d->stack->fetch, &f);
    if (d->serve)
        serve_stats(d->serve, &v);
    add_hydration(d, answer);
    json_object_set_new(answer, "daemon_pid", json_integer(v.daemon));
    json_object_set_new(answer, "supervisor_pid", json_integer(v.supervisor));
    uint64_t waiting = f.waiting_reads > v.given_up ? f.waiting_reads - v.given_up : 0;
    json_object_set_new(answer, "waiting_reads", json_integer((json_int_t)waiting));
    json_object_set_new(answer, "fetched_bytes", json_integer((json_int_t)f.bytes));
    json_object_set_new(answer, "fetch_requests", json_integer((json_int_t)f.gets));
    json_object_set_new(answer, "cache_bytes",
                        json_integer(d->stack->cache ? (json_int_t)cache_bytes(d->stack->cache) : 0));
    int64_t away = f.unreachable_since ? (clock_boot_ns() - f.unreachable_since) / 1000000000 : 0;
    json_object_set_new(answer, "unreachable_s", json_integer(away));
    json_object_set_new(answer, "lease", json_string(renewal_state_name(renewal_get(d->renewal))));
    return 0;
}

/* How much is here although not all is, and what stands in the way. */
static void tell_rest(struct daemon *d, int r, struct error *e)
{
    struct hydrate_progress p;
    char here[16], all[16];
    hydrate_get(d->hydrate, &p);
    text_size(here, p.bytes_done);
    text_size(all, p.bytes_total);
    error_prefix(e, "only %s of %s is here", here, all);
    if (r == -EFBIG)
        error_hint(e, "raise BOX_CACHE_MAX in the env file, then: ag-box park %s, ag-box up %s", d->stack->name,
                   d->stack->name);
    else if (e->kind == ERROR_DAMAGED)
        error_hint(e, "ag-box check --read-data %s names the files", d->stack->name);
    else
        error_hint(e, "ag-box hydrate %s goes on", d->stack->name);
}

static int answer_hydrate(void *arg, const json_t *request, json_t *answer, struct error *e)
{
    (void)request;
    struct daemon *d = arg;
    while (d->serve && !d->hydrate && !d->no_hydration)
        poll(NULL, 0, HYDRATION_LOOK_MS);
    if (d->no_hydration)
        return error_say(e, ERROR_FAILED, -EIO, "nothing is fetched in the background: see the daemon's log");
    if (d->hydrate) {
        hydrate_full_speed(d->hydrate);
        int r = hydrate_wait(d->hydrate, e);
        if (r < 0)
            return tell_rest(d, r, e), r;
    }
    add_hydration(d, answer);
    return 0;
}

/* What was touched first in this session, for the next snapshot (rule F6). */
static int answer_access(void *arg, const json_t *request, json_t *answer, struct error *e)
{
    (void)request;
    struct daemon *d = arg;
    if (!d->touches || touches_count(d->touches) == 0)
        return 0;
    _cleanup_(buf_release) struct buf list = { 0 };
    int r = touches_encode(d->touches, d->view.tree, ACCESS_LIST_MAX, &list, e);
    if (r == 0)
        r = fd_replace(d->stack->box_dir, "access", list.data, list.len, e);
    json_object_set_new(answer, "written", json_boolean(r == 0));
    return r;
}

/* From the command that started this daemon, and knows how the lease stands. */
static int answer_held(void *arg, const json_t *request, json_t *answer, struct error *e)
{
    (void)request;
    (void)answer;
    (void)e;
    renewal_held(((struct daemon *)arg)->renewal);
    return 0;
}

static int answer_stop(void *arg, const json_t *request, json_t *answer, struct error *e)
{
    (void)request;
    (void)answer;
    (void)e;
    struct daemon *d = arg;
    if (d->stop_fd >= 0)
        eventfd_write(d->stop_fd, 1);
    return 0;
}

static const struct control_handler handlers[] = { { "status", answer_status }, { "hydrate", answer_hydrate },
                                                   { "access", answer_access }, { "held", answer_held },
                                                   { "stop", answer_stop },     { 0 } };

static int start_listening(struct daemon *d, struct error *e)
{
    struct stack *s = d->stack;
    _cleanup_free_ char *path = place_in_run(s->config, s->name, "socket");
    int r = renewal_start(s, &d->renewal, e);
    return r < 0 ? r : control_start(path, handlers, d, &d->control, e);
}

static size_t load_access_list(void *arg, char *const **ret)
{
    struct daemon *d = arg;
    const struct snapshot_frames *f = &d->view.snapshot.access;
    _cleanup_(buf_release) struct buf raw = { 0 };
    struct error e = { 0 };
    int r = f->count ? source_join(view_source(&d->view), f->frames, f->count, FRAME_ACCESS, ACCESS_MAX, &raw, &e) : 0;
    if (r == 0 && raw.len)
        r = access_decode(buf_bytes(&raw), &d->first, &d->first_count, &e);
    if (r < 0)
        log_warn("%s: the access list: %s", d->stack->name, e.text);
    *ret = d->first;
    return d->first_count;
}

static void start_hydration(struct daemon *d)
{
    struct error e = { 0 };
    if (!d->stack->cache) {
        d->no_hydration = true;
        return;
    }
    struct hydrate_config c = { .tree = d->view.tree,
                                .source = view_source(&d->view),
                                .cache = d->stack->cache,
                                .first = load_access_list,
                                .metadata_only = !d->stack->config->hydrate,
                                .extent = on_extent,
                                .scanned = on_scanned,
                                .arg = d };
    struct hydrate *h = NULL;
    if (hydrate_start(&c, &h, &e) < 0) {
        log_warn("%s: %s", d->stack->name, e.text);
        d->no_hydration = true;
    }
    d->hydrate = h;
}

static void on_ready(void *arg)
{
    (void)arg;
    supervisor_ready();
}

static int serve(struct daemon *d, const struct link_group *groups, size_t group_count, struct error *e)
{
    struct serve_config c = { .tree = d->view.tree,
                              .source = view_source(&d->view),
                              .groups = groups,
                              .group_count = group_count,
                              .apart = true,
                              .far = true,
                              .bytes = d->view.snapshot.bytes,
                              .fuse_fd = SUPERVISOR_FUSE_FD,
                              .slots_fd = SUPERVISOR_SLOTS_FD,
                              .touched = on_touched,
                              .ready = on_ready,
                              .ended = on_ended,
                              .arg = d };
    return serve_new(&c, &d->serve, e);
}

static int open_lower(struct daemon *d, struct error *e)
{
    struct link_group *groups = NULL;
    size_t group_count = 0;
    _cleanup_free_ char *touched = place_in_run(d->stack->config, d->stack->name, "touched");
    int r = view_open_base(d->stack, &d->view, e);
    if (r == 0)
        r = view_links(&d->view, &groups, &group_count, e);
    if (r == 0)
        r = touches_new(tree_count(d->view.tree), touched, d->stack->record.upper, &d->touches, e);
    if (r == 0)
        r = serve(d, groups, group_count, e);
    links_free(groups, group_count);
    return r;
}

static int run_lazy(struct daemon *d, struct error *e)
{
    d->stack->keeps_metadata = true;
    int r = stack_content(d->stack, e);
    if (r == 0)
        r = open_lower(d, e);
    if (r < 0)
        return r;
    start_hydration(d); /* before anybody asks: the first pages are on their way when the mount is ready */
    r = start_listening(d, e);
    if (r == 0 && d->stack->cache)
        r = room_start(d->stack->cache, &d->room, e);
    return r < 0 ? r : serve_run(d->serve, e);
}

static int run_full(struct daemon *d, struct error *e)
{
    d->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (d->stop_fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "eventfd");
    int r = start_listening(d, e);
    if (r < 0)
        return r;
    supervisor_ready();
    interrupt_wait(d->stop_fd, NULL);
    return 0;
}

int daemon_run(struct stack *s, bool fuse, struct error *e)
{
    mem_stay_small();
    log_limit(place_in_box(s->config, s->name, "daemon.log.1"), LOG_MAX);
    struct daemon *d = mem_new(1, sizeof(*d));
    d->stack = s;
    d->stop_fd = -1;
    int r = fuse ? run_lazy(d, e) : run_full(d, e);
    if (r < 0)
        return r; /* threads may still use what is here: the process ends */
    control_stop(d->control);
    renewal_stop(d->renewal);
    room_stop(d->room);
    hydrate_free(d->hydrate);
    serve_free(d->serve);
    touches_free(d->touches);
    access_free(d->first, d->first_count);
    view_close(&d->view);
    if (d->stop_fd >= 0)
        close(d->stop_fd);
    free(d);
    return 0;
}
