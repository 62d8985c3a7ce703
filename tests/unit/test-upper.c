/* SPDX-License-Identifier: MIT */
#include "index/upper.h"

#include "index/base/mem.h"
#include "index/copy.h"
#include "index/stat-cache.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>

#include <cmocka.h>

static struct scratch_box box;
static int merged; /* its project */
static int upper;  /* the raw upper layer of it */

static const char *const group[] = { "project/l1", "project/l2", "project/sub/l3", NULL };
static const char *const *const groups[] = { group, NULL };

static int set_up(void **state)
{
    (void)state;
    char *s = scratch_new();
    scratch_mkdir("%s/lower/home", s);
    scratch_mkdir("%s/lower/project/sub/deep", s);
    scratch_write("one", "%s/lower/project/a", s);
    scratch_write("two", "%s/lower/project/b", s);
    scratch_write("three", "%s/lower/project/sub/c", s);
    scratch_write("four", "%s/lower/project/sub/deep/d", s);
    scratch_mkdir("%s/lower/project/z", s);
    scratch_write("five", "%s/lower/project/z/e", s);
    for (size_t i = 0; i < 3; i++) {
        char path[300];
        struct timespec times[2] = { { 1, 1 }, { 2, 2 } };
        scratch_write("joined", "%s/lower/%s", s, group[i]);
        snprintf(path, sizeof(path), "%s/lower/%s", s, group[i]);
        utimensat(AT_FDCWD, path, times, 0);
    }
    scratch_box_mount(&box, s, groups);
    merged = scratch_open("%s/merged/project", s);
    upper = scratch_open("%s/upper/project", s);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(merged);
    close(upper);
    scratch_box_remove(&box);
    return 0;
}

