/* SPDX-License-Identifier: MIT */
#include "index/base/mem.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/fs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <uthash.h>

#include <cmocka.h>

/*
 * A mutator without a model: it does at random what programs do to a mounted box, then the changes the upper walker
 * finds, applied to the base, must give the very tree that a full walk through the mount sees.
 */
struct mutator {
    unsigned seed;
    const char *top; /* where it works */
    char **paths;
    size_t count;
};

static struct mutator *listing; /* nftw has no argument */

static int add_path(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    if (at->level < 2) /* project and home themselves stay */
        return 0;
    listing->paths = mem_grow(listing->paths, listing->count + 1, sizeof(*listing->paths));
    listing->paths[listing->count++] = mem_strdup(path);
    return 0;
}

static void forget(struct mutator *m)
{
    for (size_t i = 0; i < m->count; i++)
        free(m->paths[i]);
    free(m->paths);
    m->paths = NULL;
    m->count = 0;
}

static void look(struct mutator *m)
{
    forget(m);
    listing = m;
    nftw(m->top, add_path, 32, FTW_PHYS);
}

static unsigned pick(struct mutator *m, unsigned n)
{
    return (unsigned)rand_r(&m->seed) % n;
}

static const char *any(struct mutator *m)
{
    return m->count ? m->paths[pick(m, (unsigned)m->count)] : m->top;
}

/* A name in a random directory: small alphabet, so that names meet. */
static void some_name(struct mutator *m, char to[4200])
{
    struct stat st;
    const char *directory = any(m);
    char project[300];
    snprintf(project, sizeof(project), "%s/%s", m->top, pick(m, 4) ? "project" : "home");
    if (pick(m, 3) == 0 || lstat(directory, &st) < 0 || !S_ISDIR(st.st_mode))
        directory = project;
    snprintf(to, 4200, "%s/%c%u", directory, "fdx"[pick(m, 3)], pick(m, 5));
}

static void write_file(struct mutator *m, const char *path, int flags)
{
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | flags, 0600 + pick(m, 0100));
    if (fd < 0)
        return;
    char text[64];
    int n = snprintf(text, sizeof(text), "%u", rand_r(&m->seed));
    if (pick(m, 4) == 0)
        lseek(fd, pick(m, 200000), SEEK_SET);
    if (write(fd, text, (size_t)n) < 0)
        assert_true(errno == EINVAL || errno == EAGAIN || errno == EPIPE || errno == EBADF);
    close(fd);
}

static void make_socket(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof(a.sun_path))
        return;
    memcpy(a.sun_path, path, strlen(path));
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)bind(s, (void *)&a, sizeof(a));
    close(s);
}

static int remove_quietly(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path) < 0 && errno == EIO ? -1 : 0;
}

static void remove_all(const char *path)
{
    nftw(path, remove_quietly, 32, FTW_DEPTH | FTW_PHYS);
}

static void change_attributes(struct mutator *m, const char *path)
{
    struct stat st;
    struct timespec times[2] = { { pick(m, 1000), 1 }, { pick(m, 100000), (long)pick(m, 999999999) } };
    switch (pick(m, 6)) {
    case 0:
        if (lstat(path, &st) == 0 && !S_ISLNK(st.st_mode))
            assert_int_equal(chmod(path, pick(m, 010000)), 0);
        break;
    case 1:
        (void)!lchown(path, pick(m, 3), pick(m, 3));
        break;
    case 2:
        (void)utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
        break;
    case 3:
        (void)lsetxattr(path, pick(m, 2) ? "user.a" : "trusted.b", "value", pick(m, 5), 0);
        break;
    case 4:
        (void)lremovexattr(path, "user.a");
        break;
    default: /* what copies up metadata and changes nothing */
        if (lstat(path, &st) == 0)
            (void)!lchown(path, st.st_uid, st.st_gid);
    }
}

static void mutate(struct mutator *m)
{
    char name[4200];
    const char *path = any(m);
    some_name(m, name);
    switch (pick(m, 16)) {
    case 0:
        write_file(m, name, O_CREAT | (pick(m, 2) ? O_TRUNC : 0));
        break;
    case 1:
        write_file(m, path, pick(m, 3) ? 0 : O_APPEND);
        break;
    case 2:
        (void)!truncate(path, pick(m, 100));
        break;
    case 3:
        remove(path);
        break;
    case 4:
    case 5:
    case 6:
        rename(path, name);
        break;
    case 7:
        renameat2(AT_FDCWD, path, AT_FDCWD, any(m), RENAME_EXCHANGE);
        break;
    case 8:
        mkdir(name, 0700 + pick(m, 0100));
        break;
    case 9:
        (void)!link(path, name);
        break;
    case 10:
        (void)!symlink(path + 5, name);
        break;
    case 11: /* a directory made anew is opaque; a file in its place */
        remove_all(name);
        if (pick(m, 2))
            mkdir(name, 0755);
        else
            write_file(m, name, O_CREAT);
        break;
    case 12:
        if (pick(m, 3) == 0)
            make_socket(name);
        else
            mknod(name, pick(m, 2) ? S_IFIFO | 0600 : S_IFCHR | 0600, makedev(1, 3));
        break;
    default:
        change_attributes(m, path);
    }
    look(m);
}

