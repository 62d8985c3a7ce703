/* SPDX-License-Identifier: MIT */
#include "cli/mounts.h"

#include "cli/box.h"
#include "cli/patience.h"
#include "cli/place.h"
#include "cli/spawn.h"
#include "cli/unit.h"
#include "fusefs/control.h"
#include "fusefs/mount.h"
#include "fusefs/overlay.h"
#include "fusefs/supervisor.h"
#include "index/base/clock.h"
#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/log.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#define DAEMON_STOP_NS 10000000000
#define DAEMON_LOOK_MS 10
#define DAEMON_ASK_MS 1000
#define DAEMON_END_MS 1000

struct paths {
    char *lower, *tree, *upper, *work, *project, *source;
};

static void paths_release(struct paths *p)
{
    free(p->lower);
    free(p->tree);
    free(p->upper);
    free(p->work);
    free(p->project);
    free(p->source);
}

static struct paths paths_of(const struct stack *s)
{
    _cleanup_free_ char *layers = mem_printf("%s/box/%s/%s", s->config->state_dir, s->name, s->record.upper);
    return (struct paths){
        .lower = place_in_run(s->config, s->name, "lower"),
        .tree = place_in_run(s->config, s->name, "tree"),
        .upper = mem_printf("%s/upper", layers),
        .work = mem_printf("%s/work", layers),
        .project = mem_printf("%s/%s/tree/project", s->config->run_dir, s->name),
        .source = mem_printf("ag-box:%s", s->name),
    };
}

static struct overlay overlay_of(const struct paths *p)
{
    return (struct overlay){
        .lower = p->lower, .upper = p->upper, .work = p->work, .target = p->tree, .source = p->source
    };
}

/* found: something is mounted at path; ours: of this type, and this box's. */
static int look_at(const char *path, const char *type, const char *source, bool *found, bool *ours, struct error *e)
{
    struct mount_found m;
    struct error why = { 0 };
    int r = mount_find(path, &m, &why);
    if (r < 0 && r != -ENOENT) {
        error_pass(e, &why);
        return r;
    }
    *found = r == 0;
    *ours = r == 0 && strcmp(m.type, type) == 0 && strcmp(m.source, source) == 0;
    return 0;
}

/*
 * Without its supervisor and daemon a FUSE file system stays mounted, and answers nothing for ever. A daemon that is
 * there is not waited for: of one that is stopped, or stuck, the file system cannot even be asked.
 */
static bool is_dead(struct stack *s, const char *lower)
{
    struct statfs st;
    _cleanup_free_ char *path = place_in_run(s->config, s->name, "socket");
    json_t *request = json_pack("{s:s}", "command", "status");
    int r = control_call(path, request, 0, NULL, NULL);
    json_decref(request);
    if (r != -ENOENT && r != -ECONNREFUSED)
        return false;
    return statfs(lower, &st) < 0 && (errno == ENOTCONN || errno == ECONNABORTED);
}

int mounts_look(struct stack *s, enum mounts_state *ret, struct error *e)
{
    _cleanup_(paths_release) struct paths p = paths_of(s);
    bool lower = false, tree = false, shown = false, is_fuse = false, is_overlay = false, is_shown = false;
    int r = look_at(p.lower, "fuse.ag-box", p.source, &lower, &is_fuse, e);
    if (r == 0)
        r = look_at(p.tree, "overlay", p.source, &tree, &is_overlay, e);
    if (r == 0 && s->record.path)
        r = look_at(s->record.path, "overlay", p.source, &shown, &is_shown, e);
    if (r < 0)
        return r;
    if (is_fuse && is_overlay && !is_dead(s, p.lower))
        *ret = is_shown ? MOUNTS_SHOWN : MOUNTS_TREE;
    else
        *ret = lower || tree || is_shown ? MOUNTS_PARTLY : MOUNTS_NONE;
    return 0;
}

static char *daemon_log(const struct stack *s)
{
    return place_in_box(s->config, s->name, "daemon.log");
}

