/* SPDX-License-Identifier: MIT */
#include "index/digest.h"

#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char place[40];

/* Runs a shell in the tree; what it prints, without the last newline, goes to ret. */
static void shell(char *ret, size_t room, const char *command)
{
    _cleanup_free_ char *all = mem_printf("cd %s/tree && { %s\n}", place, command);
    FILE *f = popen(all, "r");
    assert_non_null(f);
    size_t n = fread(ret, 1, room - 1, f);
    if (pclose(f) != 0)
        fail_msg("%s", command);
    ret[n - (n > 0 && ret[n - 1] == '\n')] = '\0';
}

static void run(const char *command)
{
    char nothing[1024];
    shell(nothing, sizeof(nothing), command);
}

static int make_place(void **state)
{
    strcpy(place, "/tmp/test-digest.XXXXXX");
    if (!mkdtemp(place))
        return -1;
    _cleanup_free_ char *tree = mem_printf("%s/tree", place);
    return mkdir(tree, 0755);
}

static int make_project(void **state)
{
    if (make_place(state) < 0)
        return -1;
    run("python3 " SOURCE_ROOT "/tests/make-project.py . --secret");
    return 0;
}

static int remove_place(void **state)
{
    _cleanup_free_ char *command = mem_printf("rm -rf %s", place);
    return system(command);
}

static void digest_with(const struct exclude *x, char text[65])
{
    struct digest d;
    struct error e = { 0 };
    _cleanup_free_ char *tree = mem_printf("%s/tree", place);
    if (digest_directory(tree, x, NULL, &d, &e) < 0)
        fail_msg("%s", e.text);
    digest_text(&d, text);
}

static void digest(char text[65])
{
    digest_with(NULL, text);
}

static void both_walks_agree_on_everything_a_tree_may_hold(void **state)
{
    char ours[65], theirs[128];
    digest(ours);
    shell(theirs, sizeof(theirs), "python3 " SOURCE_ROOT "/tests/walk.py .");
    assert_string_equal(ours, theirs);
}

/* Fails with a walk that opens by whole paths, or that holds a descriptor for every level. */
static void both_walks_agree_far_below_the_longest_path(void **state)
{
    char ours[65], theirs[128];
    run("python3 -c '\n"
        "import os\n"
        "for i in range(150):\n"
        "    os.mkdir(\"d\" * 60)\n"
        "    open(\"d\" * 60 + \"-\", \"w\").close()\n"
        "    os.chdir(\"d\" * 60)\n'");
    struct rlimit before, few = { 32, 32 };
    getrlimit(RLIMIT_NOFILE, &before);
    few.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_NOFILE, &few);
    digest(ours);
    setrlimit(RLIMIT_NOFILE, &before);
    shell(theirs, sizeof(theirs), "python3 " SOURCE_ROOT "/tests/walk.py .");
    assert_string_equal(ours, theirs);
}

static void whatever_a_restore_must_keep_changes_it(void **state)
{
    static const char *const changes[] = {
        "chmod 0700 .",
        "touch -d @1234.000000001 .",
        "chmod u+s file",
        "chown 5 file",
        "chgrp 5 file",
        "touch -d @1700000000.000000001 file",
        "touch -d @1700000000.000000002 file",
        "printf x >>file; touch -d @1700000000 file",
        "mv file file2; touch -d @1234 .",
        "setfattr -n user.x -v 1 file2",
        "setfattr -n user.x -v 2 file2",
        "setfattr -n user.y -v 2 file2",
        "setfacl -m u:77:r file2",
        "setfacl -d -m u:77:r src",
        "chown -h 9 links/to-file",
        "touch -h -d @99 links/to-file",
        "rm links/dangling; ln -s elsewhere links/dangling; touch -h -d @99 links/dangling; touch -d @99 links",
        "rm special/fifo-too; touch -d @99 special",
        "cp -a links/one links/x; mv links/x links/two; touch -d @99 links", /* one name less in the group */
        "rm -rf empty-directory; touch -d @1234 .",
    };
    char before[65], after[65];
    digest(before);
    for (size_t i = 0; i < COUNT(changes); i++) {
        run(changes[i]);
        digest(after);
        if (strcmp(before, after) == 0)
            fail_msg("not seen: %s", changes[i]);
        strcpy(before, after);
    }
}

