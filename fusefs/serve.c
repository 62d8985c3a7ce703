/* SPDX-License-Identifier: MIT */
#include "fusefs/serve.h"

#include "fusefs/guess.h"
#include "fusefs/loop.h"
#include "fusefs/session.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <unistd.h>

#define ANSWERS 8u

struct serve {
    struct serve_config config;
    struct requests *requests;
    struct guess *guess; /* NULL: the pages are near */
    struct lower lower;
    struct session *session;
};

static int assemble(struct serve *s, struct error *e)
{
    const struct serve_config *c = &s->config;
    int r = requests_open(c->slots_fd, &s->requests, e);
    if (r == 0)
        r = answers_new(ANSWERS, &s->lower.answers, e);
    if (r == 0)
        r = inode_map_new(c->tree, c->groups, c->group_count, c->apart, &s->lower.inodes, e);
    if (r == 0 && c->far)
        r = guess_new(c->tree, &s->guess, e);
    if (r == 0)
        inode_map_guess(s->lower.inodes, s->guess);
    if (r == 0)
        r = reader_new(c->source, s->lower.answers, &s->lower.reader, e);
    if (r == 0)
        r = session_open(&s->lower, c->fuse_fd, &s->session, e);
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
    session_close(s->session);
    guess_free(s->guess);
    reader_free(s->lower.reader);
    inode_map_free(s->lower.inodes);
    answers_free(s->lower.answers);
    requests_close(s->requests);
    free(s);
}

static void process(void *arg, const void *request, size_t len)
{
    struct serve *s = arg;
    session_process(s->session, request, len);
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
        .requests = s->requests,
        .threads = s->config.threads ? s->config.threads : SERVE_THREADS,
        .process = process,
        .ready = ready,
        .ended = ended,
        .arg = s,
    };
    int r = session_init(s->session, requests_init(s->requests), e);
    return r < 0 ? r : loop_run(&loop, e);
}

/*
 * Reads of tasks that are no more: the kernel reads ahead for a task without telling us when that is killed, so their
 * threads wait on, for nobody. A look at slots that change meanwhile; it decides nothing.
 */
static unsigned reads_for_nobody(const struct serve *s)
{
    unsigned count = 0;
    for (unsigned i = 0; i < REQUESTS_SLOTS; i++) {
        const struct fuse_in_header *in = requests_slot(s->requests, i);
        char task[32];
        snprintf(task, sizeof(task), "/proc/%u", in->pid);
        if (requests_pending(s->requests, i) && in->opcode == FUSE_READ && in->pid && access(task, F_OK) < 0)
            count++;
    }
    return count;
}

void serve_stats(struct serve *s, struct serve_stats *ret)
{
    ret->waiting_reads = reader_waiting(s->lower.reader);
    ret->given_up = reads_for_nobody(s);
    requests_pids(s->requests, &ret->supervisor, &ret->daemon);
}

void serve_without_xattrs(struct serve *s)
{
    s->lower.no_xattrs = true;
}

void serve_complete(struct serve *s)
{
    if (s->guess)
        guess_end(s->guess);
}
