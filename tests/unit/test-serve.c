/* SPDX-License-Identifier: MIT */
#include "tests/unit/mounted.h"

#include "index/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <cmocka.h>

#define NAME_50 "n23456789_n23456789_n23456789_n23456789_n23456789_"
#define LONGEST NAME_50 NAME_50 NAME_50 NAME_50 NAME_50 "12345"
#define CROWD 100000u /* AGBOX_TEST_CROWD asks for fewer */
#define ABSENT 60u
#define BIG_SIZE (3u * 1024 * 1024 + 17)

static uint8_t big[BIG_SIZE];

/* user::rwx user:1234:r-- group::--- mask::r-- other::--- */
static const uint8_t acl[] = { 2, 0,   0,   0,   1,   0,   7,  0, 255, 255, 255, 255, 2,   0,  4,
                               0, 210, 4,   0,   0,   4,   0,  0, 0,   255, 255, 255, 255, 16, 0,
                               4, 0,   255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255 };

static const struct xattr note_and_acl[] = {
    { (char *)"system.posix_acl_access", (void *)acl, sizeof(acl) },
    { (char *)"user.note", (char *)"remember", 8 },
};

static const struct twin_file files[] = {
    { "home/.keep", .content = "" },
    { "project/hello", .content = "hello", .mode = 04755, .uid = 1000, .gid = 1001, .mtime_ns = 1234567890987654321 },
    { "project/" LONGEST, .content = "long" },
    { "project/not \xff\xfe utf-8\n", .content = "bytes" },
    { "project/big", .content = big, .len = BIG_SIZE, .piece = 256 * 1024 },
    { "project/sparse", .content = "front", .len = 5, .size = 10u * 1024 * 1024 },
    { "project/hole", .size = 5000 },
    { "project/empty" },
    { "project/symlink", ENTRY_SYMLINK, .mode = 0777, .target = "../hello/\xff there" },
    { "project/pipe", ENTRY_FIFO, .mode = 0600 },
    { "project/device", ENTRY_CHARACTER, .mode = 0600, .major = 1, .minor = 3 },
    { "project/directory", ENTRY_DIRECTORY, .mode = 01777, .mtime_ns = -5 },
    { "project/directory/inside", .content = "inside" },
    { "project/open", .content = "acl", .mode = 0740, .xattrs = note_and_acl, .xattr_count = 2 },
    { "project/first", .content = "two names" },
    { "project/second", ENTRY_LINK, .target = "project/first" },
    { "project/bad", .content = "FAIL at times" },
};
#define FILES (sizeof(files) / sizeof(files[0]))

/* The files, and ABSENT more whose content can be held back. */
static struct tree_root plain(struct twin *t, struct link_group **ret_groups, size_t *ret_count)
{
    static struct twin_file all[FILES + ABSENT];
    static char text[ABSENT][2][32];
    memcpy(all, files, sizeof(files));
    for (unsigned i = 0; i < ABSENT; i++) {
        snprintf(text[i][0], sizeof(text[i][0]), "home/absent-%u", i);
        snprintf(text[i][1], sizeof(text[i][1]), "ABSENT for a while, %u", i);
        all[FILES + i] = (struct twin_file){ text[i][0], .content = text[i][1] };
    }
    return twin_tree(t, all, FILES + ABSENT);
}

static struct tree_root linked(struct twin *t, struct link_group **ret_groups, size_t *ret_count)
{
    static char *paths[] = { (char *)"project/first", (char *)"project/second" };
    static struct link_group group = { paths, 2 };
    *ret_groups = &group;
    *ret_count = 1;
    return twin_tree(t, files, FILES);
}

static unsigned crowd_size(void)
{
    const char *text = getenv("AGBOX_TEST_CROWD");
    return text && (unsigned)atoi(text) < CROWD ? (unsigned)atoi(text) : CROWD;
}

static struct tree_root crowd(struct twin *t, struct link_group **ret_groups, size_t *ret_count)
{
    static struct twin_file many[CROWD];
    static char names[CROWD][24];
    for (unsigned i = 0; i < crowd_size(); i++) {
        snprintf(names[i], sizeof(names[i]), "project/f%06u", i);
        many[i].path = names[i];
    }
    return twin_tree(t, many, crowd_size());
}

static struct mounted *m;

static int start_plain(void **state)
{
    m = mounted_start("plain", false);
    return chdir(m->lower);
}

