/* SPDX-License-Identifier: MIT */
#include "fusefs/supervisor.h"

#include "fusefs/mount.h"
#include "index/base/mem.h"
#include "tests/unit/mounted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <cmocka.h>

#define FILES 2000u
#define READERS 8u
#ifdef __SANITIZE_ADDRESS__ /* every daemon takes long to start */
#define KILLS 5u
#else
#define KILLS 30u /* AGBOX_TEST_KILLS says otherwise */
#endif
#define NEW 200u
#define MUTATED 3u /* files i with i % 4 == 3 are the mutator's */
#define LOAD 10u   /* operations between two kills, at least */

/* File i: up to 12 KiB that i decides; every 50th is larger and has many extents. */
static size_t size_of(unsigned i)
{
    return i % 50 == 49 ? 300000 + i : (i * 7919u) % 12000 + 1;
}

static void fill(unsigned i, uint8_t *to, size_t len)
{
    uint32_t x = i * 2654435761u + 1;
    for (size_t k = 0; k < len; k++) {
        x = x * 1664525u + 1013904223u;
        to[k] = (uint8_t)(x >> 24);
    }
}

static void path_of(unsigned i, char to[64])
{
    snprintf(to, 64, "project/d%02u/f%04u", i % 40, i);
}

static struct tree_root load(struct twin *t, struct link_group **ret_groups, size_t *ret_count)
{
    static struct twin_file all[FILES];
    static char paths[FILES][64];
    for (unsigned i = 0; i < FILES; i++) {
        size_t len = size_of(i);
        uint8_t *content = malloc(len);
        fill(i, content, len);
        path_of(i, paths[i]);
        all[i] = (struct twin_file){ paths[i], .content = content, .len = len, .piece = 32768 };
    }
    struct tree_root root = twin_tree(t, all, FILES);
    for (unsigned i = 0; i < FILES; i++)
        free((void *)all[i].content);
    return root;
}

static struct tree_root deadly(struct twin *t, struct link_group **ret_groups, size_t *ret_count)
{
    static const struct twin_file files[] = {
        { "project/crash", .content = "CRASH" },
        { "project/file", .content = "fine" },
    };
    return twin_tree(t, files, 2);
}

struct tally {
    atomic_uint operations, failures, wrong, stop;
};

static struct mounted *m;
static struct tally *tally;

static int start_tally(void)
{
    tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return tally == MAP_FAILED;
}

static int start_load(void **state)
{
    m = mounted_start("load", true);
    return start_tally();
}

static int start_deadly(void **state)
{
    m = mounted_start("deadly", false);
    return start_tally();
}

static int stop(void **state)
{
    munmap(tally, sizeof(*tally));
    mounted_stop(m);
    return 0;
}

static bool did(bool done, const char *what, const char *path)
{
    tally->operations++;
    if (done)
        return true;
    tally->failures++;
    fprintf(stderr, "%s %s: %m\n", what, path);
    return false;
}