static void what_a_restore_need_not_keep_does_not_change_it(void **state)
{
    static const char *const changes[] = {
        "touch -a file; chmod 0644 file", /* atime, ctime */
        "cp -a --sparse=never sparse s && touch -r . stamp && mv s sparse && rm stamp && touch -d @5 .", /* holes, ino
                                                                                                          */
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"special/other\")'; touch -d @6 special",
        "echo new >.auth-secret; touch -d @5 .",
        "echo more >>src/alias-of-secret; touch -d @7 src",
        "ln src/.auth-secret aaa-comes-first; touch -d @5 .",
        "rm src/.auth-secret src/alias-of-secret aaa-comes-first; touch -d @7 src; touch -d @5 .",
        "ln file ../outside; rm -f ../outside", /* and, in between, a name that is not in the tree */
    };
    char before[65], after[65];
    run("touch -d @5 .; touch -d @6 special; touch -d @7 src");
    digest(before);
    for (size_t i = 0; i < COUNT(changes); i++) {
        run(changes[i]);
        digest(after);
        if (strcmp(before, after) != 0)
            fail_msg("changed by: %s", changes[i]);
    }
    run("ln file ../outside");
    digest(after);
    assert_string_equal(before, after);
}

static void the_dump_is_what_is_hashed_and_in_order(void **state)
{
    static const char expected[] = ". directory 0755 0 0 9.000000000\n"
                                   "a directory 0750 1 2 9.000000000\n"
                                   "a-b file 0640 0 0 -1.500000000 3 "
                                   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n"
                                   "a-c link a-b\n"
                                   "a/x\\x20\\xff symlink 0777 0 0 9.000000000 to\\x5c\\x0a\n";
    run("mkdir a; printf abc >a-b; ln a-b a-c; python3 -c 'import os; os.symlink(b\"to\\\\\\n\", b\"a/x \\xff\")'");
    run("chmod 0640 a-b; chmod 0750 a; chown 1:2 a; touch -h -d @9 a/x*; touch -d @-0.5 a-b; touch -d @9 a .");

    struct digest d;
    char *text = NULL, sum[65], plain[65];
    size_t len = 0;
    FILE *dump = open_memstream(&text, &len);
    _cleanup_free_ char *tree = mem_printf("%s/tree", place);
    assert_int_equal(digest_directory(tree, NULL, dump, &d, NULL), 0);
    fclose(dump);
    assert_string_equal(text, expected);
    assert_int_equal(d.entries, 5);
    assert_int_equal(d.bytes, 3);
    free(text);

    uint8_t hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const uint8_t *)expected, strlen(expected));
    text_hex(plain, hash, sizeof(hash));
    digest_text(&d, sum);
    assert_string_equal(sum, plain);
}

static void excluded_entries_and_what_is_below_them_do_not_count(void **state)
{
    char before[65], after[65], theirs[128];
    const struct bytes rules[] = { { (const uint8_t *)"lib", 3 } };
    struct exclude *x = NULL;
    assert_int_equal(exclude_new(rules, 1, &x, NULL), 0);
    digest_with(x, before);
    shell(theirs, sizeof(theirs), "python3 " SOURCE_ROOT "/tests/walk.py --exclude lib .");
    assert_string_equal(before, theirs);

    run("touch -r src ../stamp; rm -r src/lib; touch -r ../stamp src; rm ../stamp");
    digest(after);
    assert_string_equal(before, after);
    exclude_free(x);
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    struct digest d;
    struct error e = { 0 };
    assert_int_equal(digest_directory("/nonexistent/tree", NULL, NULL, &d, &e), -ENOENT);
    assert_string_equal(e.text, "open directory /nonexistent/tree: No such file or directory");
}

#define PROJECT(name) cmocka_unit_test_setup_teardown(name, make_project, remove_place)
#define EMPTY(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    umask(022);
    const struct CMUnitTest tests[] = {
        PROJECT(both_walks_agree_on_everything_a_tree_may_hold),
        EMPTY(both_walks_agree_far_below_the_longest_path),
        PROJECT(whatever_a_restore_must_keep_changes_it),
        PROJECT(what_a_restore_need_not_keep_does_not_change_it),
        EMPTY(the_dump_is_what_is_hashed_and_in_order),
        PROJECT(excluded_entries_and_what_is_below_them_do_not_count),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