int mounts_start_daemon(struct stack *s, struct error *e)
{
    _cleanup_free_ char *run = place_run(s->config, s->name), *log = daemon_log(s);
    if (s->daemon.pid)
        return spawn_finish(&s->daemon, s->name, log, e);
    int r = fd_make_directories(run, 0700, e);
    struct unit u = { .kind = UNIT_TREE, .name = s->name };
    return r < 0 ? r : unit_start(s->config, &u, log, e);
}

void mounts_expect(struct stack *s)
{
    _cleanup_free_ char *run = place_run(s->config, s->name), *log = daemon_log(s);
    struct error e = { 0 };
    if (mounts_missing() || s->daemon.pid || unit_possible(s->config)) /* a service is systemd's child, not ours */
        return;
    int r = fd_make_directories(run, 0700, &e);
    if (r == 0)
        r = spawn_early("boxfs", s->name, log, &s->daemon, &e);
    if (r < 0)
        log_info("%s", e.text); /* it will be started, or fail, when it is needed */
}

/* A journal that names an upper is never found without one, whatever the power does. */
static int make_upper(struct stack *s, const struct overlay *o, const char *layers, struct error *e)
{
    int r = overlay_make_upper(o, e);
    if (r < 0)
        return r;
    _cleanup_close_ int fd = open(layers, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || fsync(fd) < 0 || fsync(s->box_dir) < 0 ? error_set(e, ERROR_FAILED, -errno, "fsync %s", layers)
                                                            : 0;
}

int mounts_up(struct stack *s, bool fresh, struct error *e)
{
    _cleanup_(paths_release) struct paths p = paths_of(s);
    _cleanup_free_ char *layers = place_in_box(s->config, s->name, s->record.upper);
    struct overlay o = overlay_of(&p);
    int r = fd_make_directories(p.lower, 0700, e);
    if (r == 0)
        r = fd_make_directories(p.tree, 0700, e);
    if (r == 0)
        r = fd_make_directories(layers, 0700, e);
    if (r == 0 && fresh)
        r = make_upper(s, &o, layers, e);
    if (r < 0)
        return r;
    crash_point("mount-upper.after");
    r = mounts_start_daemon(s, e);
    if (r < 0)
        return r;
    crash_point("mount-lower.after");
    r = overlay_mount(&o, e);
    crash_point("mount-overlay.after");
    return r;
}

/* Directories above the project that this node has never had: as mkdir would make them, not as our own are. */
static int make_parents(const char *path, struct error *e)
{
    const char *slash = strrchr(path, '/');
    if (slash == path)
        return 0;
    _cleanup_free_ char *parent = mem_copy(path, (size_t)(slash - path));
    mode_t ours = umask(022);
    int r = fd_make_directories(parent, 0755, e);
    umask(ours);
    return r;
}

int mounts_show(struct stack *s, struct error *e)
{
    _cleanup_(paths_release) struct paths p = paths_of(s);
    int r = make_parents(s->record.path, e);
    if (r == 0)
        r = mount_point_guard(s->record.path, e);
    if (r < 0)
        return r;
    r = mount_bind(p.project, s->record.path, false, e);
    crash_point("mount-bind.after");
    return r;
}

void mounts_leave_point(const char *path)
{
    struct error why = { 0 };
    struct stat st;
    pid_t user = 0;
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || (st.st_mode & 07777) != 0)
        return;
    if (mount_point_used(path, &user, &why) == 0 && user)
        log_info("%s stays: process %d has something mounted there", path, user);
    else if (why.code < 0 || mount_point_free(path, &why) < 0)
        log_info("%s stays: %s", path, why.text);
}

const char *mounts_state_name(struct stack *s)
{
    enum mounts_state mounted = MOUNTS_SHOWN;
    if (s->record.state == BOX_MOUNTED && mounts_look(s, &mounted, NULL) == 0 &&
        (mounted == MOUNTS_NONE || mounted == MOUNTS_PARTLY))
        return "dirty-unmounted";
    return box_state_name(s->record.state);
}

/* type: what must be mounted there; anything else is not ours to take away. */
static int take_away(const char *path, const char *type, const char *source, bool detach, struct error *e)
{
    bool found, ours = false;
    int r = path ? look_at(path, type, source, &found, &ours, e) : 0;
    return r == 0 && ours ? mount_unmount(path, detach, e) : r;
}

