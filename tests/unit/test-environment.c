/* SPDX-License-Identifier: MIT */
#include "sandbox/environment.h"

#include "index/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define OWN "/root/.local/bin"
#define SYSTEM "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define TOOLS "/nix/store/0123-tools"
#define PROFILE "/nix/var/nix/profiles/default/bin"

static const char *value(const struct words *table, const char *name)
{
    for (size_t i = 0; i + 1 < table->count; i += 2)
        if (strcmp(table->items[i], name) == 0)
            return table->items[i + 1];
    return NULL;
}

static void expect_path(const struct environment *c, const char *path)
{
    _cleanup_(words_release) struct words table = { 0 };
    environment_table(c, &table);
    assert_int_equal(table.count % 2, 0);
    assert_string_equal(value(&table, "PATH"), path);
}

/* What a shell has after the script, that came to it with this. */
static void expect_after(const struct environment *c, const char *before, const char *after)
{
    _cleanup_(buf_release) struct buf script = { 0 }, said = { 0 };
    buf_printf(&script, "PATH='%s'\n", before);
    environment_profile(c, &script);
    buf_printf(&script, "echo \"$PATH\"\n");
    _cleanup_free_ char *command = mem_printf("exec /bin/sh -eu <<'IN'\n%sIN\n", buf_string(&script));
    FILE *f = popen(command, "re");
    assert_non_null(f);
    char line[1024];
    assert_non_null(fgets(line, sizeof(line), f));
    line[strcspn(line, "\n")] = '\0';
    assert_int_equal(pclose(f), 0);
    assert_string_equal(line, after);
}

static void the_boxs_own_come_first(void **state)
{
    expect_path(&(struct environment){ .box = "demo", .node = "a" }, OWN ":" SYSTEM);
    expect_path(&(struct environment){ .box = "demo", .node = "a", .nix = true }, OWN ":" SYSTEM ":" PROFILE);
    expect_path(&(struct environment){ .box = "demo", .node = "a", .nix = true, .tools = TOOLS },
                TOOLS "/bin:" OWN ":" SYSTEM ":" PROFILE);
}

static void a_login_shell_has_them_too(void **state)
{
    const struct environment plain = { .box = "demo", .node = "a" };
    const struct environment all = { .box = "demo", .node = "a", .nix = true, .tools = TOOLS };
    expect_after(&plain, SYSTEM, OWN ":" SYSTEM);
    expect_after(&all, SYSTEM, TOOLS "/bin:" OWN ":" SYSTEM ":" PROFILE);
    /* What the host's scripts have put there stays; nothing comes twice. */
    expect_after(&all, SYSTEM ":/opt/x/bin", TOOLS "/bin:" OWN ":" SYSTEM ":/opt/x/bin:" PROFILE);
    expect_after(&all, TOOLS "/bin:" OWN ":" SYSTEM ":" PROFILE, TOOLS "/bin:" OWN ":" SYSTEM ":" PROFILE);
    expect_after(&plain, OWN, OWN);
    expect_after(&all, OWN ":/bin", TOOLS "/bin:" OWN ":" OWN ":/bin:" PROFILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_boxs_own_come_first),
        cmocka_unit_test(a_login_shell_has_them_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