static int start_linked(void **state)
{
    m = mounted_start("linked", false);
    return chdir(m->lower);
}

static int start_crowd(void **state)
{
    m = mounted_start("crowd", true);
    return chdir(m->merged);
}

static int stop(void **state)
{
    m->shared->hold = m->shared->hold_pages = 0;
    int r = chdir("/");
    mounted_stop(m);
    return r;
}

static void assert_content(const struct twin_file *f)
{
    size_t len = f->content && f->len == 0 ? strlen(f->content) : f->len, size = f->size > len ? f->size : len;
    _cleanup_free_ uint8_t *want = mem_new(1, size + 1), *got = mem_new(1, size + 1);
    if (len > 0)
        memcpy(want, f->content, len);
    _cleanup_close_ int fd = open(f->path, O_RDONLY);
    assert_true(fd >= 0);
    size_t at = 0;
    for (ssize_t n; (n = read(fd, got + at, size + 1 - at)) > 0;)
        at += (size_t)n;
    assert_int_equal(at, size);
    assert_memory_equal(got, want, size);
}

static void assert_attributes(const struct twin_file *f, const struct stat *st)
{
    static const mode_t types[] = { S_IFREG, S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO, S_IFCHR };
    assert_int_equal(st->st_mode & S_IFMT, types[f->type]);
    if (f->mode)
        assert_int_equal(st->st_mode & 07777, f->mode);
    assert_int_equal(st->st_uid, f->uid);
    assert_int_equal(st->st_gid, f->gid);
    assert_int_equal(st->st_nlink, 1);
    assert_int_equal(st->st_rdev, makedev(f->major, f->minor));
    if (f->mtime_ns) {
        assert_int_equal(st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec, f->mtime_ns);
        assert_in_range(st->st_mtim.tv_nsec, 0, 999999999);
    }
}

static void every_byte_and_attribute_is_served(void **state)
{
    for (size_t i = 0; i < FILES; i++) {
        struct stat st;
        if (files[i].type == ENTRY_LINK)
            continue;
        assert_int_equal(lstat(files[i].path, &st), 0);
        assert_attributes(&files[i], &st);
        if (files[i].type == 0)
            assert_content(&files[i]);
    }
    char target[64] = "";
    assert_true(readlink("project/symlink", target, sizeof(target)) > 0);
    assert_string_equal(target, "../hello/\xff there");
    struct statfs s;
    assert_int_equal(statfs(".", &s), 0);
    assert_int_equal(s.f_namelen, 255);
}

/* Under an overlay names are files of their own; fails if a link's node is its first name's. */
static void a_second_name_is_a_file_of_its_own_with_the_same_inode_number(void **state)
{
    struct stat first, second;
    assert_int_equal(stat("project/first", &first), 0);
    assert_int_equal(stat("project/second", &second), 0);
    assert_int_equal(first.st_ino, second.st_ino);
    assert_int_equal(second.st_nlink, 1);
    struct twin_file as_second = { "project/second", .content = "two names" };
    assert_content(&as_second);
}

static void without_an_overlay_names_are_hard_links(void **state)
{
    struct stat first, second;
    assert_int_equal(stat("project/first", &first), 0);
    assert_int_equal(stat("project/second", &second), 0);
    assert_int_equal(first.st_ino, second.st_ino);
    assert_int_equal(first.st_nlink, 2);
    assert_int_equal(second.st_nlink, 2);
}

static void a_listing_has_every_name_once_with_its_type(void **state)
{
    unsigned found = 0, dots = 0;
    DIR *d = opendir("project");
    for (struct dirent *x; (x = readdir(d));) {
        if (strcmp(x->d_name, ".") == 0 || strcmp(x->d_name, "..") == 0) {
            dots++;
            continue;
        }
        char path[300];
        struct stat st;
        snprintf(path, sizeof(path), "project/%s", x->d_name);
        assert_int_equal(lstat(path, &st), 0);
        assert_int_equal(st.st_ino, x->d_ino);
        assert_int_equal(IFTODT(st.st_mode), x->d_type);
        found++;
    }
    closedir(d);
    assert_int_equal(dots, 2);
    assert_int_equal(found, FILES - 2); /* not home/.keep, not inside */
}

