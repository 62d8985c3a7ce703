/* SPDX-License-Identifier: MIT */
#include "fusefs/session.h"

#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <sys/socket.h>

struct session {
    struct fuse_session *fuse;
    int fuse_fd;
    int answers; /* libfuse's answer to FUSE_INIT arrives here */
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

/* libfuse is given one end of a pair of sockets as its descriptor; session_init puts /dev/fuse in its place. */
int session_open(struct lower *lower, int fuse_fd, struct session **ret, struct error *e)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_set(e, ERROR_FAILED, -errno, "start a FUSE session");
    struct session *s = mem_new(1, sizeof(*s));
    s->fuse_fd = fuse_fd;
    s->answers = pair[0];

    char *argv[] = { (char *)"ag-box", NULL }, path[32];
    struct fuse_args args = FUSE_ARGS_INIT(1, argv);
    fuse_set_log_func(log_fuse);
    s->fuse = fuse_session_new(&args, &lower_operations, sizeof(lower_operations), lower);
    fuse_opt_free_args(&args);
    snprintf(path, sizeof(path), "/dev/fd/%d", pair[1]);
    if (!s->fuse || fuse_session_mount(s->fuse, path) != 0) {
        close(pair[1]);
        session_close(s);
        return error_say(e, ERROR_FAILED, -EIO, "start a FUSE session");
    }
    *ret = s;
    return 0;
}

int session_init(struct session *s, struct bytes request, struct error *e)
{
    struct {
        struct fuse_out_header header;
        struct fuse_init_out init;
    } answer;
    if (request.len < sizeof(struct fuse_in_header) + 16)
        return error_say(e, ERROR_FAILED, -EINVAL, "the request slots hold no FUSE_INIT");
    session_process(s, request.data, request.len);
    ssize_t n = recv(s->answers, &answer, sizeof(answer), MSG_DONTWAIT | MSG_TRUNC);
    if (n < (ssize_t)sizeof(answer.header) || n > (ssize_t)sizeof(answer))
        return error_say(e, ERROR_FAILED, -EPROTO, "libfuse does not answer FUSE_INIT as expected");

    const struct fuse_init_in *in = (const void *)(request.data + sizeof(struct fuse_in_header));
    if (answer.header.error == 0)
        answer.init.flags |= in->flags & FUSE_PARALLEL_DIROPS;
    if (dup3(s->fuse_fd, fuse_session_fd(s->fuse), O_CLOEXEC) < 0)
        return error_set(e, ERROR_FAILED, -errno, "start a FUSE session");
    if (write(s->fuse_fd, &answer, (size_t)n) < 0 && errno != ENOENT)
        return error_set(e, ERROR_FAILED, -errno, "answer FUSE_INIT");
    return 0;
}

void session_process(struct session *s, const void *request, size_t len)
{
    struct fuse_buf buf = { .mem = (void *)request, .size = len };
    fuse_session_process_buf(s->fuse, &buf);
}

void session_close(struct session *s)
{
    if (!s)
        return;
    if (s->fuse)
        fuse_session_destroy(s->fuse); /* closes its descriptor */
    close(s->answers);
    free(s);
}