static const char *const one[] = { "home/f0", "project/d0/f1", "project/d0/f2", NULL };
static const char *const two[] = { "project/d0/d1/f3", "project/d2/f4", NULL };
static const char *const three[] = { "project/x2", "project/d1/f0", "project/d1/f1", NULL };
static const char *const *const groups[] = { one, two, three, NULL };

static void make_lower(struct mutator *m, const char *scratch)
{
    static const char *const directories[] = { "project/d0/d1/d2", "project/d2/d0/d1", "project/d1", "home/d0/d1",
                                               "project/d3" };
    char lower[300], path[600];
    snprintf(lower, sizeof(lower), "%s/lower", scratch);
    for (size_t i = 0; i < 5; i++) {
        scratch_mkdir("%s/%s", lower, directories[i]);
        for (unsigned k = 0; k < 4; k++)
            scratch_write("some content", "%s/%s/f%u", lower, directories[i], pick(m, 5));
        scratch_write("", "%s/%s/x%u", lower, directories[i], pick(m, 5));
    }
    snprintf(path, sizeof(path), "%s/project/d3/x9", lower);
    (void)!symlink("nowhere", path);
    snprintf(path, sizeof(path), "%s/project/d1/x8", lower);
    mkfifo(path, 0600);
    scratch_mkdir("%s/project/d0", lower);
    for (size_t g = 0; groups[g]; g++) {
        for (size_t i = 0; groups[g][i]; i++) {
            struct timespec times[2] = { { 77, 0 }, { 88, (long)g } };
            snprintf(path, sizeof(path), "%s/%s", lower, groups[g][i]);
            scratch_write("joined", "%s", path);
            utimensat(AT_FDCWD, path, times, 0);
        }
    }
}

struct number {
    uint32_t ino;
    UT_hash_handle hh;
};

static int check_number(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    (void)position;
    (void)key;
    (void)e;
    struct number **all = arg, *known;
    if (n->type == ENTRY_LINK)
        return 0;
    HASH_FIND(hh, *all, &n->ino, sizeof(n->ino), known);
    if (known)
        return 1;
    known = mem_new(1, sizeof(*known));
    known->ino = n->ino;
    HASH_ADD(hh, *all, ino, sizeof(known->ino), known);
    return 0;
}

static bool numbers_are_unique(struct twin *t, const struct tree_root *root)
{
    struct number *all = NULL, *n, *next;
    struct tree *tree = twin_open(t, root);
    bool unique = tree_scan(tree, (struct bytes){ 0 }, (struct bytes){ 0 }, check_number, &all, NULL) == 0;
    tree_close(tree);
    HASH_ITER (hh, all, n, next) {
        HASH_DEL(all, n);
        free(n);
    }
    return unique;
}

static void compare_with_walk(struct scratch_box *b, const struct exclude *rules, bool changed, unsigned seed,
                              int round)
{
    struct tree_root found = scratch_box_changed(b, rules, changed, NULL);
    struct tree_root walked = scratch_box_walked(b, rules);
    char *got = scratch_text(b->twin, &found), *expected = scratch_text(b->twin, &walked);
    bool unique = numbers_are_unique(b->twin, &found);
    if (strcmp(got, expected) != 0 || !unique)
        print_error("seed %u, round %d\n", seed, round);
    assert_string_equal(got, expected);
    assert_true(unique);
    free(got);
    free(expected);
}

static void run(unsigned seed, int rounds, const struct exclude *rules)
{
    struct mutator m = { .seed = seed };
    struct scratch_box b;
    char *scratch = scratch_new();
    make_lower(&m, scratch);
    scratch_box_mount(&b, scratch, groups);
    unsigned changes;
    scratch_box_changed(&b, NULL, false, &changes);
    assert_int_equal(changes, 0); /* joined names are no change (rule O6) */

    char top[300];
    snprintf(top, sizeof(top), "%s/merged", scratch);
    m.top = top;
    look(&m);
    for (int round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < 12; i++)
            mutate(&m);
        if (pick(&m, 3) == 0) {
            scratch_unmount(scratch);
            scratch_mount(scratch);
        }
        compare_with_walk(&b, rules, rules != NULL, seed, round);
    }
    forget(&m);
    scratch_box_remove(&b);
}

static unsigned first_seed(void)
{
    const char *s = getenv("SEED");
    return s ? (unsigned)atoi(s) : 1;
}

static unsigned seeds(void)
{
    const char *s = getenv("SEEDS");
    return s ? (unsigned)atoi(s) : 12;
}

static void changes_give_what_a_full_walk_sees(void **state)
{
    (void)state;
    for (unsigned i = 0; i < seeds(); i++)
        run(first_seed() + i, 6, NULL);
}

/* The rules come after the base was saved, so it holds what they cover. */
static void rules_leave_out_the_same_in_both(void **state)
{
    (void)state;
    struct exclude *rules = scratch_rules("x*", "d1/");
    for (unsigned i = 0; i < seeds(); i++)
        run(1000 + first_seed() + i, 4, rules);
    exclude_free(rules);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_give_what_a_full_walk_sees),
        cmocka_unit_test(rules_leave_out_the_same_in_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