int mounts_down(struct stack *s, bool detach, struct error *e)
{
    _cleanup_(paths_release) struct paths p = paths_of(s);
    int r = box_stop(s, NULL, e);
    if (r == 0)
        r = take_away(s->record.path, "overlay", p.source, detach, e);
    crash_point("unmount-bind.after");
    if (r == 0)
        r = take_away(p.tree, "overlay", p.source, detach, e);
    crash_point("unmount-overlay.after");
    if (r == 0)
        r = take_away(p.lower, "fuse.ag-box", p.source, detach, e);
    crash_point("unmount-lower.after");
    return r;
}

int mounts_used(struct stack *s, pid_t *ret, struct error *e)
{
    char layer[sizeof(s->record.upper) + 16];
    snprintf(layer, sizeof(layer), "/%s/upper", s->record.upper);
    return mount_seen_anywhere("overlay", layer, ret, e);
}

struct keepers {
    int supervisor, daemon; /* pidfds; -1: none */
    int fuse;               /* the daemon's /dev/fuse; -1: none to be had */
};

static void find_keepers(struct stack *s, struct keepers *ret)
{
    _cleanup_free_ char *path = place_in_run(s->config, s->name, "socket");
    json_t *request = json_pack("{s:s}", "command", "status"), *answer = NULL;
    if (control_call(path, request, DAEMON_ASK_MS, &answer, NULL) == 0) {
        pid_t supervisor = (pid_t)json_integer_value(json_object_get(answer, "supervisor_pid"));
        pid_t daemon = (pid_t)json_integer_value(json_object_get(answer, "daemon_pid"));
        ret->supervisor = supervisor > 0 ? (int)syscall(SYS_pidfd_open, supervisor, 0) : -1;
        ret->daemon = daemon > 0 ? (int)syscall(SYS_pidfd_open, daemon, 0) : -1;
        ret->fuse = ret->daemon < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, ret->daemon, SUPERVISOR_FUSE_FD, 0);
    }
    json_decref(answer);
    json_decref(request);
}

static bool has_ended(int pidfd, int timeout_ms)
{
    struct pollfd p = { pidfd, POLLIN, 0 };
    return pidfd < 0 || poll(&p, 1, timeout_ms) > 0;
}

/* Really unmounted, everywhere: what was detached, by whichever command, lives as long as somebody reads there. False
 * also if nobody knows. */
static bool is_over(int fuse)
{
    struct pollfd p = { fuse, 0, 0 };
    return fuse >= 0 && poll(&p, 1, 0) > 0 && (p.revents & POLLERR);
}

/* The supervisor first: it would start the daemon anew. */
static void end_keepers(const struct keepers *k)
{
    if (!has_ended(k->supervisor, DAEMON_END_MS))
        syscall(SYS_pidfd_send_signal, k->supervisor, SIGKILL, NULL, 0);
    if (has_ended(k->supervisor, DAEMON_END_MS) && !has_ended(k->daemon, 0))
        syscall(SYS_pidfd_send_signal, k->daemon, SIGKILL, NULL, 0);
    has_ended(k->daemon, DAEMON_END_MS);
}

int mounts_end(struct stack *s, pid_t *ret_user, struct error *e)
{
    struct error why = { 0 };
    struct keepers k = { -1, -1, -1 };
    pid_t user = 0;
    find_keepers(s, &k);
    int r = mounts_down(s, false, &why);
    if (r == -EBUSY) /* readers keep what they have open until they end */
        r = mounts_down(s, true, e);
    else if (r < 0)
        error_pass(e, &why);
    if (r == 0)
        r = mounts_used(s, &user, e);
    if (r == 0 && is_over(k.fuse))
        end_keepers(&k);
    mem_closep(&k.supervisor);
    mem_closep(&k.daemon);
    mem_closep(&k.fuse);
    if (r == 0)
        *ret_user = user;
    return r;
}

