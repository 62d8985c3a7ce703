/* SPDX-License-Identifier: MIT */
/*
 * All names of one file are one inode of the overlay, whatever became of it in this session and whichever part of it
 * the kernel has forgotten (rules O1, O2, O9): each way of making two names, and each way of forgetting.
 */
#include "fusefs/joins.h"
#include "fusefs/mount.h"
#include "index/base/mem.h"
#include "tests/unit/mounted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <cmocka.h>

static struct mounted *m;

static void append(const char *path)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "!", 1), 1);
}

static void give(const char *from, const char *to)
{
    assert_int_equal(linkat(AT_FDCWD, from, AT_FDCWD, to, 0), 0);
}

/* Ways to a file with the names "N-one" and "N-two", in a directory where N, and the group N-one, N-two, N-three, are
 * the base's. */
static void new_then_linked(void)
{
    append("0-one");
    give("0-one", "0-two");
}

static void written_then_linked(void)
{
    append("1");
    assert_int_equal(rename("1", "1-one"), 0);
    give("1-one", "1-two");
}

static void linked(void)
{
    give("2", "2-two");
    assert_int_equal(rename("2", "2-one"), 0);
}

static void linked_then_written(void)
{
    give("3", "3-one");
    append("3-one");
    assert_int_equal(rename("3", "3-two"), 0);
}

static void changed_linked_written(void)
{
    assert_int_equal(chmod("4", 0600), 0);
    give("4", "4-one");
    give("4-one", "4-two");
    assert_int_equal(unlink("4"), 0);
    assert_int_equal(truncate("4-two", 1), 0);
}

static void a_symlink_linked(void)
{
    give("5", "5-one");
    give("5", "5-two");
}

static void joined(void)
{
}

static void joined_then_written(void)
{
    append("7-two");
}

static void joined_then_renamed_and_written(void)
{
    assert_int_equal(rename("8-one", "8-else"), 0);
    append("8-three");
    assert_int_equal(rename("8-else", "8-one"), 0);
}

static void joined_then_the_first_went(void)
{
    assert_int_equal(unlink("9-one"), 0);
    assert_int_equal(rename("9-three", "9-one"), 0);
    append("9-one");
}

static void (*const ways[])(void) = {
    new_then_linked,
    written_then_linked,
    linked,
    linked_then_written,
    changed_linked_written,
    a_symlink_linked,
    joined,
    joined_then_written,
    joined_then_renamed_and_written,
    joined_then_the_first_went,
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))
#define SINGLES 6 /* ways 0 to 5 begin with a file of one name */

/* What is forgotten between the first look and the second. */
enum forgetting {
    NOTHING,
    ALL,
    ALL_BUT_ONE,
    ALL_BUT_TWO,
    ALL_BUT_THE_LOWER,
    THE_LOWER_COMES_BACK,
    THE_LOWER_COMES_AND_GOES,
    LISTED,
    REMOVED,
    REMOUNTED,
    FORGETTINGS
};

struct scene {
    struct twin_file files[FORGETTINGS * (SINGLES + 3 * (WAYS - SINGLES))];
    char paths[FORGETTINGS][WAYS][3][32];
    char *names[FORGETTINGS][WAYS][3];
    struct link_group groups[FORGETTINGS * (WAYS - SINGLES)];
};
static struct scene s;

static void add_single(int f, unsigned way, size_t *count)
{
    char *path = s.paths[f][way][0];
    snprintf(path, 32, "project/%d/%u", f, way);
    s.files[(*count)++] = way == 5 ? (struct twin_file){ path, ENTRY_SYMLINK, .target = "nowhere" }
                                   : (struct twin_file){ path, .content = "lower bytes" };
}

static void add_group(int f, unsigned way, size_t *count, size_t *group_count)
{
    static const char *const names[] = { "one", "three", "two" }; /* in key order */
    for (int n = 0; n < 3; n++) {
        char *path = s.paths[f][way][n];
        snprintf(path, 32, "project/%d/%u-%s", f, way, names[n]);
        s.names[f][way][n] = path;
        s.files[(*count)++] = n == 0 ? (struct twin_file){ path, .content = "shared bytes" }
                                     : (struct twin_file){ path, ENTRY_LINK, .target = s.paths[f][way][0] };
    }
    s.groups[(*group_count)++] = (struct link_group){ s.names[f][way], 3 };
}

static struct tree_root scene(struct twin *t, struct link_group **ret_groups, size_t *ret_count)
{
    size_t count = 0, group_count = 0;
    for (int f = 0; f < FORGETTINGS; f++)
        for (unsigned way = 0; way < WAYS; way++)
            if (way < SINGLES)
                add_single(f, way, &count);
            else
                add_group(f, way, &count, &group_count);
    *ret_groups = s.groups;
    *ret_count = group_count;
    return twin_tree(t, s.files, count);
}

static int start(void **state)
{
    struct error e = { 0 };
    m = mounted_start("scene", true);
    _cleanup_close_ int root = open(m->merged, O_RDONLY | O_DIRECTORY);
    if (joins_make(root, s.groups, sizeof(s.groups) / sizeof(s.groups[0]), &(struct joins_told){ 0 }, &e) < 0)
        fail_msg("%s", e.text);
    return 0;
}

static int stop(void **state)
{
    int r = chdir("/");
    mounted_stop(m);
    return r;
}

static void enter(int f)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/project/%d", m->merged, f);
    assert_int_equal(chdir(path), 0);
}

static void name_of(char path[16], unsigned way, const char *name)
{
    snprintf(path, 16, "%u-%s", way, name);
}

