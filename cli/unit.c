/* SPDX-License-Identifier: MIT */
#include "cli/unit.h"

#include "cli/place.h"
#include "cli/spawn.h"
#include "fusefs/supervisor.h"
#include "index/base/fd.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#define START_MS 60000
#define ENVIRONMENT_MAX (1024u * 1024)

static const struct {
    const char *command;
    const char *const *properties;
} kinds[] = {
    [UNIT_TREE] = { "boxfs", (const char *const[]){ "KillMode=mixed", "RefuseManualStop=yes", "TimeoutStopSec=5",
                                                    "OOMScoreAdjust=-900", NULL } },
    /* One process that takes too much is ended, the box goes on. Delegate: the group that can be frozen is below. */
    [UNIT_BOX] = { "boxrun", (const char *const[]){ "KillMode=mixed", "TimeoutStopSec=20", "Delegate=yes",
                                                    "TasksMax=4096", "MemorySwapMax=0", "OOMPolicy=continue",
                                                    "ManagedOOMPreference=avoid", NULL } },
};

void unit_argv(const struct unit *u, const char *program, const char *ready, struct words *ret)
{
    *ret = (struct words){ 0 };
    words_add_all(ret, "systemd-run", "--quiet", NULL);
    words_addf(ret, "--unit=%s-%s", kinds[u->kind].command, u->name);
    words_addf(ret, "--description=ag-box: the %s of %s", u->kind == UNIT_TREE ? "tree" : "box", u->name);
    words_add_all(ret, "--property=Type=exec", "--property=CollectMode=inactive-or-failed", NULL);
    for (const char *const *p = kinds[u->kind].properties; *p; p++)
        words_addf(ret, "--property=%s", *p);
    if (u->kind == UNIT_BOX)
        words_addf(ret, "--property=After=boxfs-%s.service", u->name);
    if (u->kind == UNIT_BOX && u->memory_max)
        words_addf(ret, "--property=MemoryMax=%llu", (unsigned long long)u->memory_max);
    words_addf(ret, "--setenv=AGBOX_READY=%s", ready);
    words_add_all(ret, "--", program, kinds[u->kind].command, u->name, NULL);
}

static bool same_mount_namespace(void)
{
    struct stat init, own;
    return stat("/proc/1/ns/mnt", &init) == 0 && stat("/proc/self/ns/mnt", &own) == 0 && init.st_ino == own.st_ino &&
           init.st_dev == own.st_dev;
}

bool unit_possible(const struct config *c)
{
#ifdef AGBOX_FAULT
    if (getenv("AGBOX_TEST_UNIT")) /* tests bring a systemd-run of their own */
        return true;
#endif
    return c->default_dirs && access("/run/systemd/system", F_OK) == 0 && same_mount_namespace();
}

/* --- the starter */

static int listen_at(const char *path, int *ret, struct error *e)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(at.sun_path))
        return error_say(e, ERROR_USAGE, -ENAMETOOLONG, "%s is too long for a socket's name", path);
    memcpy(at.sun_path, path, strlen(path));
    unlink(path);
    *ret = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*ret < 0 || bind(*ret, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(*ret, 1) < 0)
        return error_set(e, ERROR_FAILED, -errno, "listen at %s", path);
    return 0;
}

static int run_systemd(const struct words *argv, const char *log, pid_t *ret, struct error *e)
{
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC), out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (null < 0 || out < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
            _exit(127);
        execvp(argv->items[0], argv->items);
        _exit(127);
    }
    *ret = pid;
    return pid < 0 ? error_set(e, ERROR_FAILED, -errno, "start systemd-run") : 0;
}