static void still(const char *directory) /* its own times and mode as in the base: only what is in it counts */
{
    char path[300];
    struct stat st;
    snprintf(path, sizeof(path), "%s/lower/%s", box.scratch, directory);
    assert_int_equal(stat(path, &st), 0);
    struct timespec times[2] = { st.st_atim, st.st_mtim };
    snprintf(path, sizeof(path), "%s/merged/%s", box.scratch, directory);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int count_excluded(void *arg, const char *path, bool directory, struct error *e)
{
    (void)e;
    buf_printf(arg, "%s%s\n", path, directory ? "/" : "");
    return 0;
}

static void gives_with(struct upper_config c, const char *expected, const char *excluded)
{
    struct error e = { 0 };
    struct walk_stats stats;
    _cleanup_(buf_release) struct buf text = { 0 }, names = { 0 };
    c.excluded = count_excluded;
    c.excluded_arg = &names;
    if (scratch_box_run(&box, c, scratch_print, &text, &stats, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(buf_string(&text), expected);
    assert_string_equal(buf_string(&names), excluded);
}

static void gives(const char *expected)
{
    gives_with((struct upper_config){ 0 }, expected, "");
}

static void a_fresh_mount_with_joined_names_is_no_change(void **state)
{
    (void)state;
    gives("");
}

/* Rule O6. Fails if what is in the upper is taken for a change because it is there. */
static void copied_up_attributes_that_are_equal_are_no_change(void **state)
{
    (void)state;
    assert_int_equal(fchownat(merged, "a", 0, 0, 0), 0);
    assert_int_equal(fchownat(merged, "sub", 0, 0, 0), 0);
    assert_int_equal(fchmodat(merged, "sub/c", 0600, 0), 0);
    assert_int_equal(fchmodat(merged, "sub/c", 0644, 0), 0);
    gives("");
    assert_int_equal(fchmodat(merged, "sub/c", 0600, 0), 0);
    gives("put over project/sub/c\n"); /* metadata only: not read */
}

static void written_new_and_deleted(void **state)
{
    (void)state;
    scratch_write("new", "%s/merged/project/a", box.scratch);
    scratch_write("new", "%s/merged/project/sub/new", box.scratch);
    assert_int_equal(unlinkat(merged, "b", 0), 0);
    assert_int_equal(unlinkat(merged, "z/e", 0), 0);
    assert_int_equal(unlinkat(merged, "z", AT_REMOVEDIR), 0);
    still("project");
    still("project/sub");
    gives(
        "put over open project/a\ndelete project/b\ndelete project/z\nput open project/sub/new\ndelete project/z/*\n");
}

static void a_whiteout_may_be_an_empty_file_with_an_xattr(void **state)
{
    (void)state;
    scratch_write("", "%s/upper/project/b", box.scratch);
    char path[300];
    snprintf(path, sizeof(path), "%s/upper/project/b", box.scratch);
    assert_int_equal(setxattr(path, "trusted.overlay.whiteout", "", 0, 0), 0);
    snprintf(path, sizeof(path), "%s/upper/project", box.scratch);
    assert_int_equal(setxattr(path, "trusted.overlay.opaque", "x", 1, 0), 0);
    still("project");
    gives("delete project/b\n");
}

/* Fails if only the redirect of the moved directory itself is followed: the base's names below it have no upper entry.
 */
static void a_moved_directory_comes_whole_with_its_content_known(void **state)
{
    (void)state;
    assert_int_equal(renameat(merged, "sub", merged, "moved"), 0);
    assert_int_equal(renameat(merged, "moved/deep", merged, "moved/other"), 0);
    assert_int_equal(renameat(merged, "moved/other/d", merged, "moved/other/D"), 0);
    still("project");
    gives("put project/moved was project/sub\ndelete project/sub\n"
          "put project/moved/c was project/sub/c\nput project/moved/l3 -> project/l1\n"
          "put project/moved/other was project/sub/deep\nput project/moved/other/D was project/sub/deep/d\n"
          "delete project/sub/*\n");
}

static void a_directory_made_anew_hides_the_old_one(void **state)
{
    (void)state;
    assert_int_equal(unlinkat(merged, "z/e", 0), 0);
    assert_int_equal(unlinkat(merged, "z", AT_REMOVEDIR), 0);
    assert_int_equal(mkdirat(merged, "z", 0755), 0);
    scratch_write("x", "%s/merged/project/z/f", box.scratch);
    still("project");
    gives("put over project/z\ndelete project/z/e\nput open project/z/f\n");
}

static void a_directory_becomes_a_file_and_a_file_a_directory(void **state)
{
    (void)state;
    assert_int_equal(unlinkat(merged, "z/e", 0), 0);
    assert_int_equal(unlinkat(merged, "z", AT_REMOVEDIR), 0);
    scratch_write("x", "%s/merged/project/z", box.scratch);
    assert_int_equal(unlinkat(merged, "a", 0), 0);
    assert_int_equal(mkdirat(merged, "a", 0700), 0);
    scratch_write("x", "%s/merged/project/a/in", box.scratch);
    still("project");
    gives("put over project/a\nput over open project/z\nput open project/a/in\ndelete project/z/*\n");
}

/* Rule O2: the group goes on under its new first name, its content never read. */
static void the_first_name_of_a_group_is_deleted(void **state)
{
    (void)state;
    assert_int_equal(unlinkat(merged, "l1", 0), 0);
    still("project");
    gives("delete project/l1\nput over link project/l2 was project/l1\nput over link project/sub/l3 -> project/l2\n");
    assert_int_equal(unlinkat(merged, "l2", 0), 0);
    still("project");
    gives("delete project/l1\ndelete project/l2\nput over link project/sub/l3 was project/l1\n");
}

static void a_write_through_one_name_changes_the_first_name_alone(void **state)
{
    (void)state;
    scratch_write("written", "%s/merged/project/sub/l3", box.scratch);
    gives("put over open project/l1\n");
}

static void a_new_name_before_the_first_takes_its_place(void **state)
{
    (void)state;
    assert_int_equal(linkat(merged, "l2", merged, "aa", 0), 0);
    still("project");
    gives("put project/aa was project/l1\nput over project/l1 -> project/aa\nput over link project/l2 -> project/aa\n"
          "put over link project/sub/l3 -> project/aa\n");
}

static int keep_entry(void *arg, const struct change *c, struct error *e)
{
    (void)e;
    if (memmem(c->key.data, c->key.len, "fresh", 5))
        entry_copy(c->entry, arg);
    return 0;
}

/* Rule O9. */
static void number_and_ctime_are_what_lstat_says_in_the_mount(void **state)
{
    (void)state;
    struct stat st;
    struct entry n = { 0 };
    struct walk_stats stats;
    scratch_write("x", "%s/merged/project/fresh", box.scratch);
    assert_int_equal(fstatat(merged, "fresh", &st, 0), 0);
    assert_int_equal(scratch_box_run(&box, (struct upper_config){ 0 }, keep_entry, &n, &stats, NULL), 0);
    assert_int_equal(n.ino, (uint32_t)st.st_ino);
    assert_int_equal(n.ctime_ns, st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec);
    entry_release(&n);
}

/* Rule O4. The kernel shows an empty directory and says nothing. */
static void an_upper_over_another_base_is_refused(void **state)
{
    (void)state;
    assert_int_equal(fchmodat(merged, "a", 0600, 0), 0);
    const struct twin_file other = { .path = "project/b" };
    box.base = twin_tree(box.twin, &other, 1);
    struct error e = { 0 };
    struct walk_stats stats;
    struct buf text = { 0 };
    assert_int_equal(scratch_box_run(&box, (struct upper_config){ 0 }, scratch_print, &text, &stats, &e), -EIO);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_string_equal(e.text, "walk the upper layer: project/a: the upper layer refers to project/a, which its base "
                                "does not have as that");
    buf_release(&text);
}

static void excluded_entries_are_told_and_withdrawn(void **state)
{
    (void)state;
    struct exclude *x = scratch_rules("b", "sub/");
    scratch_write("s", "%s/merged/project/.auth-secret", box.scratch);
    scratch_write("s", "%s/merged/project/sub/more", box.scratch);
    still("project");
    /* sub holds a name of a group that has others: it stays, for that one. */
    gives_with((struct upper_config){ .rules = x, .rules_changed = true },
               "delete project/b\nput over project/sub\ndelete project/sub/c\ndelete project/sub/deep\n"
               "delete project/sub/deep/d\n",
               "project/b\nproject/sub/c\nproject/sub/deep/\nproject/.auth-secret\nproject/sub/more\n");
    assert_int_equal(unlinkat(merged, "sub/l3", 0), 0);
    gives_with((struct upper_config){ .rules = x, .rules_changed = true },
               "delete project/b\ndelete project/sub\ndelete project/sub/*\n",
               "project/b\nproject/.auth-secret\nproject/sub/\n");
    exclude_free(x);
}

/* As in a plain directory (test-walk); in one that was moved, too. */
static void a_copy_that_was_cut_off_is_in_no_tree(void **state)
{
    (void)state;
    scratch_mkdir("%s/merged/project/sub/" COPY_TEMPORARY "/deep", box.scratch);
    scratch_write("s", "%s/merged/project/" COPY_TEMPORARY, box.scratch);
    scratch_write("s", "%s/merged/project/sub/" COPY_TEMPORARY "/deep/file", box.scratch);
    still("project/sub");
    still("project");
    gives("");
    scratch_write("s", "%s/merged/project/z/" COPY_TEMPORARY, box.scratch);
    still("project/z");
    assert_int_equal(renameat(merged, "z", merged, "moved"), 0);
    still("project");
    gives("put project/moved was project/z\ndelete project/z\nput project/moved/e was project/z/e\n"
          "delete project/z/*\n");
}

static int put_known(void *arg, const struct change *c, struct error *e)
{
    _cleanup_(buf_release) struct buf path = { 0 };
    _cleanup_(entry_release) struct entry n = { 0 };
    assert_int_equal(key_to_path(c->key, &path), 0);
    entry_copy(c->entry, &n);
    return stat_cache_put(arg, buf_bytes(&path), c, &n, e);
}

static void content_the_stat_cache_knows_is_not_read_again(void **state)
{
    (void)state;
    struct journal *j = NULL;
    struct error e = { 0 };
    struct walk_stats stats;
    scratch_mkdir("%s/state", box.scratch);
    int dir = scratch_open("%s/state", box.scratch);
    assert_int_equal(journal_open(dir, box.scratch, true, &j, &e), 0);
    scratch_write("x", "%s/merged/project/a", box.scratch);
    struct timespec t = { 0, 40 * 1000 * 1000 }; /* the promise is about 20 ms of real time */
    nanosleep(&t, NULL);
    assert_int_equal(scratch_box_run(&box, (struct upper_config){ .journal = j }, put_known, j, &stats, &e), 0);
    bool known = stat_cache_serves(dir);
    gives_with((struct upper_config){ .journal = j }, known ? "put over project/a\n" : "put over open project/a\n", "");
    scratch_write("y", "%s/merged/project/a", box.scratch);
    gives_with((struct upper_config){ .journal = j }, "put over open project/a\n", "");
    journal_close(j);
    close(dir);
}

struct meddling {
    struct buf text;
    int result;
};

/* While z is told, what follows goes away, and a name in it is given to another file. */
static int meddle(void *arg, const struct change *c, struct error *e)
{
    struct meddling *m = arg;
    _cleanup_(buf_release) struct buf path = { 0 };
    assert_int_equal(key_to_path(c->key, &path), 0);
    if (strcmp(buf_string(&path), "project/a") == 0) {
        unlinkat(merged, "x", 0);
        unlinkat(merged, "y/in", 0);
        unlinkat(merged, "y", AT_REMOVEDIR);
    }
    if (m->result)
        return error_set(e, ERROR_FAILED, m->result, "told to stop");
    return scratch_print(&m->text, c, e);
}

static void make_meddled(void)
{
    scratch_write("x", "%s/merged/project/a", box.scratch);
    scratch_write("x", "%s/merged/project/x", box.scratch);
    scratch_mkdir("%s/merged/project/y", box.scratch);
    scratch_write("x", "%s/merged/project/y/in", box.scratch);
    still("project");
}

static void what_vanishes_is_passed_over_when_live(void **state)
{
    (void)state;
    struct error e = { 0 };
    struct walk_stats stats;
    struct meddling m = { 0 };
    make_meddled();
    if (scratch_box_run(&box, (struct upper_config){ .live = true }, meddle, &m, &stats, &e) < 0)
        fail_msg("%s", e.text);
    assert_string_equal(buf_string(&m.text), "put over open project/a\n");
    make_meddled();
    assert_int_equal(scratch_box_run(&box, (struct upper_config){ 0 }, meddle, &m, &stats, &e), -ENOENT);
    make_meddled();
    m.result = -ENOENT; /* the callback's own word always counts */
    assert_int_equal(scratch_box_run(&box, (struct upper_config){ .live = true }, meddle, &m, &stats, &e), -ENOENT);
    buf_release(&m.text);
}

/* A moved directory with a path near the limit below it: few descriptors, in both layers. */
static void deep_paths_need_few_descriptors(void **state)
{
    (void)state;
    int at = dup(merged);
    for (int len = 20; len + 50 < 3800; len += 31) {
        const char *name = "0123456789012345678901234567890";
        assert_int_equal(mkdirat(at, name, 0755), 0);
        int next = openat(at, name, O_RDONLY | O_DIRECTORY);
        close(at);
        at = next;
    }
    close(at);
    struct rlimit before, few;
    getrlimit(RLIMIT_NOFILE, &before);
    few = (struct rlimit){ 100, before.rlim_max };
    setrlimit(RLIMIT_NOFILE, &few);
    unsigned changes;
    struct tree_root found = scratch_box_changed(&box, NULL, false, &changes), walked = scratch_box_walked(&box, NULL);
    setrlimit(RLIMIT_NOFILE, &before);
    char *got = scratch_text(box.twin, &found), *expected = scratch_text(box.twin, &walked);
    assert_string_equal(got, expected);
    assert_true(changes > 115);
    free(got);
    free(expected);
}

#define upper_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        upper_test(a_fresh_mount_with_joined_names_is_no_change),
        upper_test(copied_up_attributes_that_are_equal_are_no_change),
        upper_test(written_new_and_deleted),
        upper_test(a_whiteout_may_be_an_empty_file_with_an_xattr),
        upper_test(a_moved_directory_comes_whole_with_its_content_known),
        upper_test(a_directory_made_anew_hides_the_old_one),
        upper_test(a_directory_becomes_a_file_and_a_file_a_directory),
        upper_test(the_first_name_of_a_group_is_deleted),
        upper_test(a_write_through_one_name_changes_the_first_name_alone),
        upper_test(a_new_name_before_the_first_takes_its_place),
        upper_test(number_and_ctime_are_what_lstat_says_in_the_mount),
        upper_test(an_upper_over_another_base_is_refused),
        upper_test(excluded_entries_are_told_and_withdrawn),
        upper_test(a_copy_that_was_cut_off_is_in_no_tree),
        upper_test(content_the_stat_cache_knows_is_not_read_again),
        upper_test(what_vanishes_is_passed_over_when_live),
        upper_test(deep_paths_need_few_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
