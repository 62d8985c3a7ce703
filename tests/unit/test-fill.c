/* SPDX-License-Identifier: MIT */
#include "index/fill.h"

#include "index/base/mem.h"
#include "index/prefetch.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char *root;
static struct twin *twin;

static int set_up(void **state)
{
    (void)state;
    root = scratch_new();
    scratch_mkdir("%s/project", root);
    scratch_mkdir("%s/home", root);
    twin = twin_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    twin_free(twin);
    scratch_remove(root);
    return 0;
}

/* user::rwx group::r-x other::r-x, as the kernel keeps it: little endian version 2, then tag, permissions, id. */
static uint8_t acl[] = {
    2, 0, 0,   0,   1,   0,   7,  0, 255, 255, 255, 255, 2,   0,   6,  0, 10, 0, 0,   0,   4,   0,
    5, 0, 255, 255, 255, 255, 16, 0, 7,   0,   255, 255, 255, 255, 32, 0, 5,  0, 255, 255, 255, 255
};
static uint8_t capability[] = { 1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
static char user_name[] = "user.note", default_acl[] = "system.posix_acl_default",
            access_acl[] = "system.posix_acl_access", capability_name[] = "security.capability", value[] = "some value";
static const struct xattr note[] = { { user_name, value, sizeof(value) } };
static const struct xattr acls[] = { { access_acl, acl, sizeof(acl) }, { default_acl, acl, sizeof(acl) } };
static const struct xattr capable[] = { { capability_name, capability, sizeof(capability) } };

static const struct twin_file everything[] = {
    { "home", ENTRY_DIRECTORY, .mode = 0700, .mtime_ns = 1500000000123456789 },
    { "home/first", .content = "in both", .mtime_ns = -5000000001 },
    { "home/history", .content = "lines\n" },
    { "project", ENTRY_DIRECTORY, .mode = 01777, .uid = 5, .gid = 6, .mtime_ns = 1500000000987654321 },
    { "project/acl", ENTRY_DIRECTORY, .mode = 0775, .xattrs = acls, .xattr_count = 2, .mtime_ns = 1 },
    { "project/acl/below", .content = "must not inherit", .mode = 0600 },
    { "project/block", ENTRY_BLOCK, .major = 7, .minor = 300 },
    { "project/character", ENTRY_CHARACTER, .major = 1, .minor = 3, .mode = 0666 },
    { "project/closed", ENTRY_DIRECTORY, .mode = 02000, .mtime_ns = 77 },
    { "project/closed/inside", .content = "reached all the same" },
    { "project/empty", .content = "" },
    { "project/fifo", ENTRY_FIFO, .mode = 0600 },
    { "project/note", .content = "with xattr", .xattrs = note, .xattr_count = 1 },
    { "project/outside-1", ENTRY_LINK, .target = "home/first" },
    { "project/outside-2", ENTRY_LINK, .target = "home/first" },
    { "project/setuid", .content = "#!", .mode = 06755, .uid = 1000, .gid = 1000, .xattrs = capable, .xattr_count = 1 },
    { "project/symlink", ENTRY_SYMLINK, .target = "/nowhere/at all", .uid = 9, .mode = 0777, .mtime_ns = 123456789 },
    { "project/two", .content = "names" },
    { "project/zdir/two", ENTRY_LINK, .target = "project/two" },
};

static int run(struct tree *tree, const char *from, const char *to, bool resume, struct fill_stats *stats,
               struct error *e)
{
    _cleanup_close_ int fd = scratch_open("%s/%s", root, to);
    struct fill_config c = {
        .tree = tree, .source = twin_source(twin), .from = from, .to = fd, .resume = resume, .key = &twin_key
    };
    return fill_run(&c, stats, e);
}

static void expect_same(const struct tree_root *wanted)
{
    _cleanup_close_ int project = scratch_open("%s/project", root), home = scratch_open("%s/home", root);
    struct tree_root got = scratch_snapshot(twin, project, home, NULL);
    _cleanup_free_ char *a = scratch_text(twin, wanted), *b = scratch_text(twin, &got);
    size_t at = 0; /* cmocka cuts long texts: from the line that differs */
    for (size_t i = 0; a[i] && a[i] == b[i]; i++)
        if (a[i] == '\n')
            at = i + 1;
    assert_string_equal(b + at, a + at);
}

/* What is written, walked again, is the tree it was written from. */
static void everything_a_tree_holds_comes_back(void **state)
{
    (void)state;
    struct error e = { 0 };
    struct fill_stats stats;
    struct twin_file inside[COUNT(everything)];
    memcpy(inside, everything, sizeof(inside));
    inside[13] = (struct twin_file){ "project/outside-1", .content = "in both", .mtime_ns = -5000000001 };
    inside[14].target = "project/outside-1"; /* a file of its own where its first name is not */
    struct tree_root r = twin_tree(twin, everything, COUNT(everything)), same = twin_tree(twin, inside, COUNT(inside));
    struct tree *tree = twin_open(twin, &r);
    assert_int_equal(run(tree, "home", "home", false, &stats, &e), 0);
    assert_int_equal(stats.files, 2);
    assert_int_equal(run(tree, "project", "project", false, &stats, &e), 0);
    assert_int_equal(stats.directories, 3);
    expect_same(&same);
    tree_close(tree);
}

static void holes_stay_holes(void **state)
{
    (void)state;
    static const struct twin_file files[] = { { "project/sparse", .content = "begin", .size = 50 << 20 } };
    struct error e = { 0 };
    char path[256];
    struct stat st;
    struct tree_root r = twin_tree(twin, files, COUNT(files));
    struct tree *tree = twin_open(twin, &r);
    assert_int_equal(run(tree, "project", "project", false, NULL, &e), 0);
    tree_close(tree);
    snprintf(path, sizeof(path), "%s/project/sparse", root);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 50 << 20);
    assert_true(st.st_blocks < 100);
}