static void attributes_and_acls_are_served_and_obeyed(void **state)
{
    uint8_t value[128];
    assert_int_equal(getxattr("project/open", "user.note", value, sizeof(value)), 8);
    assert_memory_equal(value, "remember", 8);
    assert_int_equal(getxattr("project/open", "system.posix_acl_access", value, sizeof(value)), sizeof(acl));
    assert_memory_equal(value, acl, sizeof(acl));
    assert_int_equal(getxattr("project/open", "user.other", value, sizeof(value)), -1);
    assert_int_equal(errno, ENODATA);
    assert_int_equal(getxattr("project/open", "trusted.overlay.redirect", value, sizeof(value)), -1);
    assert_int_equal(errno, ENODATA);
    assert_int_equal(getxattr("project/open", "user.note", value, 3), -1);
    assert_int_equal(errno, ERANGE);
    char names[128];
    ssize_t n = listxattr("project/open", names, sizeof(names));
    assert_int_equal(n, sizeof("system.posix_acl_access") + sizeof("user.note"));

    for (uid_t uid = 1234; uid <= 1235; uid++) {
        int status;
        pid_t pid = mounted_fork();
        if (pid == 0)
            _exit(setgid(99) < 0 || setuid(uid) < 0 || open("project/open", O_RDONLY) < 0);
        waitpid(pid, &status, 0);
        assert_int_equal(WEXITSTATUS(status), uid == 1234 ? 0 : 1);
    }
}

static void holes_are_found_and_take_no_blocks(void **state)
{
    struct stat st;
    _cleanup_close_ int fd = open("project/sparse", O_RDONLY), hole = open("project/hole", O_RDONLY);
    assert_int_equal(lseek(fd, 0, SEEK_HOLE), 5);
    assert_int_equal(lseek(fd, 0, SEEK_DATA), 0);
    assert_int_equal(lseek(fd, 6, SEEK_DATA), -1);
    assert_int_equal(errno, ENXIO);
    assert_int_equal(lseek(hole, 0, SEEK_DATA), -1);
    assert_int_equal(lseek(hole, 0, SEEK_HOLE), 0);
    fstat(fd, &st);
    assert_int_equal(st.st_blocks, 1);
    fstat(hole, &st);
    assert_int_equal(st.st_blocks, 0);
}

/* Fails if absent names have no timeout: then each call asks the daemon, which is stopped here. */
static void answers_are_cached_for_ever(void **state)
{
    struct stat st;
    assert_int_equal(stat("project/nothing", &st), -1);
    assert_int_equal(stat("project/hello", &st), 0);
    char target[8];
    assert_true(readlink("project/symlink", target, sizeof(target)) > 0);
    kill(m->shared->daemon, SIGSTOP);
    alarm(10);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(stat("project/nothing", &st), -1);
        assert_int_equal(stat("project/hello", &st), 0);
        assert_true(readlink("project/symlink", target, sizeof(target)) > 0);
    }
    alarm(0);
    kill(m->shared->daemon, SIGCONT);
}

static void await_waiting(unsigned n)
{
    for (unsigned i = 0; i < 20000 && m->shared->waiting < n; i++)
        usleep(1000);
    assert_true(m->shared->waiting >= n);
}

static pid_t start_reader(unsigned i)
{
    pid_t pid = mounted_fork();
    if (pid != 0)
        return pid;
    char path[32], byte;
    snprintf(path, sizeof(path), "home/absent-%u", i);
    int fd = open(path, O_RDONLY);
    _exit(fd < 0 || read(fd, &byte, 1) != 1);
}

/* Design, "Outages". Fails with a fixed number of threads below the number of waiting reads. */
static void reads_that_wait_hold_up_nothing_else_and_can_be_killed(void **state)
{
    pid_t readers[ABSENT];
    int status;
    m->shared->hold = 1;
    for (unsigned i = 0; i < ABSENT; i++)
        readers[i] = start_reader(i);
    await_waiting(ABSENT);
    for (size_t i = 0; i < FILES; i++)
        if (files[i].type == 0)
            assert_content(&files[i]);

    kill(readers[0], SIGKILL);
    assert_int_equal(waitpid(readers[0], &status, 0), readers[0]);
    assert_true(WIFSIGNALED(status));
    m->shared->hold = 0;
    for (unsigned i = 1; i < ABSENT; i++) {
        waitpid(readers[i], &status, 0);
        assert_int_equal(status, 0);
    }
}

static void nothing(int signal)
{
}

static pid_t start_lookup(const char *path)
{
    struct stat st;
    pid_t pid = mounted_fork();
    if (pid != 0)
        return pid;
    struct sigaction a = { .sa_handler = nothing }; /* no SA_RESTART */
    sigaction(SIGUSR1, &a, NULL);
    _exit(stat(path, &st) < 0 ? errno : 0);
}

