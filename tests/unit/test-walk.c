/* SPDX-License-Identifier: MIT */
#include "index/walk.h"

#include "index/attributes.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/census.h"
#include "index/copy.h"
#include "index/names.h"
#include "index/stat-cache.h"
#include "tests/unit/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <time.h>

#include <cmocka.h>

/* What a walk emitted: one line an entry, in order. */
struct record {
    struct buf lines, excluded, key;
    struct walk_stats stats;
    struct error e;
    int result;
    unsigned opened, known;
    void (*meddle)(const char *path); /* called before each entry's line */
};

static char *root;
static int project, home;

static int set_up(void **state)
{
    (void)state;
    root = scratch_new();
    scratch_mkdir("%s/project", root);
    scratch_mkdir("%s/home", root);
    project = scratch_open("%s/project", root);
    home = scratch_open("%s/home", root);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(project);
    close(home);
    scratch_remove(root);
    return 0;
}

static const char *const types[] = { "?", "file", "directory", "symlink", "fifo", "character", "block", "link" };

static int note(void *arg, const struct change *c, struct error *e)
{
    (void)e;
    struct record *r = arg;
    _cleanup_(buf_release) struct buf path = { 0 };
    assert_int_equal(c->kind, CHANGE_PUT);
    assert_int_equal(key_to_path(c->key, &path), 0);
    assert_true(bytes_compare(c->key, buf_bytes(&r->key)) > 0);
    buf_clear(&r->key);
    buf_add(&r->key, c->key.data, c->key.len);
    r->opened += c->fd >= 0;
    r->known += c->entry->type == ENTRY_FILE && c->content_known;
    buf_printf(&r->lines, "%s %s%s%s\n", buf_string(&path), types[c->entry->type], c->entry->target ? " " : "",
               c->entry->target ? c->entry->target : "");
    if (r->meddle)
        r->meddle(buf_string(&path));
    return 0;
}

static int note_excluded(void *arg, const char *path, bool directory, struct error *e)
{
    (void)e;
    buf_printf(&((struct record *)arg)->excluded, "%s%s\n", path, directory ? "/" : "");
    return 0;
}

static void walk(struct record *r, struct walk_config c)
{
    c.project = project;
    c.excluded = note_excluded;
    c.excluded_arg = r;
    r->result = walk_run(&c, note, r, &r->stats, &r->e);
    buf_string(&r->lines);
    buf_string(&r->excluded);
}

static void release(struct record *r)
{
    buf_release(&r->lines);
    buf_release(&r->excluded);
    buf_release(&r->key);
}

#define walk_gives(config, expected)                                                                                   \
    do {                                                                                                               \
        struct record r = { 0 };                                                                                       \
        walk(&r, config);                                                                                              \
        assert_string_equal(r.e.text, "");                                                                             \
        assert_int_equal(r.result, 0);                                                                                 \
        assert_string_equal((char *)r.lines.data, expected);                                                           \
        release(&r);                                                                                                   \
    } while (0)

/* Own entries before subdirectories, both bytewise: "a-b" lies between "a" and "a/x" for sort(1), not for a key. */
static void entries_come_in_key_order(void **state)
{
    (void)state;
    scratch_mkdir("%s/project/a/inner", root);
    scratch_mkdir("%s/project/a-b", root);
    scratch_write("1", "%s/project/a/x", root);
    scratch_write("1", "%s/project/z", root);
    scratch_write("1", "%s/project/\xff\x01", root);
    scratch_write("1", "%s/project/a-b/y", root);
    scratch_write("1", "%s/home/.profile", root);
    walk_gives(((struct walk_config){ .home = home }), "home directory\nproject directory\nhome/.profile file\n"
                                                       "project/a directory\nproject/a-b directory\nproject/z file\n"
                                                       "project/\xff\x01 file\nproject/a/inner directory\n"
                                                       "project/a/x file\nproject/a-b/y file\n");
}

static int keep_entry(void *arg, const struct change *c, struct error *e)
{
    (void)e;
    if (memmem(c->key.data, c->key.len, "wanted", 6))
        entry_copy(c->entry, arg);
    return 0;
}

