/* SPDX-License-Identifier: MIT */
#include "sandbox/policy.h"

#include "index/base/buf.h"
#include "index/base/fd.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

/* A machine as most are: /bin and others are links into /usr. */
static struct host plain_host(void)
{
    struct host h = { .home = mem_strdup("/root") };
    static const char *const targets[HOST_SYSTEM_COUNT] = { "usr/bin", "usr/sbin", "usr/lib", NULL, "usr/lib64", NULL };
    for (size_t i = 0; i < HOST_SYSTEM_COUNT; i++)
        if (targets[i]) {
            h.system[i].kind = HOST_LINK;
            h.system[i].target = mem_strdup(targets[i]);
        }
    words_add(&h.hidden_files, "/usr/lib/agent.sock");
    words_add(&h.hidden_directories, "/usr/local/store");
    return h;
}

static struct policy plain_policy(const struct host *h)
{
    return (struct policy){ .name = "demo",
                            .node = "a",
                            .project = "/root/demo",
                            .project_from = "/run/box/demo/tree/project",
                            .home_from = "/run/box/demo/tree/home",
                            .etc = "/run/box/demo/etc",
                            .copies = "/run/box/demo/copies",
                            .init = "/usr/libexec/ag-box/boxinit",
                            .host = h,
                            .listen_fd = 3,
                            .ready_fd = 4,
                            .filter_fd = 5,
                            .info_fd = 6 };
}

/* An option a line, with its arguments. AGBOX_TEST_GOLDEN=write makes the file anew. */
static void expect_golden(const struct words *w, const char *name)
{
    _cleanup_(buf_release) struct buf text = { 0 }, golden = { 0 };
    for (size_t i = 0; i < w->count; i++)
        buf_printf(&text, "%s%s", i == 0 ? "" : w->items[i][0] == '-' ? "\n" : " ", w->items[i]);
    buf_printf(&text, "\n");
    char path[1024];
    snprintf(path, sizeof(path), SOURCE_ROOT "/tests/unit/policy/%s.golden", name);
    const char *how = getenv("AGBOX_TEST_GOLDEN");
    if (how && strcmp(how, "write") == 0) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        assert_true(fd >= 0);
        assert_int_equal(fd_write_all(fd, text.data, text.len, NULL), 0);
        close(fd);
    }
    assert_int_equal(fd_read_file(AT_FDCWD, path, 1 << 20, &golden, NULL), 0);
    assert_string_equal(buf_string(&text), buf_string(&golden));
}

static void a_plain_box(void **state)
{
    struct host h = plain_host();
    struct policy p = plain_policy(&h);
    _cleanup_(words_release) struct words w = { 0 };
    assert_int_equal(policy_argv(&p, &w, NULL), 0);
    expect_golden(&w, "plain");
    host_release(&h);
}

static void everything_there_is(void **state)
{
    struct host h = plain_host();
    h.nix = true;
    h.system[3].kind = HOST_DIRECTORY;
    words_add(&h.hidden_files, "/nix/var/nix/daemon-socket/socket");
    words_add(&h.hidden_files, "/root/.local/share/agent.sock");
    struct policy p = plain_policy(&h);
    for (size_t i = 0; i < HOST_CONFIGURATION_COUNT; i++)
        p.configuration[i] = h.configuration[i] = true;
    p.project = "/srv/with space";
    p.tools = "/nix/store/0123-tools";
    _cleanup_(words_release) struct words w = { 0 };
    assert_int_equal(policy_argv(&p, &w, NULL), 0);
    expect_golden(&w, "everything");
    host_release(&h);
}

/* A bind that is left out cannot be a place where something is hidden. */
static void what_is_not_shown_is_not_hidden(void **state)
{
    struct host h = plain_host();
    words_add(&h.hidden_files, "/root/.local/share/agent.sock");
    struct policy p = plain_policy(&h);
    _cleanup_(words_release) struct words w = { 0 };
    assert_int_equal(policy_argv(&p, &w, NULL), 0);
    assert_false(words_has(&w, "/root/.local/share/agent.sock"));
    assert_true(words_has(&w, "/usr/lib/agent.sock"));
    host_release(&h);
}

static void names_and_paths_that_a_box_has_itself(void **state)
{
    struct host h = plain_host();
    struct error e = { 0 };
    static const char *const paths[] = { "/proc/x", "/dev/shm/x", "/sys", "/run/box/demo/x", "/root" };
    _cleanup_(words_release) struct words w = { 0 };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct policy p = plain_policy(&h);
        p.project = paths[i];
        assert_int_equal(policy_argv(&p, &w, &e), -EINVAL);
        assert_int_equal(e.kind, ERROR_USAGE);
    }
    struct policy p = plain_policy(&h);
    p.name = "etc";
    assert_int_equal(policy_argv(&p, &w, &e), -EINVAL);
    host_release(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_box),
        cmocka_unit_test(everything_there_is),
        cmocka_unit_test(what_is_not_shown_is_not_hidden),
        cmocka_unit_test(names_and_paths_that_a_box_has_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
