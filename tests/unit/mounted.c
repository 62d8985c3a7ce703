/* SPDX-License-Identifier: MIT */
#include "tests/unit/mounted.h"

#include "fusefs/mount.h"
#include "fusefs/overlay.h"
#include "fusefs/serve.h"
#include "fusefs/supervisor.h"
#include "index/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void check(int r, const struct error *e)
{
    if (r == 0)
        return;
    fprintf(stderr, "mounted: %s\n", e->text);
    exit(99);
}

static void must(bool done, const char *what)
{
    if (done)
        return;
    fprintf(stderr, "mounted: %s: %m\n", what);
    exit(99);
}

static struct mounted_shared *map_shared(const char *directory)
{
    char path[64];
    snprintf(path, sizeof(path), "%s/shared", directory);
    _cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    must(fd >= 0 && ftruncate(fd, sizeof(struct mounted_shared)) == 0, path);
    void *p = mmap(NULL, sizeof(struct mounted_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    must(p != MAP_FAILED, path);
    return p;
}

/* The daemon's source: the twin, with what the test shares in its way. */
struct watched {
    struct source source;
    struct source *below;
    struct mounted_shared *shared;
};

static bool begins(const struct frame *f, const char *word)
{
    return f->len >= strlen(word) && memcmp(f->data, word, strlen(word)) == 0;
}

static void wait_while(struct mounted_shared *s, atomic_uint *held)
{
    s->waiting++;
    while (*held)
        usleep(500);
    s->waiting--;
}

static int watched_get(struct source *s, const struct locator *l, enum frame_kind kind, struct frame **ret,
                       struct error *e)
{
    struct watched *w = (struct watched *)s;
    int r = source_get(w->below, l, kind, ret, e);
    if (w->shared->delay_us)
        usleep(w->shared->delay_us);
    if (kind == FRAME_PAGE && w->shared->hold_pages)
        wait_while(w->shared, &w->shared->hold_pages);
    if (r < 0 || kind != FRAME_DATA)
        return r;
    w->shared->data_gets++;
    if (begins(*ret, "ABSENT") && w->shared->hold)
        wait_while(w->shared, &w->shared->hold);
    if (begins(*ret, "CRASH") && w->shared->crash) {
        w->shared->crashes++;
        kill(getpid(), SIGKILL);
    }
    if (begins(*ret, "FAIL") && w->shared->fail) {
        frame_drop(mem_steal(*ret));
        return error_say(e, ERROR_DAMAGED, -EIO, "told to fail");
    }
    return 0;
}

static int watched_warm(struct source *s, const struct locator *l, size_t count, enum source_urgency urgency,
                        struct error *e)
{
    return 0;
}

static void touched(void *arg, uint64_t position)
{
    struct mounted_shared *s = arg;
    s->touched++;
}

static void ready(void *arg)
{
    supervisor_ready();
}

static int run_daemon(const char *directory, const struct mounted_scenes *scene)
{
    struct error e = { 0 };
    struct mounted_shared *shared = map_shared(directory);
    shared->daemon = getpid(); /* to be killed from now on */
    struct link_group *groups = NULL;
    size_t group_count = 0;
    struct twin *twin = twin_new();
    struct tree_root root = scene->build(twin, &groups, &group_count);
    struct watched w = { { watched_get, watched_warm }, twin_source(twin), shared };
    struct tree *tree;
    check(tree_open(&w.source, &root, 0, &tree, &e), &e);
    w.shared->starts++;

    const struct serve_config config = {
        .tree = tree,
        .source = &w.source,
        .groups = groups,
        .group_count = group_count,
        .apart = w.shared->apart,
        .bytes = 1u << 30,
        .fuse_fd = SUPERVISOR_FUSE_FD,
        .slots_fd = SUPERVISOR_SLOTS_FD,
        .touched = touched,
        .ready = ready,
        .arg = w.shared,
    };
    struct serve *serve;
    check(serve_new(&config, &serve, &e), &e);
    if (w.shared->no_xattrs)
        serve_without_xattrs(serve);
    check(serve_run(serve, &e), &e);
    serve_free(serve);
    tree_close(tree);
    twin_free(twin);
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static struct mounted *current;

/* Of a test that failed or hangs: no mount and no process stays. */
static void give_up(void)
{
    struct mounted *m = current;
    if (!m || getpid() != m->test)
        return;
    umount2(m->merged, MNT_DETACH);
    umount2(m->lower, MNT_DETACH);
    kill(m->supervisor, SIGKILL);
    if (m->shared->daemon > 0)
        kill((pid_t)m->shared->daemon, SIGKILL);
    nftw(m->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static void give_up_at_alarm(int signal)
{
    give_up();
    _exit(98);
}

void mounted_main(int argc, char **argv, const struct mounted_scenes *scenes)
{
    if (argc == 4 && strcmp(argv[1], "daemon") == 0)
        for (const struct mounted_scenes *s = scenes; s->name; s++)
            if (strcmp(s->name, argv[3]) == 0)
                exit(run_daemon(argv[2], s));
    must(unshare(CLONE_NEWNS) == 0, "unshare");
    must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "make mounts private");
    atexit(give_up);
    signal(SIGALRM, give_up_at_alarm);
}

static void start_supervisor(struct mounted *m, const char *scene)
{
    int ready_pipe[2];
    must(pipe2(ready_pipe, O_CLOEXEC) == 0, "pipe");
    m->supervisor = fork();
    if (m->supervisor == 0) {
        close(ready_pipe[0]);
        char *argv[] = { (char *)"/proc/self/exe", (char *)"daemon", m->directory, (char *)scene, NULL };
        const struct supervisor_config config = { m->lower, "ag-box:test", argv, ready_pipe[1] };
        struct error e = { 0 };
        _exit(supervisor_run(&config, &e) == 0 ? 0 : 1);
    }
    close(ready_pipe[1]);
    struct error e = { 0 };
    check(supervisor_wait(ready_pipe[0], 120000, &e), &e);
    close(ready_pipe[0]);
}

void mounted_overlay(struct mounted *m)
{
    struct error e = { 0 };
    const struct overlay o = { m->lower, m->upper, m->work, m->merged, "ag-box-test" };
    if (access(m->upper, F_OK) < 0)
        check(overlay_make_upper(&o, &e), &e);
    check(overlay_mount(&o, &e), &e);
    m->overlay = true;
}

struct mounted *mounted_start(const char *scene, bool overlay)
{
    struct mounted *m = mem_new(1, sizeof(*m));
    strcpy(m->directory, "/tmp/ag-box-test.XXXXXX");
    must(mkdtemp(m->directory), "mkdtemp");
    snprintf(m->lower, sizeof(m->lower), "%s/lower", m->directory);
    snprintf(m->merged, sizeof(m->merged), "%s/merged", m->directory);
    snprintf(m->upper, sizeof(m->upper), "%s/upper", m->directory);
    snprintf(m->work, sizeof(m->work), "%s/work", m->directory);
    must(mkdir(m->lower, 0700) == 0 && mkdir(m->merged, 0700) == 0, m->directory);
    m->shared = map_shared(m->directory);
    m->test = getpid();
    m->shared->apart = overlay;
    current = m;
    start_supervisor(m, scene);
    if (overlay)
        mounted_overlay(m);
    return m;
}

void mounted_stop(struct mounted *m)
{
    struct error e = { 0 };
    int status;
    if (m->overlay)
        check(mount_unmount(m->merged, false, &e), &e);
    check(mount_unmount(m->lower, false, &e), &e);
    must(waitpid(m->supervisor, &status, 0) == m->supervisor, "wait for the supervisor");
    must(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the supervisor's end");
    current = NULL;
    munmap(m->shared, sizeof(*m->shared));
    nftw(m->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(m);
}

unsigned mounted_kill(struct mounted *m)
{
    unsigned starts = m->shared->starts;
    kill((pid_t)m->shared->daemon, SIGKILL);
    return starts;
}

void mounted_await_start(struct mounted *m, unsigned starts)
{
    for (unsigned i = 0; i < 20000 && m->shared->starts == starts; i++)
        usleep(1000);
    must(m->shared->starts != starts, "wait for the next daemon");
}

void mounted_drop_caches(void)
{
    _cleanup_close_ int fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
    must(fd >= 0 && write(fd, "3", 1) == 1, "drop caches");
}

static void show_file(int task, const char *name)
{
    char text[4096];
    _cleanup_close_ int fd = openat(task, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (n > 0)
        fprintf(stderr, "%s: %.*s\n", name, (int)n, text);
}

static void show_process(const char *what, pid_t pid)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *d = opendir(path);
    for (struct dirent *n; d && (n = readdir(d));) {
        if (n->d_name[0] == '.')
            continue;
        fprintf(stderr, "--- %s %d, thread %s\n", what, pid, n->d_name);
        _cleanup_close_ int task = openat(dirfd(d), n->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        static const char *const files[] = { "stat", "syscall", "wchan", "stack" };
        for (size_t i = 0; task >= 0 && i < sizeof(files) / sizeof(files[0]); i++)
            show_file(task, files[i]);
    }
    if (d)
        closedir(d);
    else
        fprintf(stderr, "--- %s %d is gone\n", what, pid);
}

void mounted_show_stacks(const struct mounted *m, const pid_t *children, size_t count)
{
    show_process("daemon", (pid_t)m->shared->daemon);
    show_process("supervisor", m->supervisor);
    for (size_t i = 0; i < count; i++)
        show_process("child", children[i]);
}

pid_t mounted_fork(void)
{
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}