/* The first half hangs if FUSE_INTERRUPT is ignored, the second fails if it is always obeyed. */
static void a_lookup_that_waits_can_be_killed_but_is_not_interrupted(void **state)
{
    int status;
    struct stat st;
    char far[24];
    snprintf(far, sizeof(far), "project/f%06u", crowd_size() / 10 * 9);
    assert_int_equal(chdir(m->lower), 0);
    assert_int_equal(stat("project", &st), 0); /* or both would wait for this one */
    m->shared->hold_pages = 1;
    pid_t killed = start_lookup("project/f000100"), signalled = start_lookup(far);
    await_waiting(2);
    kill(signalled, SIGUSR1);
    kill(killed, SIGKILL);
    assert_int_equal(waitpid(killed, &status, 0), killed);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(waitpid(signalled, &status, WNOHANG), 0);
    m->shared->hold_pages = 0;
    assert_int_equal(waitpid(signalled, &status, 0), signalled);
    assert_int_equal(status, 0);
}

/* An error is not remembered; fails if the daemon or the kernel kept it. */
static void damaged_content_is_eio_at_once_and_asked_for_again(void **state)
{
    char byte;
    _cleanup_close_ int fd = open("project/bad", O_RDONLY);
    m->shared->fail = 1;
    assert_int_equal(pread(fd, &byte, 1, 0), -1);
    assert_int_equal(errno, EIO);
    m->shared->fail = 0;
    assert_int_equal(pread(fd, &byte, 1, 0), 1);
}

static void names_that_are_too_long_are_said_to_be(void **state)
{
    struct stat st;
    assert_int_equal(stat("project/" LONGEST "x", &st), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

/* Complaint: entries skipped when files are removed while the directory is read (positional cookies). */
static void a_crowded_directory_is_listed_whole_while_it_is_emptied(void **state)
{
    static bool seen[CROWD];
    unsigned found = 0;
    DIR *d = opendir("project");
    for (struct dirent *x; (x = readdir(d));) {
        unsigned i;
        if (sscanf(x->d_name, "f%06u", &i) != 1)
            continue;
        assert_false(seen[i]);
        seen[i] = true;
        found++;
        if (found % 50 == 0)
            assert_int_equal(unlinkat(dirfd(d), x->d_name, 0), 0);
    }
    assert_int_equal(found, crowd_size());
    rewinddir(d);
    unsigned left = 0;
    while (readdir(d))
        left++;
    closedir(d);
    assert_int_equal(left, crowd_size() - crowd_size() / 50 + 2);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < BIG_SIZE; i++)
        big[i] = (uint8_t)(i * 2654435761u >> 13);
    static const struct mounted_scenes scenes[] = {
        { "plain", plain }, { "linked", linked }, { "crowd", crowd }, { NULL, NULL }
    };
    mounted_main(argc, argv, scenes);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_byte_and_attribute_is_served, start_plain, stop),
        cmocka_unit_test_setup_teardown(a_second_name_is_a_file_of_its_own_with_the_same_inode_number, start_plain,
                                        stop),
        cmocka_unit_test_setup_teardown(without_an_overlay_names_are_hard_links, start_linked, stop),
        cmocka_unit_test_setup_teardown(a_listing_has_every_name_once_with_its_type, start_plain, stop),
        cmocka_unit_test_setup_teardown(attributes_and_acls_are_served_and_obeyed, start_plain, stop),
        cmocka_unit_test_setup_teardown(holes_are_found_and_take_no_blocks, start_plain, stop),
        cmocka_unit_test_setup_teardown(answers_are_cached_for_ever, start_plain, stop),
        cmocka_unit_test_setup_teardown(reads_that_wait_hold_up_nothing_else_and_can_be_killed, start_plain, stop),
        cmocka_unit_test_setup_teardown(a_lookup_that_waits_can_be_killed_but_is_not_interrupted, start_crowd, stop),
        cmocka_unit_test_setup_teardown(damaged_content_is_eio_at_once_and_asked_for_again, start_plain, stop),
        cmocka_unit_test_setup_teardown(names_that_are_too_long_are_said_to_be, start_plain, stop),
        cmocka_unit_test_setup_teardown(a_crowded_directory_is_listed_whole_while_it_is_emptied, start_crowd, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
