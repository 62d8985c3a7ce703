/* SPDX-License-Identifier: MIT */
#include "fusefs/serve.h"

#include "fusefs/lower.h"
#include "index/base/log.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define ANSWERS 8u

struct serve {
    struct serve_config config;
    struct slots *slots;
    struct lower lower;
    struct fuse_session *session;
};

static void log_fuse(enum fuse_log_level level, const char *fmt, va_list args)
{
    char text[256];
    vsnprintf(text, sizeof(text), fmt, args);
    text[strcspn(text, "\n")] = '\0';
    if (level <= FUSE_LOG_WARNING)
        log_warn("%s", text);
    else
        log_debug("%s", text);
}

static int open_session(struct serve *s, struct error *e)
{
    char *argv[] = { (char *)"ag-box", NULL };
    struct fuse_args args = FUSE_ARGS_INIT(1, argv);
    fuse_set_log_func(log_fuse);
    s->session = fuse_session_new(&args, &lower_operations, sizeof(lower_operations), &s->lower);
    fuse_opt_free_args(&args);
    if (!s->session)
        return error_say(e, ERROR_FAILED, -EIO, "start a FUSE session");

    char path[32];
    snprintf(path, sizeof(path), "/dev/fd/%d", s->config.fuse_fd);
    if (fuse_session_mount(s->session, path) != 0)
        return error_say(e, ERROR_FAILED, -EIO, "take over the mount on %s", path);
    return 0;
}

static int assemble(struct serve *s, struct error *e)
{
    const struct serve_config *c = &s->config;
    int r = slots_open(c->slots_fd, &s->slots, e);
    if (r == 0)
        r = answers_new(ANSWERS, &s->lower.answers, e);
    if (r == 0)
        r = inodes_new(c->tree, c->groups, c->group_count, &s->lower.inodes, e);
    if (r == 0)
        r = content_new(c->source, s->lower.answers, &s->lower.content, e);
    if (r == 0)
        r = open_session(s, e);
    return r;
}

int serve_new(const struct serve_config *c, struct serve **ret, struct error *e)
{
    /* Whatever the daemon starts must not keep the mount alive. */
    if (fcntl(c->fuse_fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(c->slots_fd, F_SETFD, FD_CLOEXEC) < 0)
        return error_set(e, ERROR_FAILED, -errno, "use the supervisor's descriptors");

    struct serve *s = mem_new(1, sizeof(*s));
    s->config = *c;
    s->lower.bytes = c->bytes;
    s->lower.touched = c->touched;
    s->lower.touched_arg = c->arg;
    int r = assemble(s, e);
    if (r < 0) {
        serve_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

void serve_free(struct serve *s)
{
    if (!s)
        return;
    if (s->session)
        fuse_session_destroy(s->session); /* closes fuse_fd */
    content_free(s->lower.content);
    inodes_free(s->lower.inodes);
    answers_free(s->lower.answers);
    slots_close(s->slots);
    free(s);
}

static void process(void *arg, const void *request, size_t len)
{
    struct serve *s = arg;
    struct fuse_buf buf = { .mem = (void *)request, .size = len };
    fuse_session_process_buf(s->session, &buf);
}

static void ready(void *arg)
{
    struct serve *s = arg;
    if (s->config.ready)
        s->config.ready(s->config.arg);
}

static void ended(void *arg)
{
    struct serve *s = arg;
    if (s->config.ended)
        s->config.ended(s->config.arg);
}

int serve_run(struct serve *s, struct error *e)
{
    const struct loop_config loop = {
        .fuse_fd = s->config.fuse_fd,
        .slots = s->slots,
        .threads = s->config.threads ? s->config.threads : SERVE_THREADS,
        .process = process,
        .ready = ready,
        .ended = ended,
        .arg = s,
    };
    return loop_run(&loop, e);
}

void serve_stats(struct serve *s, struct serve_stats *ret)
{
    ret->waiting_reads = content_waiting(s->lower.content);
    slots_pids(s->slots, &ret->supervisor, &ret->daemon);
}