/* Opens, reads and compares all of file i, and drops its pages again so that the next read is cold. */
static void read_one(const char *root, unsigned i, uint8_t *want, uint8_t *got)
{
    char name[64], path[160];
    path_of(i, name);
    snprintf(path, sizeof(path), "%s/%s", root, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (!did(fd >= 0, "open", path))
        return;
    size_t len = size_of(i), at = 0;
    ssize_t n = 0;
    while (at <= len && (n = read(fd, got + at, len + 1 - at)) > 0)
        at += (size_t)n;
    did(n >= 0, "read", path);
    fill(i, want, len);
    if (n >= 0 && (at != len || memcmp(want, got, len) != 0)) {
        tally->wrong++;
        fprintf(stderr, "%s: wrong bytes\n", path);
    }
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

/* Questions that no cache answers: new absent names, attributes, holes. */
static void ask(const char *root, unsigned i, unsigned round)
{
    char path[160], value[16];
    struct stat st;
    snprintf(path, sizeof(path), "%s/project/d%02u/none-%d-%u", root, i % 40, getpid(), round);
    did(stat(path, &st) < 0 && errno == ENOENT, "look up", path);
    char name[64];
    path_of(i, name);
    snprintf(path, sizeof(path), "%s/%s", root, name);
    did(getxattr(path, "user.none", value, sizeof(value)) < 0 && errno == ENODATA, "getxattr", path);
}

static void list(const char *root, unsigned i)
{
    char path[160];
    snprintf(path, sizeof(path), "%s/project/d%02u", root, i % 40);
    DIR *d = opendir(path);
    if (!did(d != NULL, "opendir", path))
        return;
    errno = 0;
    while (readdir(d))
        ;
    did(errno == 0, "readdir", path);
    closedir(d);
}

static void run_reader(unsigned number)
{
    uint8_t *want = malloc(400000), *got = malloc(400000);
    const char *root = number % 2 ? m->merged : m->lower;
    unsigned i = number * 251;
    for (unsigned round = 0; !tally->stop; round++, i = (i + 37) % FILES) {
        i -= i % 4 == MUTATED; /* those may be away under another name */
        read_one(root, i, want, got);
        ask(root, i, round);
        if (round % 16 == 0)
            list(root, i);
    }
    _exit(0);
}

/* Copy-ups, renames of lower directories and files, new files: all through the overlay, compared at once. */
static void run_mutator(void)
{
    uint8_t *want = malloc(400000), *got = malloc(400000);
    char name[64], path[160], other[160];
    for (unsigned round = 0; !tally->stop; round++) {
        unsigned i = (round * 44 + MUTATED) % FILES;
        path_of(i, name);
        snprintf(path, sizeof(path), "%s/%s", m->merged, name);
        snprintf(other, sizeof(other), "%s/project/renamed-%u", m->merged, i % NEW);
        did(chmod(path, round % 2 ? 0600 : 0640) == 0, "chmod", path);
        did(rename(path, other) == 0, "rename", path);
        did(rename(other, path) == 0, "rename back", path);
        int fd = open(path, O_RDWR | O_CLOEXEC); /* copies up */
        if (did(fd >= 0, "open for writing", path))
            close(fd);
        read_one(m->merged, i, want, got);
        snprintf(path, sizeof(path), "%s/project/d%02u/new-%u", m->merged, i % 40, round % NEW);
        fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (did(fd >= 0, "create", path)) {
            did(write(fd, "new", 3) == 3, "write", path);
            close(fd);
        }
    }
    _exit(0);
}

static unsigned kills(void)
{
    const char *text = getenv("AGBOX_TEST_KILLS");
    return text ? (unsigned)atoi(text) : KILLS;
}

/*
 * O11, and the promise of the whole module: SIGKILL at any moment, and no call fails, hangs or reads a wrong byte.
 * Fails, for example, when requests are read into anything but a slot, when a slot is cleared before the answer, or
 * without the replay of FUSE_INIT.
 */
static void kills_under_load_are_not_noticed(void **state)
{
    pid_t children[READERS + 1];
    uint32_t chance = 12345;
    m->shared->delay_us = 200; /* so that requests are under way */
    for (unsigned i = 0; i <= READERS; i++) {
        children[i] = mounted_fork();
        if (children[i] == 0 && i < READERS)
            run_reader(i);
        if (children[i] == 0)
            run_mutator();
    }
    for (unsigned k = 0; k < kills(); k++) {
        unsigned before = tally->operations;
        chance = chance * 1664525u + 1013904223u;
        usleep(1000 + (chance >> 8) % 200000);
        mounted_await_start(m, mounted_kill(m));
        if (k % 10 == 5)
            mounted_drop_caches();
        for (unsigned i = 0; i < 60000 && tally->operations <= before + LOAD; i++)
            usleep(1000); /* all get on, however slow the machine is */
        if (tally->operations <= before + LOAD)
            mounted_show_stacks(m, children, READERS + 1);
        assert_true(tally->operations > before + LOAD);
    }
    tally->stop = 1;
    for (unsigned i = 0; i <= READERS; i++)
        assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
    print_message("%u kills, %u operations\n", kills(), tally->operations);
    assert_int_equal(tally->failures, 0);
    assert_int_equal(tally->wrong, 0);
}

/* Without the count of attempts the reader would wait for ever. */
static void a_request_that_kills_the_daemon_is_eio_after_twenty(void **state)
{
    char path[128], byte;
    snprintf(path, sizeof(path), "%s/project/crash", m->lower);
    _cleanup_close_ int fd = open(path, O_RDONLY);
    m->shared->crash = 1;
    alarm(120);
    assert_int_equal(pread(fd, &byte, 1, 0), -1);
    alarm(0);
    assert_int_equal(errno, EIO);
    assert_in_range(m->shared->crashes, 20, 100); /* the kernel asks again page by page */
    m->shared->crash = 0;
    assert_int_equal(pread(fd, &byte, 1, 0), 1); /* not remembered */
}

/*
 * A file that was closed while it is still read ahead has no reference: whoever reclaims its inode waits for that read.
 * If that is the very thread that has to answer, nobody ever does. PR_SET_IO_FLUSHER keeps a daemon's threads out of
 * the reclaim of inodes; the kernel shows it as a flag of the task.
 */
static void no_thread_of_the_daemon_reclaims_inodes(void **state)
{
    static const unsigned long no_io = 0x00080000; /* PF_MEMALLOC_NOIO, include/linux/sched.h */
    char path[64];
    unsigned threads = 0;
    if (prctl(PR_SET_IO_FLUSHER, 0, 0, 0, 0) < 0)
        skip(); /* without CAP_SYS_RESOURCE, as in many containers */
    snprintf(path, sizeof(path), "/proc/%d/task", (int)m->shared->daemon);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *n; (n = readdir(d));) {
        if (n->d_name[0] == '.')
            continue;
        char stat_path[512];
        unsigned long flags = 0;
        snprintf(stat_path, sizeof(stat_path), "%s/%s/stat", path, n->d_name);
        FILE *f = fopen(stat_path, "re");
        int found = f ? fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %lu", &flags) : EOF;
        if (f)
            fclose(f);
        if (found == EOF) /* it has ended meanwhile */
            continue;
        assert_int_equal(found, 1);
        assert_true(flags & no_io);
        threads++;
    }
    closedir(d);
    assert_true(threads > 1);
}

/* Fails if only a daemon's exit 0 counts: the supervisor would go on for ever. */
static void a_supervisor_whose_daemon_always_fails_ends_when_unmounted(void **state)
{
    char point[] = "/tmp/ag-box-test.XXXXXX", word;
    int status, fds[2];
    struct error e = { 0 };
    struct mount_found found;
    assert_non_null(mkdtemp(point));
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid_t pid = mounted_fork();
    if (pid == 0) {
        char *argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)"echo >&5; exit 1", NULL };
        const struct supervisor_config config = { point, "ag-box:test", argv, fds[1] };
        _exit(supervisor_run(&config, &e) == 0 ? 0 : 1);
    }
    assert_int_equal(SUPERVISOR_READY_FD, 5);
    close(fds[1]);
    /* Who unmounts before a daemon was started has stopped the supervisor's start, which is an error. */
    assert_int_equal(read(fds[0], &word, 1), 1);
    close(fds[0]);
    assert_int_equal(mount_find(point, &found, &e), 0);
    assert_string_equal(found.type, "fuse.ag-box");
    assert_int_equal(mount_unmount(point, true, &e), 0);
    alarm(60);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    alarm(0);
    assert_int_equal(status, 0);
    rmdir(point);
}