static ino_t inode_of(const char *name)
{
    struct stat st;
    char path[256];
    snprintf(path, sizeof(path), "%s/project/%s", root, name);
    assert_int_equal(lstat(path, &st), 0);
    return st.st_ino;
}

static void in_project(char to[256], const char *name)
{
    snprintf(to, 256, "%s/project/%s", root, name);
}

/* What a fill that was cut off, or somebody, could have left. */
static void spoil(void)
{
    char path[256];
    in_project(path, "b-short");
    assert_int_equal(truncate(path, 3), 0);
    in_project(path, "c-zeros");
    struct timespec true_time[2] = { { .tv_nsec = UTIME_OMIT }, { 1700000000, 1 } };
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "\0\0\0\0\0\0\0\0", 8, 0), 8);
    assert_int_equal(futimens(fd, true_time), 0);
    close(fd);
    in_project(path, "d-type");
    assert_int_equal(unlink(path), 0);
    scratch_mkdir("%s/project/d-type/deep", root);
    scratch_write("x", "%s/project/d-type/deep/er", root);
    in_project(path, "e-link");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("wrong", path), 0);
    in_project(path, "g-two");
    assert_int_equal(unlink(path), 0);
    scratch_write("linked", "%s/project/g-two", root);
    in_project(path, "h-dir");
    scratch_remove_tree(path);
    scratch_mkdir("%s/outside", root);
    scratch_write("not ours", "%s/outside/below", root);
    assert_int_equal(symlink("../outside", path), 0); /* fails if a link is followed */
    in_project(path, "i-absent");
    assert_int_equal(unlink(path), 0);
}

/*
 * A fill that was cut off goes on: what is whole stays and is not fetched, all else is made new. `zeros` has size and
 * time of the true file, as after a power cut: it is kept if only stat is asked.
 */
static void resumed_fill_keeps_what_is_whole_and_replaces_all_else(void **state)
{
    (void)state;
    static const struct twin_file files[] = {
        { "home", ENTRY_DIRECTORY },
        { "project/a-whole", .content = "whole" },
        { "project/b-short", .content = "complete" },
        { "project/c-zeros", .content = "12345678", .mtime_ns = 1700000000000000001 },
        { "project/d-type", .content = "a file" },
        { "project/e-link", ENTRY_SYMLINK, .target = "right", .mode = 0777 },
        { "project/f-one", .content = "linked" },
        { "project/g-two", ENTRY_LINK, .target = "project/f-one" },
        { "project/h-dir/below", .content = "safe" },
        { "project/i-absent", .content = "comes" },
    };
    struct error e = { 0 };
    struct fill_stats stats;
    struct tree_root r = twin_tree(twin, files, COUNT(files));
    struct tree *tree = twin_open(twin, &r);
    assert_int_equal(run(tree, "home", "home", false, NULL, &e), 0);
    assert_int_equal(run(tree, "project", "project", false, NULL, &e), 0);
    ino_t whole = inode_of("a-whole");

    spoil();
    twin_reset(twin);
    assert_int_equal(run(tree, "project", "project", true, &stats, &e), 0);
    expect_same(&r);
    assert_int_equal(inode_of("a-whole"), whole);
    assert_int_equal(stats.kept, 2); /* a-whole, f-one */
    assert_int_equal(twin_count(twin).gets - twin_count(twin).page_gets, 5);
    char path[256], got[16] = "";
    snprintf(path, sizeof(path), "%s/outside/below", root);
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, got, sizeof(got)), 8);
    assert_string_equal(got, "not ours");
    close(fd);
    tree_close(tree);
}