static void an_entry_has_everything_a_file_has(void **state)
{
    (void)state;
    char path[300];
    snprintf(path, sizeof(path), "%s/project/wanted", root);
    scratch_write("content", "%s", path);
    assert_int_equal(chown(path, 12, 34), 0);
    assert_int_equal(chmod(path, 04711), 0);
    assert_int_equal(setxattr(path, "user.overlay.x", "a\0b", 3, 0), 0);
    assert_int_equal(setxattr(path, "trusted.mine", "t", 1, 0), 0);
    assert_int_equal(setxattr(path, "trusted.overlay.origin", "o", 1, 0), 0);
    static const uint8_t acl[] = { 2, 0, 0,   0,   1,   0,   7,  0, 255, 255, 255, 255, 2,   0,  6,
                                   0, 9, 0,   0,   0,   4,   0,  5, 0,   255, 255, 255, 255, 16, 0,
                                   7, 0, 255, 255, 255, 255, 32, 0, 1,   0,   255, 255, 255, 255 };
    assert_int_equal(setxattr(path, "system.posix_acl_access", acl, sizeof(acl), 0), 0);
    struct timespec times[2] = { { 5, 6 }, { -7, 123456789 } };
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);

    struct entry n = { 0 };
    struct walk_stats stats;
    struct walk_config c = { .project = project, .home = home };
    assert_int_equal(walk_run(&c, keep_entry, &n, &stats, NULL), 0);
    assert_int_equal(n.type, ENTRY_FILE);
    assert_int_equal(n.mode, st.st_mode & 07777);
    assert_int_equal(n.uid, 12);
    assert_int_equal(n.gid, 34);
    assert_int_equal(n.size, 7);
    assert_int_equal(n.mtime_ns, INT64_C(-7) * 1000000000 + 123456789);
    assert_int_equal(n.ctime_ns, st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec);
    assert_int_equal(n.ino, (uint32_t)st.st_ino);
    assert_int_equal(n.xattr_count, 3); /* trusted.overlay.* is the overlay's (rule O6) */
    assert_string_equal(n.xattrs[0].name, "system.posix_acl_access");
    assert_string_equal(n.xattrs[1].name, "trusted.mine");
    assert_string_equal(n.xattrs[2].name, "user.overlay.x");
    assert_memory_equal(n.xattrs[2].value, "a\0b", 3);
    assert_int_equal(stats.bytes, 7);
    entry_release(&n);
}

static void other_types_and_what_is_left_out(void **state)
{
    (void)state;
    assert_int_equal(symlinkat("../where", project, "link"), 0);
    assert_int_equal(mkfifoat(project, "pipe", 0600), 0);
    assert_int_equal(mknodat(project, "null", S_IFCHR | 0600, makedev(1, 3)), 0);
    assert_int_equal(mknodat(project, "disk", S_IFBLK | 0600, makedev(7, 300)), 0);
    assert_int_equal(mknodat(project, "whiteout", S_IFCHR | 0600, makedev(0, 0)), 0);
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    snprintf(a.sun_path, sizeof(a.sun_path), "%s/project/socket", root);
    assert_int_equal(bind(s, (void *)&a, sizeof(a)), 0);
    close(s);

    struct entry empty = { .type = ENTRY_DIRECTORY, .mode = 0700, .ino = 9 };
    struct record r = { 0 };
    walk(&r, (struct walk_config){ .home = -1, .home_entry = &empty });
    assert_string_equal((char *)r.lines.data,
                        "home directory\nproject directory\nproject/disk block\n"
                        "project/link symlink ../where\nproject/null character\nproject/pipe fifo\n");
    assert_int_equal(r.stats.sockets, 2);
    assert_int_equal(r.stats.files, 4);
    assert_int_equal(r.stats.directories, 2);
    release(&r);
}

