/* SPDX-License-Identifier: MIT */
#include "cli/check.h"

#include "cli/program.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "sandbox/group.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define RUN_MS 10000
#define REDIRECT_MAX "/sys/module/overlay/parameters/redirect_max"
#define REDIRECT_NEEDED 4096
#define TIOCSTI "/proc/sys/dev/tty/legacy_tiocsti"
#define NAMESPACES "/proc/sys/user/max_user_namespaces"
#define DISK_NEEDED (UINT64_C(2) << 30)

/* A file of /proc or /sys that holds one number. -ENOENT: there is no such file. */
static int number_in(const char *path, uint64_t *ret)
{
    _cleanup_(buf_release) struct buf text = { 0 };
    int r = fd_read_file(AT_FDCWD, path, 4096, &text, NULL);
    if (r < 0)
        return r;
    while (text.len > 0 && (text.data[text.len - 1] == '\n' || text.data[text.len - 1] == ' '))
        text.len--;
    return text_parse_u64(buf_string(&text), UINT64_MAX, ret);
}

void check_fuse(struct checking *c, struct check_answer *a)
{
    _cleanup_close_ int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fuse >= 0)
        check_ok(a, "/dev/fuse can be opened");
    else
        check_fail(a, "modprobe fuse; in a container: let it have /dev/fuse",
                   "/dev/fuse: %s: boxes come up in full mode only, as plain directories", strerror(errno));
}

void check_overlay(struct checking *c, struct check_answer *a)
{
    _cleanup_close_ int overlay = (int)syscall(SYS_fsopen, "overlay", 1 /* FSOPEN_CLOEXEC */);
    uint64_t redirect;
    if (overlay < 0 && errno != ENOSYS)
        check_fail(a, "modprobe overlay, as root of the machine itself", "overlayfs: %s", strerror(errno));
    else if (number_in(REDIRECT_MAX, &redirect) < 0)
        check_ok(a, "overlayfs is there");
    else if (redirect < REDIRECT_NEEDED)
        check_warn(a, "echo 4096 >" REDIRECT_MAX ", and contrib/install for the next boot",
                   "redirect_max is %llu: rename fails in deep directories", (unsigned long long)redirect);
    else
        check_ok(a, "overlayfs is there, redirect_max is %llu", (unsigned long long)redirect);
}

/* One run of a program, and what it wrote first. */
static bool runs(const char *const *argv, char line[80], char why[128])
{
    struct program_call call = { .argv = argv };
    program_ask(&call, 1, RUN_MS);
    snprintf(line, 80, "%.79s", buf_string(&call.output));
    line[strcspn(line, "\n")] = '\0';
    program_complaint(&call, why);
    bool done = call.code == 0;
    program_release(&call);
    return done;
}

void check_bwrap(struct checking *c, struct check_answer *a)
{
    static const char *const version[] = { "bwrap", "--version", NULL };
    static const char *const box[] = {
        "bwrap", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--ro-bind", "/",    "/", "--proc",
        "/proc", "--dev",         "/dev",          "--tmpfs",       "/tmp",      "true", NULL
    };
    char line[80], ignored[80], why[128];
    if (!runs(version, line, why))
        check_fail(a, "apt-get install bubblewrap", "bwrap: %s", why);
    else if (!runs(box, ignored, why))
        check_fail(a, "in a container: it must be allowed to make namespaces and to mount",
                   "bwrap cannot make a box: %s", why);
    else
        check_ok(a, "%s makes a box", line);
}