void mounts_tell_held(struct stack *s)
{
    _cleanup_free_ char *path = place_in_run(s->config, s->name, "socket");
    json_t *request = json_pack("{s:s}", "command", "held");
    control_call(path, request, DAEMON_ASK_MS, NULL, NULL);
    json_decref(request);
}

int mounts_reach(struct stack *s, struct error *e)
{
    if (s->record.full)
        return 0;
    enum mounts_state mounted;
    int r = mounts_look(s, &mounted, e);
    if (r < 0 || mounted == MOUNTS_TREE || mounted == MOUNTS_SHOWN)
        return r;
    r = mounts_down(s, true, e);
    return r < 0 ? r : mounts_up(s, false, e);
}

/* It may be gone before its answer has come: it is asked until nobody is there any more. */
int mounts_stop_daemon(struct stack *s, struct error *e)
{
    _cleanup_free_ char *path = place_in_run(s->config, s->name, "socket");
    struct error why = { 0 };
    int r = patience_ask(s, e);
    if (r != 0)
        return r < 0 ? r : 0;
    json_t *request = json_pack("{s:s}", "command", "stop");
    for (int64_t end = clock_boot_ns() + DAEMON_STOP_NS; clock_boot_ns() < end;) {
        why = (struct error){ 0 };
        r = control_call(path, request, DAEMON_ASK_MS, NULL, &why);
        if (r < 0 && why.kind == ERROR_UNKNOWN)
            break;
        poll(NULL, 0, DAEMON_LOOK_MS);
    }
    json_decref(request);
    if (r < 0 && why.kind == ERROR_UNKNOWN)
        return 0;
    if (r == 0)
        return error_say(e, ERROR_BUSY, -EBUSY, "the daemon of %s does not end", s->name);
    error_pass(e, &why);
    return error_prefix(e, "stop the daemon of %s", s->name), r;
}

int mounts_ensure_daemon(struct stack *s, struct error *e)
{
    int r = patience_ask(s, e);
    return r == 1 ? mounts_start_daemon(s, e) : r;
}

const char *mounts_missing(void)
{
    _cleanup_close_ int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fuse < 0)
        return "/dev/fuse";
    /* Loads the module, where there is one. An old kernel without the call finds out when it mounts. */
    _cleanup_close_ int overlay = (int)syscall(SYS_fsopen, "overlay", 1 /* FSOPEN_CLOEXEC */);
    return overlay < 0 && errno != ENOSYS ? "overlayfs" : NULL;
}

/* What leads to a path that is not there: directories, which can be made where they are missing. */
static int check_above(const char *path, struct error *e)
{
    _cleanup_free_ char *above = mem_strdup(path);
    struct stat st;
    do {
        char *slash = strrchr(above, '/');
        slash[slash == above] = '\0';
    } while (stat(above, &st) < 0 && above[1]);
    if (!S_ISDIR(st.st_mode))
        return error_say(e, ERROR_BUSY, -ENOTDIR, "%s cannot be made: %s is no directory", path, above);
    if (access(above, W_OK | X_OK) < 0)
        return error_set(e, ERROR_BUSY, -errno, "%s cannot be made in %s", path, above);
    return 0;
}

int mounts_check_point(const char *path, struct error *e)
{
    struct mount_found m;
    if (mount_find(path, &m, NULL) == 0) {
        error_say(e, ERROR_BUSY, -EBUSY, "%s: a file system (%s) is mounted there", path, m.type);
        _cleanup_free_ char *word = text_word(path);
        return error_hint(e, "umount %s, or move what is there", word);
    }
    _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        int number = errno;
        struct stat st;
        return lstat(path, &st) < 0 ? check_above(path, e)
                                    : error_set(e, ERROR_BUSY, -number, "%s is in the way", path);
    }
    DIR *d = fdopendir(mem_steal_fd(&fd));
    size_t entries = 0;
    while (d && entries <= 2 && readdir(d))
        entries++;
    if (d)
        closedir(d);
    if (entries <= 2)
        return 0;
    error_say(e, ERROR_BUSY, -ENOTEMPTY, "%s is not empty", path);
    return error_hint(e, "move what is there; ag-box never mounts over files");
}