static void later_names_of_an_inode_point_to_its_first_name(void **state)
{
    (void)state;
    scratch_mkdir("%s/project/d", root);
    scratch_write("1", "%s/project/d/a", root);
    assert_int_equal(linkat(project, "d/a", project, "z", 0), 0);
    assert_int_equal(linkat(project, "d/a", home, "m", 0), 0);
    assert_int_equal(symlinkat("t", project, "s1"), 0);
    assert_int_equal(linkat(project, "s1", project, "s2", 0), 0);
    walk_gives(((struct walk_config){ .home = home }),
               "home directory\nproject directory\nhome/m file\nproject/d directory\nproject/s1 symlink t\n"
               "project/s2 link project/s1\nproject/z link home/m\nproject/d/a link home/m\n");
}

/* Fails if the walk compares st_dev alone: a bind mount of the same file system has the same. */
static void a_mount_below_is_refused_by_name(void **state)
{
    (void)state;
    char from[300], to[300];
    scratch_mkdir("%s/home/there", root);
    scratch_mkdir("%s/project/in/here", root);
    snprintf(from, sizeof(from), "%s/home/there", root);
    snprintf(to, sizeof(to), "%s/project/in/here", root);
    assert_int_equal(mount(from, to, NULL, MS_BIND, NULL), 0);
    struct record r = { 0 };
    walk(&r, (struct walk_config){ .home = home });
    assert_int_equal(umount(to), 0);
    assert_int_equal(r.result, -EXDEV);
    assert_string_equal(r.e.text, "project/in/here: another file system is mounted there");
    release(&r);
}

/* Fails if a walker keeps a descriptor for each level, or opens paths from the root of the file system. */
static void a_path_near_the_limit_needs_few_descriptors(void **state)
{
    (void)state;
    int at = dup(project), depth = 0;
    for (int len = 8; len + 3 < PATH_LEN_MAX; len += 3, depth++) {
        assert_int_equal(mkdirat(at, "dd", 0755), 0);
        int next = openat(at, "dd", O_RDONLY | O_DIRECTORY);
        close(at);
        at = next;
    }
    int fd = openat(at, "f", O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    close(at);

    struct rlimit before, few = { 100, 100 };
    getrlimit(RLIMIT_NOFILE, &before);
    few.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_NOFILE, &few);
    struct record r = { 0 };
    walk(&r, (struct walk_config){ .home = home });
    setrlimit(RLIMIT_NOFILE, &before);
    assert_string_equal(r.e.text, "");
    assert_int_equal(r.stats.directories, depth + 2);
    assert_int_equal(r.stats.files, 1);
    release(&r);

    /* Removal by name: the whole path is too long for one call. */
    at = dup(project);
    for (int i = 0; i < depth; i++) {
        int next = openat(at, "dd", O_RDONLY | O_DIRECTORY);
        close(at);
        at = next;
    }
    unlinkat(at, "f", 0);
    for (int i = 0; i < depth; i++) {
        int next = openat(at, "..", O_RDONLY | O_DIRECTORY);
        assert_int_equal(unlinkat(next, "dd", AT_REMOVEDIR), 0);
        close(at);
        at = next;
    }
    close(at);
}

static void one_directory_may_hold_very_many(void **state)
{
    (void)state;
    char name[32];
    for (int i = 0; i < 30000; i++) {
        snprintf(name, sizeof(name), "%d", i);
        assert_int_equal(mknodat(project, name, S_IFREG | 0600, 0), 0);
    }
    struct record r = { 0 };
    walk(&r, (struct walk_config){ .home = home });
    assert_int_equal(r.result, 0);
    assert_int_equal(r.stats.files, 30000);
    assert_int_equal(r.opened, 30000);
    release(&r);
}

static void remove_what_follows(const char *path)
{
    if (strcmp(path, "project/a") == 0) {
        unlinkat(project, "b", 0);
        unlinkat(project, "c/inner", 0);
        unlinkat(project, "c", AT_REMOVEDIR);
    }
    if (strcmp(path, "project/e") == 0)
        unlinkat(project, "e", AT_REMOVEDIR);
}