static bool makes_user_namespace(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(unshare(CLONE_NEWUSER) < 0);
    int status = 1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Boxes do without: what agents put around their own commands does not. */
void check_userns(struct checking *c, struct check_answer *a)
{
    uint64_t most;
    if (number_in(NAMESPACES, &most) == 0 && most == 0)
        check_warn(a, "sysctl -w user.max_user_namespaces=15000",
                   "user namespaces are switched off: agents' own sandboxes do not work");
    else if (!makes_user_namespace())
        check_warn(a,
                   "look at sysctl kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns",
                   "no user namespace can be made: agents' own sandboxes do not work");
    else
        check_ok(a, "user namespaces can be made");
}

void check_tmux(struct checking *c, struct check_answer *a)
{
    static const char *const version[] = { "tmux", "-V", NULL };
    char line[80], why[128];
    if (runs(version, line, why))
        check_ok(a, "%s", line);
    else
        check_fail(a, "apt-get install tmux", "tmux: %s", why);
}

static bool has_systemd(void)
{
    return access("/run/systemd/system", F_OK) == 0;
}

void check_systemd(struct checking *c, struct check_answer *a)
{
    _cleanup_free_ char *run = program_find("systemd-run");
    if (!has_systemd())
        check_warn(a, "a node that has systemd as its init limits them",
                   "systemd is not the init here: boxes run directly, without a limit of memory");
    else if (!run)
        check_fail(a, "apt-get install systemd", "systemd-run is not on the PATH");
    else
        check_ok(a, "boxes run as transient units");
}

void check_freezer(struct checking *c, struct check_answer *a)
{
    struct group g = { 0 };
    group_make("doctor", &g);
    if (g.v2 || g.v1)
        check_ok(a, "a box can be frozen for a snapshot (cgroup %s)", g.v2 ? "v2" : "v1");
    else
        check_warn(a, "let this machine write to its own cgroup (in a container: Delegate=yes)",
                   "no control group can be made: a snapshot of a running box is not of one moment");
    group_remove(&g);
}

void check_tiocsti(struct checking *c, struct check_answer *a)
{
    uint64_t allowed;
    int r = number_in(TIOCSTI, &allowed);
    if (r < 0)
        check_ok(a, "this kernel has no sysctl for TIOCSTI; in boxes it is filtered");
    else if (allowed)
        check_warn(a, "sysctl -w dev.tty.legacy_tiocsti=0 (contrib/install does it at boot)",
                   "programs may type into their terminal (TIOCSTI); in boxes it is filtered");
    else
        check_ok(a, "TIOCSTI is switched off, and filtered in boxes");
}

void check_disk(struct checking *c, struct check_answer *a)
{
    struct statvfs s;
    _cleanup_free_ char *path = mem_strdup(c->config->state_dir);
    while (access(path, F_OK) < 0 && strrchr(path, '/') > path) /* before the first box it is not there yet */
        *strrchr(path, '/') = '\0';
    if (statvfs(path, &s) < 0) {
        check_fail(a, "make the directory, on a disk of its own if you like", "%s: %s", path, strerror(errno));
        return;
    }
    char size[16];
    uint64_t left = (uint64_t)s.f_bavail * s.f_frsize;
    text_size(size, left);
    if (left < DISK_NEEDED)
        check_warn(a, "make room; ag-box needs none of $AGBOX_STATE_DIR/cache, but is slower without", "%s left for %s",
                   size, c->config->state_dir);
    else
        check_ok(a, "%s left for %s", size, c->config->state_dir);
}

void check_timers(struct checking *c, struct check_answer *a)
{
    static const char *const units[] = { "box-snapshot.timer", "box-prune.timer", "box-resume.service" };
    static const char hint[] = "contrib/install";
    if (!has_systemd()) {
        check_warn(a, "have `ag-box snapshot --active` run every hour, and `ag-box prune` every day",
                   "without systemd no timer sends what changed");
        return;
    }
    char missing[128] = "";
    for (size_t i = 0, at = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        const char *const argv[] = { "systemctl", "is-enabled", units[i], NULL };
        char line[80], why[128];
        if (!runs(argv, line, why))
            at += (size_t)snprintf(missing + at, sizeof(missing) - at, " %s (%.20s)", units[i],
                                   *line ? line : "not there");
    }
    if (*missing)
        check_warn(a, hint, "not enabled:%s", missing);
    else
        check_ok(a, "snapshots, prune and resume are enabled");
}