static void without_resume_nothing_that_is_there_is_replaced(void **state)
{
    (void)state;
    static const struct twin_file files[] = { { "project/file", .content = "new" } };
    struct error e = { 0 };
    struct tree_root r = twin_tree(twin, files, COUNT(files));
    struct tree *tree = twin_open(twin, &r);
    scratch_write("old", "%s/project/file", root);
    assert_int_equal(run(tree, "project", "project", false, NULL, &e), -EEXIST);
    assert_non_null(strstr(e.text, "project/file"));
    tree_close(tree);
}

static void a_full_disk_names_the_file(void **state)
{
    (void)state;
    static char big[3 << 20];
    memset(big, 'x', sizeof(big));
    const struct twin_file files[] = { { "project/a-small", .content = "fits" },
                                       { "project/b-big", .content = big, .len = sizeof(big) } };
    struct error e = { 0 };
    char path[256];
    struct tree_root r = twin_tree(twin, files, COUNT(files));
    struct tree *tree = twin_open(twin, &r);
    snprintf(path, sizeof(path), "%s/project", root);
    assert_int_equal(mount("none", path, "tmpfs", 0, "size=1m"), 0);
    assert_int_equal(run(tree, "project", "project", false, NULL, &e), -ENOSPC);
    assert_non_null(strstr(e.text, "project/b-big"));
    assert_int_equal(umount(path), 0);
    tree_close(tree);
}

/* A path of 4000 bytes, some 1300 directories deep: one descriptor, no path longer than the kernel takes. */
static void any_depth_is_reached(void **state)
{
    (void)state;
    static char path[4096] = "project";
    size_t len = 7;
    while (len < 4000)
        len += (size_t)snprintf(path + len, sizeof(path) - len, "/ab");
    snprintf(path + len, sizeof(path) - len, "/end");
    const struct twin_file files[] = { { "home", ENTRY_DIRECTORY }, { path, .content = "deep down" } };
    struct error e = { 0 };
    struct tree_root r = twin_tree(twin, files, COUNT(files));
    struct tree *tree = twin_open(twin, &r);
    assert_int_equal(run(tree, "home", "home", false, NULL, &e), 0);
    assert_int_equal(run(tree, "project", "project", false, NULL, &e), 0);
    expect_same(&r);
    tree_close(tree);
}

static int stop_soon(void *arg, const struct fill_stats *so_far, struct error *e)
{
    (void)arg;
    return so_far->files < 3 ? 0 : error_say(e, ERROR_INTERRUPTED, -EINTR, "enough");
}

static void a_check_that_says_no_ends_it(void **state)
{
    (void)state;
    struct error e = { 0 };
    struct tree_root r = twin_tree(twin, everything, COUNT(everything));
    struct tree *tree = twin_open(twin, &r);
    _cleanup_close_ int to = scratch_open("%s/project", root);
    struct fill_config c = {
        .tree = tree, .source = twin_source(twin), .from = "project", .to = to, .check = stop_soon
    };
    assert_int_equal(fill_run(&c, NULL, &e), -EINTR);
    assert_int_equal(e.kind, ERROR_INTERRUPTED);
    tree_close(tree);
}

/* Content that cannot be had is an error that names the file, and no file with a hole in its place is called done. */
static void damaged_content_names_the_file(void **state)
{
    (void)state;
    static const struct twin_file files[] = { { "project/a", .content = "fine" }, { "project/b", .content = "gone" } };
    struct error e = { 0 };
    struct tree_root r = twin_tree(twin, files, COUNT(files));
    struct tree *tree = twin_open(twin, &r);
    struct entry n = { 0 };
    _cleanup_(buf_release) struct buf key = { 0 };
    key_from_path((struct bytes){ (const uint8_t *)"project/b", 9 }, &key);
    assert_int_equal(tree_find(tree, buf_bytes(&key), NULL, &n, &e), 0);
    twin_remove(twin, &n.extents[0].frame);
    entry_release(&n);
    assert_int_equal(run(tree, "project", "project", false, NULL, &e), -ENOENT);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_non_null(strstr(e.text, "project/b"));
    tree_close(tree);
}

static void note_lost(void *arg, const char *path, const struct error *why)
{
    buf_printf(arg, "%s: %s\n", path, why->text);
}