static void make_vanishing(void)
{
    scratch_write("1", "%s/project/a", root);
    scratch_write("1", "%s/project/b", root);
    scratch_mkdir("%s/project/c", root);
    scratch_mkdir("%s/project/e", root);
    scratch_write("1", "%s/project/c/inner", root);
    scratch_write("1", "%s/project/z", root);
}

static void a_name_that_vanishes_is_passed_over_when_live_and_an_error_when_still(void **state)
{
    (void)state;
    make_vanishing();
    struct record r = { .meddle = remove_what_follows };
    walk(&r, (struct walk_config){ .home = home, .live = true });
    assert_int_equal(r.result, 0);
    assert_string_equal((char *)r.lines.data,
                        "home directory\nproject directory\nproject/a file\nproject/e directory\nproject/z file\n");
    release(&r);

    make_vanishing();
    struct record still = { .meddle = remove_what_follows };
    walk(&still, (struct walk_config){ .home = home });
    assert_int_equal(still.result, -ENOENT);
    assert_string_equal(still.e.text, "project/b: stat: No such file or directory");
    release(&still);
}

static int refuse(void *arg, const struct change *c, struct error *e)
{
    (void)c;
    return ++*(int *)arg == 3 ? error_set(e, ERROR_STORE, -ENOENT, "the store") : 0;
}

/* Fails if a live walk takes whatever says ENOENT for a vanished name. */
static void what_the_callback_says_stops_a_live_walk(void **state)
{
    (void)state;
    int calls = 0;
    struct error e = { 0 };
    struct walk_stats stats;
    scratch_write("1", "%s/project/a", root);
    scratch_write("1", "%s/project/b", root);
    struct walk_config c = { .project = project, .home = home, .live = true };
    assert_int_equal(walk_run(&c, refuse, &calls, &stats, &e), -ENOENT);
    assert_int_equal(calls, 3);
    assert_int_equal(e.kind, ERROR_STORE);
}

static void auth_secret_stays_out_under_all_its_names(void **state)
{
    (void)state;
    scratch_mkdir("%s/project/deep", root);
    scratch_write("s", "%s/project/deep/.auth-secret", root);
    scratch_write("k", "%s/project/kept", root);
    assert_int_equal(linkat(project, "deep/.auth-secret", project, "copy", 0), 0);
    assert_int_equal(linkat(project, "deep/.auth-secret", home, "copy", 0), 0);
    struct record r = { 0 };
    walk(&r, (struct walk_config){ .home = home });
    assert_string_equal((char *)r.lines.data,
                        "home directory\nproject directory\nproject/deep directory\nproject/kept file\n");
    assert_string_equal((char *)r.excluded.data, "home/copy\nproject/copy\nproject/deep/.auth-secret\n");
    assert_int_equal(r.stats.excluded, 3);
    release(&r);
}

static void credentials_stay_out_under_all_their_names(void **state)
{
    (void)state;
    struct exclude *rules = scratch_rules("!*", NULL);
    scratch_mkdir("%s/home/.codex", root);
    scratch_mkdir("%s/home/.codex/auth.json.d", root);
    scratch_write("s", "%s/home/.codex/auth.json", root);
    scratch_write("s", "%s/home/.codex/auth.json.d/inside", root);
    scratch_write("k", "%s/home/.codex/config.toml", root);
    assert_int_equal(linkat(home, ".codex/auth.json", project, "copy", 0), 0);
    struct record r = { 0 };
    walk(&r, (struct walk_config){ .home = home, .rules = rules });
    assert_string_equal((char *)r.lines.data,
                        "home directory\nproject directory\nhome/.codex directory\nhome/.codex/config.toml file\n");
    assert_string_equal((char *)r.excluded.data, "home/.codex/auth.json\nhome/.codex/auth.json.d/\nproject/copy\n");
    release(&r);
    exclude_free(rules);
}

/* Fails if what a killed `up` had laid back by half goes into the next snapshot, which may be a secret, or counts as
 * one more name of what is excluded. */