static void a_failure_to_mount_is_told_to_who_waits(void **state)
{
    int fds[2];
    struct error e = { 0 };
    assert_int_equal(pipe(fds), 0);
    pid_t pid = mounted_fork();
    if (pid == 0) {
        char *argv[] = { (char *)"/bin/false", NULL };
        const struct supervisor_config config = { "/nowhere/at/all", "ag-box:test", argv, fds[1] };
        _exit(supervisor_run(&config, &e) == 0);
    }
    close(fds[1]);
    assert_int_equal(supervisor_wait(fds[0], 10000, &e), -ENOENT);
    assert_string_equal(e.text, "mount the lower at /nowhere/at/all: No such file or directory");
    close(fds[0]);
    waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    static const struct mounted_scenes scenes[] = { { "load", load }, { "deadly", deadly }, { NULL, NULL } };
    mounted_main(argc, argv, scenes);
    setenv("AGBOX_LOG", "warn", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kills_under_load_are_not_noticed, start_load, stop),
        cmocka_unit_test_setup_teardown(a_request_that_kills_the_daemon_is_eio_after_twenty, start_deadly, stop),
        cmocka_unit_test_setup_teardown(no_thread_of_the_daemon_reclaims_inodes, start_deadly, stop),
        cmocka_unit_test(a_supervisor_whose_daemon_always_fails_ends_when_unmounted),
        cmocka_unit_test(a_failure_to_mount_is_told_to_who_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