/* Brings the base's files into the kernel's cache. */
static void see_the_lower(int f)
{
    char path[128];
    for (unsigned way = 0; way < WAYS; way++)
        for (int n = 0; n < 3; n++) {
            struct stat st;
            snprintf(path, sizeof(path), "%s/%s", m->lower, s.paths[f][way][n]);
            if (s.paths[f][way][n][0])
                assert_int_equal(lstat(path, &st), 0);
        }
}

/* Programs that take a lock by one name must be seen by those that come by the other. */
static bool lock_is_shared(const char *one, const char *two)
{
    _cleanup_close_ int a = open(one, O_RDONLY), b = open(two, O_RDONLY);
    assert_true(a >= 0 && b >= 0);
    assert_int_equal(flock(a, LOCK_EX), 0);
    return flock(b, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/*
 * From Linux 6.16 on overlayfs cannot ask the base for the inode of a file that was copied up (fusefs/lower), it only
 * finds it in the cache. So a file that came with one name, was written and got a second one is two inodes to it, if a
 * name was looked up while the base's inode was forgotten, and another one after that had come back.
 */
static bool excepted(unsigned way, enum forgetting f)
{
    struct utsname u;
    unsigned major = 0, minor = 0;
    assert_int_equal(uname(&u), 0);
    assert_int_equal(sscanf(u.release, "%u.%u", &major, &minor), 2);
    bool asks = major < 6 || (major == 6 && minor < 16);
    bool came_back = f == THE_LOWER_COMES_BACK || f == LISTED || f == REMOVED;
    return !asks && came_back && way < SINGLES && ways[way] != new_then_linked && ways[way] != linked;
}

static bool look(unsigned way, int f)
{
    char one[16], two[16];
    struct stat a, b;
    name_of(one, way, "one");
    name_of(two, way, "two");
    assert_int_equal(lstat(one, &a), 0);
    assert_int_equal(lstat(two, &b), 0);
    bool same = a.st_ino == b.st_ino && a.st_dev == b.st_dev && a.st_nlink == b.st_nlink && a.st_nlink > 1;
    bool shared = S_ISLNK(a.st_mode) || lock_is_shared(one, two);
    if (!same || !shared)
        print_message("way %u, forgetting %d: inodes %lu and %lu, %lu and %lu names%s\n", way, f, a.st_ino, b.st_ino,
                      a.st_nlink, b.st_nlink, shared ? "" : ", locks are not shared");
    return (same && shared) || excepted(way, (enum forgetting)f);
}

static void list(void)
{
    DIR *d = opendir(".");
    assert_non_null(d);
    while (readdir(d))
        ;
    closedir(d);
}

static void remove_the_others(void)
{
    unlink("5");
    unlink("7-three");
}

static void hold(const char *name, int held[WAYS])
{
    for (unsigned way = 0; way < WAYS; way++) {
        char path[16];
        name_of(path, way, name);
        held[way] = open(path, O_PATH | O_NOFOLLOW);
        assert_true(held[way] >= 0);
    }
}

static void hold_lower(int f, int held[WAYS])
{
    for (unsigned way = 0; way < WAYS; way++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", m->lower, s.paths[f][way][0]);
        held[way] = open(path, O_PATH | O_NOFOLLOW);
        assert_true(held[way] >= 0);
    }
}

static void let_go(int held[WAYS])
{
    for (unsigned way = 0; way < WAYS; way++)
        close(held[way]);
}

static void remount(int f)
{
    struct error e = { 0 };
    assert_int_equal(chdir("/"), 0);
    if (mount_unmount(m->merged, false, &e) < 0)
        fail_msg("%s", e.text);
    mounted_overlay(m);
    enter(f);
}

/* Leaves in held what shall stay in the cache while the names are looked at. */
static bool forget(enum forgetting f, int held[WAYS])
{
    switch (f) {
    case NOTHING:
    case FORGETTINGS:
        return false;
    case ALL:
        mounted_drop_caches();
        return false;
    case ALL_BUT_ONE:
        hold("one", held);
        mounted_drop_caches();
        return true;
    case ALL_BUT_TWO:
        hold("two", held);
        mounted_drop_caches();
        return true;
    case ALL_BUT_THE_LOWER:
        hold_lower((int)f, held);
        mounted_drop_caches();
        return true;
    case THE_LOWER_COMES_BACK:
        mounted_drop_caches();
        hold("two", held);
        see_the_lower((int)f);
        return true;
    case THE_LOWER_COMES_AND_GOES:
        mounted_drop_caches();
        see_the_lower((int)f);
        hold("one", held);
        mounted_drop_caches();
        return true;
    case LISTED:
        mounted_drop_caches();
        hold("two", held);
        list();
        return true;
    case REMOVED:
        mounted_drop_caches();
        hold("two", held);
        remove_the_others();
        return true;
    case REMOUNTED:
        remount((int)f);
        return false;
    }
    return false;
}

static void names_of_one_file_are_one_inode(void **state)
{
    bool good = true;
    for (int f = 0; f < FORGETTINGS; f++) {
        int held[WAYS];
        enter(f);
        for (unsigned way = 0; way < WAYS; way++)
            ways[way]();
        bool holds = forget((enum forgetting)f, held);
        for (unsigned way = 0; way < WAYS; way++)
            good = look(way, f) && good;
        if (holds)
            let_go(held);
    }
    assert_true(good);
}

int main(int argc, char **argv)
{
    static const struct mounted_scenes scenes[] = { { "scene", scene }, { NULL, NULL } };
    struct tree_root unused;
    struct twin *t = twin_new();
    struct link_group *groups;
    size_t count;
    unused = scene(t, &groups, &count); /* the names, for this process */
    (void)unused;
    twin_free(t);
    mounted_main(argc, argv, scenes);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_of_one_file_are_one_inode, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