/* What is left out counts for nothing, however far it came. */
static void what_is_lost_is_told_and_not_counted(void **state)
{
    (void)state;
    static const struct twin_file files[] = { { "home/gone", .content = "gone" },
                                              { "project/a", .content = "fine" },
                                              { "project/b", .content = "gone" },
                                              { "project/c", ENTRY_LINK, .target = "home/nothing" } };
    struct error e = { 0 };
    struct fill_stats stats = { 0 };
    _cleanup_(buf_release) struct buf lost = { 0 };
    _cleanup_close_ int to = scratch_open("%s/project", root);
    struct tree_root r = twin_tree(twin, files, COUNT(files));
    struct tree *tree = twin_open(twin, &r);
    struct entry n = { 0 };
    _cleanup_(buf_release) struct buf key = { 0 };
    key_from_path((struct bytes){ (const uint8_t *)"project/b", 9 }, &key);
    assert_int_equal(tree_find(tree, buf_bytes(&key), NULL, &n, &e), 0);
    twin_remove(twin, &n.extents[0].frame);
    entry_release(&n);
    struct fill_config c = {
        .tree = tree, .source = twin_source(twin), .from = "project", .to = to, .lost = note_lost, .arg = &lost
    };
    if (fill_run(&c, &stats, &e) < 0)
        fail_msg("%s", e.text);
    assert_non_null(strstr(buf_string(&lost), "project/b: "));
    assert_non_null(strstr(buf_string(&lost), "project/c: a link's first name home/nothing is no inode"));
    assert_int_equal(stats.files, 1);
    assert_int_equal(stats.bytes, 4);
    tree_close(tree);
}

/* --- prefetch */

struct watcher {
    struct source source, *below;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned warms;
};

static int watch_get(struct source *s, const struct locator *l, enum frame_kind kind, struct frame **ret,
                     struct error *e)
{
    struct source *below = ((struct watcher *)s)->below;
    return source_get(below, l, kind, ret, e);
}

static int watch_warm(struct source *s, const struct locator *l, size_t count, enum source_urgency urgency,
                      struct error *e)
{
    (void)count;
    (void)urgency;
    (void)e;
    struct watcher *w = (struct watcher *)s;
    if (l[0].offset != FRAME_DATA)
        return 0;
    pthread_mutex_lock(&w->lock);
    w->warms++;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return 0;
}

static void await_warms(struct watcher *w, unsigned n)
{
    pthread_mutex_lock(&w->lock);
    while (w->warms < n)
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

/* One file of many batches: fails if only the start of a file counts as a place (then it would stop there). */
static void prefetch_stays_a_few_batches_ahead_within_one_file_too(void **state)
{
    (void)state;
    enum { EXTENTS = 8 * PREFETCH_BATCH_FRAMES };
    static char content[EXTENTS * 4];
    for (unsigned i = 0; i < EXTENTS; i++)
        memcpy(content + 4 * i, (uint32_t[]){ i + 1 }, 4);
    const struct twin_file files[] = { { "project/file", .content = content, .len = sizeof(content), .piece = 4 } };
    struct error e = { 0 };
    struct tree_root r = twin_tree(twin, files, COUNT(files));
    struct watcher w = { .source = { watch_get, watch_warm },
                         .below = twin_source(twin),
                         .lock = PTHREAD_MUTEX_INITIALIZER,
                         .changed = PTHREAD_COND_INITIALIZER };
    struct tree *tree = twin_open(twin, &r);
    struct prefetch *p;
    struct prefetch_config c = { .tree = tree, .source = &w.source };
    assert_int_equal(prefetch_start(&c, &p, &e), 0);
    await_warms(&w, PREFETCH_BATCHES);
    prefetch_reached(p, 1, 0); /* the file's position; the reader has not come to the end of the first batch */
    assert_int_equal(w.warms, PREFETCH_BATCHES);
    for (unsigned i = 1; i <= 8 - PREFETCH_BATCHES; i++) {
        prefetch_reached(p, 1, 4ull * i * PREFETCH_BATCH_FRAMES);
        await_warms(&w, PREFETCH_BATCHES + i);
    }
    prefetch_stop(p);
    tree_close(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(everything_a_tree_holds_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(holes_stay_holes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(resumed_fill_keeps_what_is_whole_and_replaces_all_else, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_resume_nothing_that_is_there_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_names_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_depth_is_reached, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_check_that_says_no_ends_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_content_names_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_lost_is_told_and_not_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(prefetch_stays_a_few_batches_ahead_within_one_file_too, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
