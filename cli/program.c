/* SPDX-License-Identifier: MIT */
#include "cli/program.h"

#include "cli/interrupt.h"
#include "index/base/clock.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define LOOK_MS 100 /* how soon Ctrl-C is seen */

char *program_find(const char *name)
{
    const char *path = getenv("PATH");
    _cleanup_free_ char *list = mem_strdup(path ? path : "/usr/local/bin:/usr/bin:/bin");
    char *rest = list;
    for (char *directory; (directory = strsep(&rest, ":"));) {
        _cleanup_free_ char *candidate = mem_printf("%s/%s", *directory ? directory : ".", name);
        if (access(candidate, X_OK) == 0)
            return mem_steal(candidate);
    }
    return NULL;
}

struct running {
    struct program_call *call;
    pid_t pid;
    int exit_fd, out_fd, err_fd; /* -1: none, or at its end */
};

static _Noreturn void replace_by(const char *const *argv, const char *const *environment)
{
    signal(SIGPIPE, SIG_DFL);
    close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
    execvpe(argv[0], (char *const *)(uintptr_t)argv, environment ? (char *const *)(uintptr_t)environment : environ);
    _exit(127);
}

static _Noreturn void become(const struct program_call *call, int out_fd, int err_fd)
{
    setpgid(0, 0);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out_fd, 1) < 0 || dup2(err_fd, 2) < 0)
        _exit(126);
    replace_by(call->argv, call->environment);
}

static int start(struct running *r)
{
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) < 0)
        return -errno;
    _cleanup_close_ int out_read = out[0], out_write = out[1];
    if (pipe2(err, O_CLOEXEC) < 0)
        return -errno;
    _cleanup_close_ int err_read = err[0], err_write = err[1];
    r->pid = fork();
    if (r->pid < 0)
        return -errno;
    if (r->pid == 0)
        become(r->call, out_write, err_write);
    setpgid(r->pid, r->pid); /* whoever of the two comes first: it can be killed with all it started */
    r->exit_fd = (int)syscall(SYS_pidfd_open, r->pid, 0);
    if (r->exit_fd < 0) {
        int error = -errno;
        kill(-r->pid, SIGKILL);
        waitpid(r->pid, NULL, 0);
        return error;
    }
    fcntl(out_read, F_SETFL, O_NONBLOCK);
    fcntl(err_read, F_SETFL, O_NONBLOCK);
    r->out_fd = mem_steal_fd(&out_read);
    r->err_fd = mem_steal_fd(&err_read);
    return 0;
}

/* What is there now, until `to` has more than max. */
static void take(int *fd, struct buf *to, size_t max)
{
    char piece[4096];
    ssize_t n = 0;
    while (*fd >= 0 && to->len <= max && (n = read(*fd, piece, sizeof(piece))) > 0)
        buf_add(to, piece, (size_t)n);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        mem_closep(fd);
}

static void keep_end(struct buf *b, size_t max)
{
    if (b->len <= max)
        return;
    memmove(b->data, b->data + b->len - max, max);
    b->len = max;
}

/* All that is there now. True: the output is too much, and no more is taken. */
static bool take_both(struct running *r)
{
    take(&r->out_fd, &r->call->output, PROGRAM_OUTPUT_MAX);
    take(&r->err_fd, &r->call->errors, 2 * PROGRAM_OUTPUT_MAX); /* a pipe's worth more than is kept */
    keep_end(&r->call->errors, PROGRAM_OUTPUT_MAX);
    return r->call->output.len > PROGRAM_OUTPUT_MAX;
}

static int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* It has ended (0), or is to end for this reason. Something that it left behind may hold its pipes open: nobody waits
 * for that. */
static void finish(struct running *r, int why)
{
    int status = 0;
    if (why < 0)
        kill(-r->pid, SIGKILL);
    while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (take_both(r) && why == 0)
        why = -EFBIG;
    r->call->code = why < 0 ? why : code_of(status);
    int *fds[] = { &r->exit_fd, &r->out_fd, &r->err_fd };
    for (size_t i = 0; i < 3; i++)
        mem_closep(fds[i]);
}

static void begin(struct running *r, struct program_call *call)
{
    *r = (struct running){ .call = call, .exit_fd = -1, .out_fd = -1, .err_fd = -1 };
    call->output = call->errors = (struct buf){ 0 };
    call->code = start(r);
}

void program_ask(struct program_call *calls, size_t count, int timeout_ms)
{
    int64_t deadline = clock_boot_ns() + timeout_ms * INT64_C(1000000);
    _cleanup_free_ struct running *all = mem_new(count, sizeof(*all));
    _cleanup_free_ struct pollfd *fds = mem_new(count * 3, sizeof(*fds));
    for (size_t i = 0; i < count; i++)
        begin(&all[i], &calls[i]);
    for (;;) {
        size_t open = 0;
        for (size_t i = 0; i < count; i++) {
            fds[i * 3] = (struct pollfd){ .fd = all[i].exit_fd, .events = POLLIN };
            fds[i * 3 + 1] = (struct pollfd){ .fd = all[i].out_fd, .events = POLLIN };
            fds[i * 3 + 2] = (struct pollfd){ .fd = all[i].err_fd, .events = POLLIN };
            open += all[i].exit_fd >= 0;
        }
        if (open == 0)
            return;
        int64_t left_ms = (deadline - clock_boot_ns()) / 1000000;
        bool too_late = left_ms <= 0 || interrupt_seen();
        if (!too_late && poll(fds, count * 3, (int)(left_ms < LOOK_MS ? left_ms : LOOK_MS)) < 0)
            continue;
        for (size_t i = 0; i < count; i++) {
            if (all[i].exit_fd < 0)
                continue;
            bool too_much = take_both(&all[i]), ended = fds[i * 3].revents != 0;
            if (too_much || too_late || ended)
                finish(&all[i], too_much ? -EFBIG : ended ? 0 : -ETIMEDOUT);
        }
    }
}

void program_release(struct program_call *call)
{
    buf_release(&call->output);
    buf_release(&call->errors);
}

void program_complaint(const struct program_call *call, char to[128])
{
    const char *text = (const char *)call->errors.data;
    size_t end = call->errors.len;
    while (end > 0 && (text[end - 1] == '\n' || text[end - 1] == '\r'))
        end--;
    size_t begin = end;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    if (call->code == -ETIMEDOUT)
        snprintf(to, 128, "no answer in time");
    else if (call->code == -EFBIG)
        snprintf(to, 128, "it says more than %u KiB", PROGRAM_OUTPUT_MAX / 1024);
    else if (call->code < 0)
        snprintf(to, 128, "%s", strerror(-call->code));
    else if (end > begin)
        snprintf(to, 128, "%.*s", (int)(end - begin < 120 ? end - begin : 120), text + begin);
    else
        snprintf(to, 128, call->code == 127 ? "there is no %s on the PATH" : "%s ended with %d", call->argv[0],
                 call->code);
}

int program_run(const char *const *argv, int *ret_code, struct error *e)
{
    pid_t pid = fork();
    if (pid < 0)
        return error_set(e, ERROR_FAILED, -errno, "start %s", argv[0]);
    if (pid == 0)
        replace_by(argv, NULL);
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) /* Ctrl-C goes to it, too: it is the one that says how that ends */
            return error_set(e, ERROR_FAILED, -errno, "wait for %s", argv[0]);
    *ret_code = code_of(status);
    return 0;
}