static void a_copy_that_was_cut_off_is_in_no_tree(void **state)
{
    (void)state;
    struct exclude *rules = scratch_rules("build/", NULL);
    scratch_mkdir("%s/project/build", root);
    scratch_mkdir("%s/project/sub/" COPY_TEMPORARY "/deep", root);
    scratch_write("s", "%s/project/" COPY_TEMPORARY, root);
    scratch_write("s", "%s/project/sub/" COPY_TEMPORARY "/deep/file", root);
    scratch_write("o", "%s/project/build/o", root);
    assert_int_equal(linkat(project, "build/o", project, "sub/" COPY_TEMPORARY "/o", 0), 0);
    struct record r = { 0 };
    walk(&r, (struct walk_config){ .home = home, .rules = rules });
    assert_string_equal((char *)r.lines.data, "home directory\nproject directory\nproject/sub directory\n");
    assert_string_equal((char *)r.excluded.data, "project/build/\n");
    release(&r);
    exclude_free(rules);
}

/* The case of rule T4: a file is left out only if every name of it is; a name outside of the tree does not count. */
static void a_rule_leaves_out_a_file_only_with_every_name(void **state)
{
    (void)state;
    struct exclude *x = scratch_rules("*.log", "modules/");
    scratch_mkdir("%s/project/modules/part", root);
    scratch_mkdir("%s/outside", root);
    scratch_write("1", "%s/project/one.log", root);
    scratch_write("2", "%s/project/two.log", root);
    scratch_write("3", "%s/project/three.log", root);
    scratch_write("4", "%s/project/modules/part/four", root);
    scratch_write("6", "%s/home/six.log", root); /* rules are the project's */
    scratch_write("5", "%s/project/modules/five", root);
    assert_int_equal(linkat(project, "two.log", project, "two", 0), 0);
    assert_int_equal(linkat(project, "three.log", project, "again.log", 0), 0);
    assert_int_equal(linkat(project, "modules/part/four", project, "four", 0), 0);
    assert_int_equal(linkat(project, "modules/five", AT_FDCWD, "/dev/null/x", 0), -1);
    char outside[300];
    snprintf(outside, sizeof(outside), "%s/outside/five", root);
    assert_int_equal(linkat(project, "modules/five", AT_FDCWD, outside, 0), 0);

    struct record r = { 0 };
    walk(&r, (struct walk_config){ .home = home, .rules = x });
    assert_string_equal(
        (char *)r.lines.data,
        "home directory\nproject directory\nhome/six.log file\nproject/four file\nproject/modules directory\n"
        "project/two file\nproject/two.log link project/two\nproject/modules/part directory\n"
        "project/modules/part/four link project/four\n");
    assert_string_equal((char *)r.excluded.data,
                        "project/again.log\nproject/one.log\nproject/three.log\nproject/modules/five\n");
    release(&r);
    exclude_free(x);
}

static int put_in_cache(void *arg, const struct change *c, struct error *e)
{
    _cleanup_(buf_release) struct buf path = { 0 };
    _cleanup_(entry_release) struct entry n = { 0 };
    assert_int_equal(key_to_path(c->key, &path), 0);
    entry_copy(c->entry, &n);
    if (n.type != ENTRY_FILE || c->content_known)
        return 0;
    n.extents = mem_new(1, sizeof(*n.extents));
    n.extent_count = 1;
    n.extents[0] = (struct extent){ .length = n.size, .frame = { .offset = 1, .sealed = 60, .raw = (uint32_t)n.size } };
    return stat_cache_put(arg, buf_bytes(&path), c, &n, e);
}

static void settle(void)
{
    struct timespec t = { 0, 40 * 1000 * 1000 }; /* the promise is about 20 ms of real time */
    nanosleep(&t, NULL);
}