/* Until the service connects. systemd-run may have ended before, if that was with 0. */
static int wait_for_service(int listener, pid_t systemd_run, int *ret, struct error *e)
{
    _cleanup_close_ int ended = (int)syscall(SYS_pidfd_open, systemd_run, 0);
    struct pollfd p[] = { { .fd = listener, .events = POLLIN }, { .fd = ended, .events = POLLIN } };
    for (;;) {
        int n = poll(p, 2, START_MS);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            return error_say(e, ERROR_FAILED, -ETIMEDOUT, "systemd has not started it within %d s", START_MS / 1000);
        if (n < 0)
            return error_set(e, ERROR_FAILED, -errno, "poll");
        if (p[0].revents) {
            *ret = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
            return *ret < 0 ? error_set(e, ERROR_FAILED, -errno, "accept") : 0;
        }
        int status = 0;
        waitpid(systemd_run, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            return error_say(e, ERROR_FAILED, -EIO, "systemd-run could not start it");
        p[1].fd = -1;
    }
}

/* u32 length, then NAME=VALUE and a NUL each. */
static int send_environment(int fd, struct error *e)
{
    _cleanup_(buf_release) struct buf block = { 0 };
    for (char **v = environ; *v; v++)
        buf_add(&block, *v, strlen(*v) + 1);
    uint32_t length = (uint32_t)block.len;
    if (block.len > ENVIRONMENT_MAX)
        return error_say(e, ERROR_USAGE, -E2BIG, "the environment is larger than %u bytes", ENVIRONMENT_MAX);
    int r = fd_write_all(fd, &length, sizeof(length), e);
    return r < 0 ? r : fd_write_all(fd, block.data, block.len, e);
}

static int start_service(const struct config *c, const struct unit *u, const char *log, struct error *e)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n < 0)
        return error_set(e, ERROR_FAILED, -errno, "read /proc/self/exe");
    self[n] = '\0';
    _cleanup_free_ char *ready = place_in_run(c, u->name, u->kind == UNIT_TREE ? "ready-tree" : "ready-box");
    _cleanup_(words_release) struct words argv = { 0 };
    _cleanup_close_ int listener = -1, service = -1;
    pid_t systemd_run = -1;
    unit_argv(u, self, ready, &argv);
    int r = listen_at(ready, &listener, e);
    if (r == 0)
        r = run_systemd(&argv, log, &systemd_run, e);
    if (r == 0)
        r = wait_for_service(listener, systemd_run, &service, e);
    if (r == 0)
        r = send_environment(service, e);
    _cleanup_free_ char *name = mem_printf("%s-%s", kinds[u->kind].command, u->name);
    if (r == 0)
        r = spawn_await(service, name, "the journal", e);
    if (systemd_run > 0)
        waitpid(systemd_run, NULL, 0);
    unlink(ready);
    if (r < 0 && !(e && e->hint[0]))
        error_hint(e, "journalctl -u %s-%s", kinds[u->kind].command, u->name);
    return r;
}

int unit_start(const struct config *c, const struct unit *u, const char *log, struct error *e)
{
    if (!unit_possible(c))
        return spawn_daemon(kinds[u->kind].command, u->name, log, NULL, e);
    int r = start_service(c, u, log, e);
    return r < 0 ? error_prefix(e, "start %s-%s", kinds[u->kind].command, u->name), r : 0;
}

/* --- the service */

static int read_all(int fd, void *to, size_t n, struct error *e)
{
    for (uint8_t *at = to; n > 0;) {
        ssize_t got = read(fd, at, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_set(e, ERROR_FAILED, got < 0 ? -errno : -EPIPE, "the starter's environment");
        at += got;
        n -= (size_t)got;
    }
    return 0;
}

/* What systemd has set for this service stays. */
static bool is_services(const char *entry)
{
    static const char *const own[] = { "JOURNAL_STREAM=", "INVOCATION_ID=", "NOTIFY_SOCKET=", "SYSTEMD_EXEC_PID=" };
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strncmp(entry, own[i], strlen(own[i])) == 0)
            return true;
    return false;
}

static int receive_environment(int fd, struct error *e)
{
    uint32_t length = 0;
    int r = read_all(fd, &length, sizeof(length), e);
    if (r == 0 && length > ENVIRONMENT_MAX)
        r = error_say(e, ERROR_FAILED, -E2BIG, "the starter's environment is too large");
    _cleanup_free_ char *block = r == 0 ? mem_new(1, (size_t)length + 1) : NULL;
    if (r == 0)
        r = read_all(fd, block, length, e);
    for (char *at = block; r == 0 && at < block + length; at += strlen(at) + 1)
        if (strchr(at, '=') && !is_services(at))
            putenv(mem_strdup(at));
    return r;
}

int unit_inherit(const char *ready, struct error *e)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    if (strlen(ready) >= sizeof(to.sun_path))
        return error_say(e, ERROR_USAGE, -ENAMETOOLONG, "AGBOX_READY is too long");
    memcpy(to.sun_path, ready, strlen(ready));
    unsetenv("AGBOX_READY");
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        return error_set(e, ERROR_FAILED, -errno, "connect to the starter, %s", to.sun_path);
    int r = receive_environment(fd, e);
    if (r == 0 && dup2(fd, SUPERVISOR_READY_FD) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "dup2");
    if (fd == SUPERVISOR_READY_FD)
        fcntl(mem_steal_fd(&fd), F_SETFD, 0);
    return r;
}

bool unit_keeps(const struct unit *u, pid_t pid)
{
    char path[64], line[PATH_MAX];
    _cleanup_free_ char *part = mem_printf("/%s-%s.service", kinds[u->kind].command, u->name);
    snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
    FILE *f = pid > 0 ? fopen(path, "re") : NULL;
    bool found = false;
    while (f && !found && fgets(line, sizeof(line), f)) {
        const char *at = strstr(line, part);
        found = at && (at[strlen(part)] == '\n' || at[strlen(part)] == '/');
    }
    if (f)
        fclose(f);
    return found;
}
