/* SPDX-License-Identifier: MIT */
#include "sandbox/points.h"

#include "index/base/mem.h"
#include "index/exclude.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

struct place {
    char *scratch, *user;
    int home;
    struct host host;
};

static void place_make(struct place *p)
{
    p->scratch = scratch_new();
    p->user = mem_printf("%s/user", p->scratch);
    scratch_mkdir("%s/home", p->scratch);
    scratch_mkdir("%s/elsewhere", p->scratch);
    scratch_mkdir("%s/.claude", p->user);
    p->home = scratch_open("%s/home", p->scratch);
    p->host = (struct host){ .home = p->user };
    for (size_t i = 0; i < HOST_CONFIGURATION_COUNT; i++)
        p->host.configuration[i] = true;
}

static void place_remove(struct place *p)
{
    close(p->home);
    free(p->user);
    scratch_remove(p->scratch);
}

static bool there(const struct place *p, const char *name)
{
    struct stat st;
    return fstatat(p->home, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void a_new_home_has_them_all(void **state)
{
    struct place p;
    place_make(&p);
    assert_int_equal(points_track(p.home, "/root/work/demo", NULL), 0);
    assert_true(there(&p, "work/demo"));
    for (size_t i = 0; i < HOST_CONFIGURATION_COUNT; i++)
        assert_true(there(&p, host_configuration[i]));
    assert_int_equal(points_track(p.home, "/root/work/demo", NULL), 0);
    place_remove(&p);

    place_make(&p);
    assert_int_equal(points_track(p.home, "/srv/demo", NULL), 0);
    assert_false(there(&p, "srv"));
    place_remove(&p);
}

/* The box owns its HOME: whatever it puts there, nothing is made outside, and nothing is mounted there (rule T5). */
static void links_of_the_box_lead_nowhere(void **state)
{
    struct place p;
    _cleanup_(words_release) struct words left_out = { 0 };
    bool shown[HOST_CONFIGURATION_COUNT];
    place_make(&p);
    _cleanup_free_ char *elsewhere = mem_printf("%s/elsewhere", p.scratch), *inside = mem_printf("%s/gh", elsewhere);
    assert_int_equal(symlinkat(elsewhere, p.home, ".config"), 0);
    assert_int_equal(symlinkat(elsewhere, p.home, ".local"), 0);
    scratch_write("a file", "%s/home/.claude", p.scratch);
    assert_int_equal(points_start(p.home, "/srv/demo", &p.host, shown, &left_out, NULL), 0);
    for (size_t i = 0; i < HOST_CONFIGURATION_COUNT; i++)
        assert_false(shown[i]);
    assert_int_equal(left_out.count, HOST_CONFIGURATION_COUNT);
    assert_int_equal(access(inside, F_OK), -1);
    assert_int_equal(rmdir(elsewhere), 0); /* empty */
    place_remove(&p);
}

static void a_project_cannot_be_shown_behind_a_link(void **state)
{
    struct place p;
    _cleanup_(words_release) struct words left_out = { 0 };
    bool shown[HOST_CONFIGURATION_COUNT];
    struct error e = { 0 };
    place_make(&p);
    _cleanup_free_ char *elsewhere = mem_printf("%s/elsewhere", p.scratch);
    assert_int_equal(symlinkat(elsewhere, p.home, "demo"), 0);
    assert_int_equal(points_start(p.home, "/root/demo", &p.host, shown, &left_out, &e), -ENOTDIR);
    assert_true(e.hint[0] != '\0');
    place_remove(&p);
}

/* Programs replace the link by a file of their own, and that one stays. */
static void links_to_copies(void **state)
{
    struct place p;
    _cleanup_(words_release) struct words left_out = { 0 };
    bool shown[HOST_CONFIGURATION_COUNT];
    char target[128] = "";
    place_make(&p);
    scratch_write("{}", "%s/.claude/settings.json", p.user);
    assert_int_equal(points_start(p.home, "/srv/demo", &p.host, shown, &left_out, NULL), 0);
    assert_true(readlinkat(p.home, ".claude/settings.json", target, sizeof(target) - 1) > 0);
    assert_string_equal(target, "/run/box/etc/claude/settings.json");
    assert_true(exclude_placed("home/.claude/settings.json", target)); /* no snapshot has it */
    assert_false(there(&p, ".claude/CLAUDE.md"));

    scratch_write("own", "%s/home/.claude/CLAUDE.md", p.scratch);
    scratch_write("of the host", "%s/.claude/CLAUDE.md", p.user);
    _cleanup_free_ char *settings = mem_printf("%s/.claude/settings.json", p.user);
    assert_int_equal(unlink(settings), 0);
    assert_int_equal(points_start(p.home, "/srv/demo", &p.host, shown, &left_out, NULL), 0);
    assert_int_equal(readlinkat(p.home, ".claude/CLAUDE.md", target, sizeof(target)), -1);
    assert_false(there(&p, ".claude/settings.json")); /* it would lead nowhere on this host */
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_home_has_them_all),
        cmocka_unit_test(links_of_the_box_lead_nowhere),
        cmocka_unit_test(a_project_cannot_be_shown_behind_a_link),
        cmocka_unit_test(links_to_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