/* Fails without the check of ctime against the walk's start: then "young" would be known in the second walk. */
static void settled_content_is_known_in_the_next_walk(void **state)
{
    (void)state;
    struct journal *j = NULL;
    struct error e = { 0 };
    struct walk_stats stats;
    scratch_mkdir("%s/state", root);
    int dir = scratch_open("%s/state", root);
    assert_int_equal(journal_open(dir, root, true, &j, &e), 0);
    scratch_write("same", "%s/project/same", root);
    scratch_write("old", "%s/project/changed", root);
    settle();
    scratch_write("young", "%s/project/young", root);

    struct walk_config c = { .project = project, .home = home, .journal = j };
    assert_int_equal(walk_run(&c, put_in_cache, j, &stats, &e), 0);
    scratch_write("new", "%s/project/changed", root);
    struct record r = { 0 };
    walk(&r, (struct walk_config){ .home = home, .journal = j });
    assert_int_equal(r.result, 0);
    int known = stat_cache_serves(project); /* not in memory */
    assert_int_equal(r.known, known);
    assert_int_equal(r.opened, 3 - known);
    release(&r);
    journal_close(j);
    close(dir);
}

static bool told_twice;

/* As XFS does of a large directory in which a name goes and comes again while it is read. */
ssize_t getdents64(int fd, void *room, size_t len)
{
    static _Alignas(struct dirent64) char first[512];
    static uint16_t first_len;
    ssize_t n = syscall(SYS_getdents64, fd, room, len);
    for (ssize_t at = 0; at < n && told_twice && !first_len;) {
        const struct dirent64 *d = (const void *)((const char *)room + at);
        first_len = d->d_name[0] == '.' ? 0 : d->d_reclen;
        memcpy(first, d, first_len);
        at += d->d_reclen;
    }
    if (n != 0 || !first_len)
        return n;
    n = first_len;
    memcpy(room, first, first_len);
    first_len = 0;
    told_twice = false;
    return n;
}

static void a_name_that_is_listed_twice_is_one(void **state)
{
    (void)state;
    scratch_write("1", "%s/project/one", root);
    scratch_write("2", "%s/project/two", root);
    told_twice = true;
    _cleanup_(names_release) struct names l = { 0 };
    assert_int_equal(names_read(project, &l, NULL), 0);
    assert_false(told_twice);
    assert_int_equal(l.count, 2);
    assert_string_equal(names_get(&l, 0), "one");
    assert_string_equal(names_get(&l, 1), "two");
}

static void numbers_are_unique_and_below_2_to_the_32(void **state)
{
    (void)state;
    struct census *t = census_new();
    assert_int_equal(census_number(t, 5), 5);
    assert_int_equal(census_number(t, (UINT64_C(1) << 32) + 5), 6);
    assert_int_equal(census_number(t, 6), 7);
    assert_int_equal(census_number(t, UINT64_C(7) << 32), 1); /* never 0 */
    for (uint32_t i = 8; i < 5000; i++)
        assert_int_equal(census_number(t, i), i);
    assert_false(census_take(t, 4999));
    assert_true(census_take(t, 5000));
    /* Those of new files lie in the same long runs as those of a base: the end of a run is not looked for each time. */
    uint32_t a = census_number(t, 10), b = census_number(t, 10);
    assert_true(a > 5020 && b > 5020 && a != b);
    assert_false(census_take(t, a));
    census_free(t);
}

#define walk_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        walk_test(entries_come_in_key_order),
        walk_test(an_entry_has_everything_a_file_has),
        walk_test(other_types_and_what_is_left_out),
        walk_test(later_names_of_an_inode_point_to_its_first_name),
        walk_test(a_mount_below_is_refused_by_name),
        walk_test(a_path_near_the_limit_needs_few_descriptors),
        walk_test(one_directory_may_hold_very_many),
        walk_test(a_name_that_vanishes_is_passed_over_when_live_and_an_error_when_still),
        walk_test(what_the_callback_says_stops_a_live_walk),
        walk_test(auth_secret_stays_out_under_all_its_names),
        walk_test(credentials_stay_out_under_all_their_names),
        walk_test(a_copy_that_was_cut_off_is_in_no_tree),
        walk_test(a_rule_leaves_out_a_file_only_with_every_name),
        walk_test(settled_content_is_known_in_the_next_walk),
        walk_test(a_name_that_is_listed_twice_is_one),
        cmocka_unit_test(numbers_are_unique_and_below_2_to_the_32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
