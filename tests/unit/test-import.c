/* SPDX-License-Identifier: MIT */
#include "sandbox/import.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/exclude.h"
#include "sandbox/origin.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include <cmocka.h>

#define CWD(path) "{\"type\":\"user\",\"cwd\":\"" path "\"}\n"
#define GROWTH (1024 * 1024)
#define META(path) "{\"type\":\"session_meta\",\"payload\":{\"id\":\"1\",\"cwd\":\"" path "\"}}\n"

static const struct {
    const char *what;
    int (*origin)(struct bytes head, char **ret);
    const char *head, *expected; /* NULL: none */
    bool malformed;
} table[] = {
    { "the first line", origin_of_claude, CWD("/a/b"), "/a/b" },
    { "behind lines without one, and what is no JSON", origin_of_claude,
      "{\"type\":\"summary\"}\n{broken\n\n[1]\n" CWD("/a"), "/a" },
    { "the first of two", origin_of_claude, CWD("/a") CWD("/b"), "/a" },
    { "without a newline at the end", origin_of_claude, "{\"cwd\":\"/a\"}", "/a" },
    { "a slash at the end", origin_of_claude, CWD("/a/"), "/a" },
    { "the root", origin_of_claude, CWD("/"), "/" },
    { "none", origin_of_claude, "{\"type\":\"summary\"}\n", NULL },
    { "empty", origin_of_claude, "", NULL },
    { "only what is no JSON", origin_of_claude, "{\"type\":\"summary\"}\n{\"cwd\":\"/a", NULL, true },
    { "not absolute", origin_of_claude, CWD("a/b"), NULL, true },
    { "out of the project", origin_of_claude, CWD("/a/../b"), NULL, true },
    { "to the parent", origin_of_claude, CWD("/a/.."), NULL, true },
    { "two slashes", origin_of_claude, CWD("/a//b"), NULL, true },
    { "a dot", origin_of_claude, CWD("/a/./b"), NULL, true },
    { "names that begin with dots", origin_of_claude, CWD("/a/..b/.c/..."), "/a/..b/.c/..." },
    { "a number", origin_of_claude, "{\"cwd\":1}\n" CWD("/a"), "/a" },
    { "a NUL", origin_of_claude, CWD("/a\\u0000"), NULL, true },
    { "Codex", origin_of_codex, META("/a/b"), "/a/b" },
    { "Codex: the second line", origin_of_codex, "{\"type\":\"event\"}\n" META("/a"), NULL },
    { "Codex: another type", origin_of_codex, "{\"type\":\"x\",\"payload\":{\"cwd\":\"/a\"}}\n", NULL },
    { "Codex: no payload", origin_of_codex, "{\"type\":\"session_meta\",\"cwd\":\"/a\"}\n", NULL },
    { "Codex: out of the project", origin_of_codex, META("/a/../b"), NULL },
    { "Codex: empty", origin_of_codex, "", NULL },
};

static void heads_tell_directories(void **state)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        _cleanup_free_ char *got = NULL;
        struct bytes head = { (const uint8_t *)table[i].head, strlen(table[i].head) };
        int r = table[i].origin(head, &got);
        print_message("%s\n", table[i].what);
        assert_int_equal(r, table[i].expected ? 0 : table[i].malformed ? -EINVAL : -ENOENT);
        if (table[i].expected)
            assert_string_equal(got, table[i].expected);
    }
}

static void names_tell_directories(void **state)
{
    static const char *const names[][2] = {
        { "%2Froot%2Fdemo", "/root/demo" },
        { "%2froot%2fa%20b", "/root/a b" },
        { "%2Fa%FFb", "/a\xff"
                      "b" },
        { "%2Fa%2F..%2Fb", NULL },
        { "root", NULL },
        { "%2Fa%0", NULL },
        { "%2Fa%", NULL },
        { "%2Fa%zz", NULL },
        { "%2Fa%00b", NULL },
        { "", NULL },
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        _cleanup_free_ char *got = NULL;
        assert_int_equal(origin_of_grok(names[i][0], &got), names[i][1] ? 0 : -EINVAL);
        if (names[i][1])
            assert_string_equal(got, names[i][1]);
    }
}

static void below_is_within(void **state)
{
    assert_true(origin_within("/a/b", "/a/b"));
    assert_true(origin_within("/a/b/c", "/a/b"));
    assert_false(origin_within("/a/b-c", "/a/b"));
    assert_false(origin_within("/a", "/a/b"));
}

struct place {
    char *scratch, *user;
    int home;
    struct import_report report;
};

static void place_make(struct place *p)
{
    p->scratch = scratch_new();
    p->user = mem_printf("%s/user", p->scratch);
    scratch_mkdir("%s", p->user);
    scratch_mkdir("%s/home", p->scratch);
    p->home = scratch_open("%s/home", p->scratch);
}

static void place_remove(struct place *p)
{
    close(p->home);
    free(p->user);
    scratch_remove(p->scratch);
}

/* In the user's HOME, with the directories above it. */
static void put(const struct place *p, const char *text, const char *path)
{
    _cleanup_free_ char *whole = mem_printf("%s/%s", p->user, path);
    _cleanup_free_ char *parent = mem_copy(whole, (size_t)(strrchr(whole, '/') - whole));
    assert_int_equal(fd_make_directories(parent, 0755, NULL), 0);
    scratch_write(text, "%s", whole);
}

static void put_compressed(const struct place *p, const char *text, const char *path)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    buf_fill(&b, 0, ZSTD_compressBound(strlen(text)));
    size_t n = ZSTD_compress(b.data, b.len, text, strlen(text), 3);
    assert_false(ZSTD_isError(n));
    put(p, "", path);
    _cleanup_free_ char *whole = mem_printf("%s/%s", p->user, path);
    _cleanup_close_ int fd = open(whole, O_WRONLY | O_CLOEXEC);
    assert_int_equal(fd_write_all(fd, b.data, n, NULL), 0);
}

static int import(struct place *p, struct error *e)
{
    return import_sessions(p->user, p->home, "/a/b/c", NULL, &p->report, e);
}

static bool there(const struct place *p, const char *path)
{
    struct stat st;
    return fstatat(p->home, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void expect_text(const struct place *p, const char *path, const char *text)
{
    _cleanup_(buf_release) struct buf got = { 0 };
    assert_int_equal(fd_read_file(p->home, path, 4096, &got, NULL), 0);
    assert_string_equal(buf_string(&got), text);
}

/* /a/b-c and /a/b/c share a slug. */
static void a_slug_of_two_projects(void **state)
{
    struct place p;
    place_make(&p);
    put(&p, CWD("/a/b/c"), ".claude/projects/-a-b-c/own.jsonl");
    put(&p, "tool", ".claude/projects/-a-b-c/own/tool-results/1.txt");
    put(&p, CWD("/a/b-c"), ".claude/projects/-a-b-c/other.jsonl");
    put(&p, "tool", ".claude/projects/-a-b-c/other/tool-results/1.txt");
    put(&p, "whose?", ".claude/projects/-a-b-c/memory/MEMORY.md");
    put(&p, CWD("/a/b/c/sub"), ".claude/projects/-a-b-c-sub/below.jsonl");
    put(&p, CWD("/a/b/c/sub"), ".claude/projects/-a-b-c-sub/agent-1.jsonl");
    put(&p, "ours", ".claude/projects/-a-b-c-sub/memory/MEMORY.md");
    put(&p, "[]", ".claude/todos/own-agent-1.json");
    put(&p, "[]", ".claude/todos/other-agent-1.json");
    put(&p, "old", ".claude/file-history/own/1@v1");
    put(&p, "old", ".claude/file-history/other/1@v1");
    put(&p, "{}", ".claude/tasks/own/1.json");
    put(&p, "{}", ".claude/history.jsonl");
    assert_int_equal(import(&p, NULL), 0);
    assert_int_equal(p.report.sessions[CREDENTIALS_CLAUDE], 2);
    assert_int_equal(p.report.left_out, 0);
    expect_text(&p, ".claude/projects/-a-b-c/own.jsonl", CWD("/a/b/c"));
    assert_true(there(&p, ".claude/projects/-a-b-c/own/tool-results/1.txt"));
    assert_true(there(&p, ".claude/projects/-a-b-c-sub/below.jsonl"));
    assert_true(there(&p, ".claude/projects/-a-b-c-sub/agent-1.jsonl"));
    expect_text(&p, ".claude/projects/-a-b-c-sub/memory/MEMORY.md", "ours");
    assert_true(there(&p, ".claude/todos/own-agent-1.json"));
    assert_true(there(&p, ".claude/file-history/own/1@v1"));
    assert_true(there(&p, ".claude/tasks/own/1.json"));
    assert_false(there(&p, ".claude/projects/-a-b-c/other.jsonl"));
    assert_false(there(&p, ".claude/projects/-a-b-c/other"));
    assert_false(there(&p, ".claude/projects/-a-b-c/memory"));
    assert_false(there(&p, ".claude/todos/other-agent-1.json"));
    assert_false(there(&p, ".claude/file-history/other"));
    assert_false(there(&p, ".claude/history.jsonl"));
    place_remove(&p);
}

/* What the sessions beside it are says whose it is: one that tells nothing says nothing, one that cannot be understood
 * may be anybody's. */
static void a_memory_beside_sessions_that_do_not_tell(void **state)
{
    static const struct {
        const char *own, *second;
        bool taken;
    } cases[] = {
        { CWD("/a/b/c"), "{\"type\":\"summary\"}\n", true },
        { CWD("/a/b/c"), "", true },
        { CWD("/a/b/c"), CWD("/a/b"), false },
        { CWD("/a/b/c"), CWD("/a/../b"), false },
        { CWD("/a/b/c"), "{\"cwd\":\"/a/b", false },
        { "", "{\"type\":\"summary\"}\n", false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct place p;
        place_make(&p);
        put(&p, cases[i].own, ".claude/projects/-p/own.jsonl");
        put(&p, cases[i].second, ".claude/projects/-p/second.jsonl");
        put(&p, "whose?", ".claude/projects/-p/memory/MEMORY.md");
        assert_int_equal(import(&p, NULL), 0);
        assert_int_equal(there(&p, ".claude/projects/-p/memory/MEMORY.md"), cases[i].taken);
        assert_false(there(&p, ".claude/projects/-p/second.jsonl"));
        place_remove(&p);
    }

    struct place p;
    place_make(&p);
    put(&p, CWD("/a/b/c"), ".claude/projects/-p/own.jsonl");
    put(&p, "whose?", ".claude/projects/-p/memory/MEMORY.md");
    _cleanup_close_ int in = scratch_open("%s/.claude/projects/-p", p.user);
    assert_int_equal(symlinkat("own.jsonl", in, "link.jsonl"), 0);
    assert_int_equal(import(&p, NULL), 0);
    assert_false(there(&p, ".claude/projects/-p/memory/MEMORY.md"));
    place_remove(&p);
}

static void codex_and_grok(void **state)
{
    struct place p;
    place_make(&p);
    _cleanup_free_ char *long_text = mem_new(1, 200001), *first = NULL;
    memset(long_text, 'x', 200000);
    first =
        mem_printf("{\"type\":\"session_meta\",\"payload\":{\"instructions\":\"%s\",\"cwd\":\"/a/b/c\"}}\n", long_text);
    put(&p, first, ".codex/sessions/2026/07/16/rollout-1.jsonl");
    put(&p, META("/a/b"), ".codex/sessions/2026/07/16/rollout-2.jsonl");
    put(&p, "(\xb5/\xfd", ".codex/sessions/2026/07/16/rollout-3.jsonl.zst");
    put_compressed(&p, first, ".codex/sessions/2026/07/16/rollout-6.jsonl.zst");
    put_compressed(&p, META("/a/b"), ".codex/sessions/2026/07/16/rollout-7.jsonl.zst");
    put(&p, META("/a/b/c"), ".codex/sessions/2026/07/16/1/2/rollout-4.jsonl");
    put(&p, META("/a/b/c/d"), ".codex/archived_sessions/rollout-5.jsonl");
    put(&p, "{}", ".codex/auth.json");
    put(&p, "{}", ".grok/sessions/%2Fa%2Fb%2Fc/1/summary.json");
    put(&p, "{}\n", ".grok/sessions/%2Fa%2Fb%2Fc/1/updates.jsonl");
    put(&p, "{}\n", ".grok/sessions/%2Fa%2Fb%2Fc/2/updates.jsonl");
    put(&p, "{}", ".grok/sessions/%2Fa%2Fb/1/summary.json");
    put(&p, "{}", ".grok/sessions/%2Fa%2Fb%2Fc%2F..%2F..%2Fd/1/summary.json");
    assert_int_equal(import(&p, NULL), 0);
    assert_int_equal(p.report.sessions[CREDENTIALS_CODEX], 3);
    assert_int_equal(p.report.sessions[CREDENTIALS_GROK], 1);
    assert_int_equal(p.report.left_out, 3);
    assert_true(there(&p, ".codex/sessions/2026/07/16/rollout-1.jsonl"));
    assert_false(there(&p, ".codex/sessions/2026/07/16/rollout-2.jsonl"));
    assert_false(there(&p, ".codex/sessions/2026/07/16/1"));
    assert_true(there(&p, ".codex/sessions/2026/07/16/rollout-6.jsonl.zst"));
    assert_false(there(&p, ".codex/sessions/2026/07/16/rollout-7.jsonl.zst"));
    assert_true(there(&p, ".codex/archived_sessions/rollout-5.jsonl"));
    assert_false(there(&p, ".codex/auth.json"));
    assert_true(there(&p, ".grok/sessions/%2Fa%2Fb%2Fc/1/updates.jsonl"));
    assert_false(there(&p, ".grok/sessions/%2Fa%2Fb%2Fc/2"));
    assert_false(there(&p, ".grok/sessions/%2Fa%2Fb"));
    place_remove(&p);
}

/* Nothing that lies elsewhere comes along, whatever points there; nothing waits, and a hole is none to fill. */
static void what_leads_elsewhere(void **state)
{
    struct place p;
    place_make(&p);
    _cleanup_free_ char *own = mem_printf("%s/.claude/projects/-p", p.user);
    put(&p, CWD("/a/b/c") "secret", "secret");
    put(&p, CWD("/a/b/c"), "elsewhere/far.jsonl");
    put(&p, CWD("/a/b/c"), ".claude/projects/-p/own.jsonl");
    put(&p, "x", ".claude/projects/-p/own/fine");
    put(&p, "x", ".claude/projects/-p/own/.credentials.json.bak");
    put(&p, "x", ".claude/projects/-p/own/.auth-secret");
    put(&p, "x", ".claude/.credentials.json");
    put(&p, CWD("/a/b/c"), ".claude/projects/-p/...jsonl"); /* its id is ".." */
    _cleanup_close_ int in = scratch_open("%s", own), projects = scratch_open("%s/.claude/projects", p.user);
    assert_int_equal(symlinkat("../../../secret", in, "link.jsonl"), 0);
    assert_int_equal(symlinkat("../../../../secret", in, "own/link"), 0);
    assert_int_equal(symlinkat("../../elsewhere", projects, "-link"), 0);
    assert_int_equal(mkfifoat(in, "pipe.jsonl", 0600), 0);
    assert_int_equal(mkfifoat(in, "own/pipe", 0600), 0);
    _cleanup_close_ int holes = openat(in, "own/holes", O_WRONLY | O_CREAT, 0600);
    assert_int_equal(ftruncate(holes, (off_t)1 << 40), 0);
    assert_int_equal(import(&p, NULL), 0);
    assert_int_equal(p.report.sessions[CREDENTIALS_CLAUDE], 1);
    assert_int_equal(p.report.left_out, 7);
    assert_true(there(&p, ".claude/projects/-p/own/fine"));
    static const char *const never[] = { "-link",
                                         "-p/link.jsonl",
                                         "-p/own/link",
                                         "-p/pipe.jsonl",
                                         "-p/own/pipe",
                                         "-p/own/.credentials.json.bak",
                                         "-p/own/.auth-secret" };
    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
        _cleanup_free_ char *path = mem_printf(".claude/projects/%s", never[i]);
        assert_false(there(&p, path));
    }
    assert_false(there(&p, ".claude/.credentials.json"));
    struct stat st;
    assert_int_equal(fstatat(p.home, ".claude/projects/-p/own/holes", &st, 0), 0);
    assert_true(st.st_size == (off_t)1 << 40 && st.st_blocks < 1000);
    place_remove(&p);
}

/* What may not enter a snapshot may not come into a box by another way (sandbox/ cannot ask index/exclude). */
static void exclude_has_the_same_secrets(void **state)
{
    static const char *const names[] = {
        ".auth-secret",       ".auth-secret.bak", "x.auth-secret", ".credentials.json", ".credentials.json.1",
        "x.credentials.json", "credentials.json", "auth.json",     "auth.json.tmp",     "my-auth.json",
        "auth.jso",           "auth_json",        "AUTH.JSON",     "settings.json",     "session.jsonl",
    };
    static const char *const agents[] = { ".claude", ".codex", ".grok" };
    struct place p;
    place_make(&p);
    _cleanup_close_ int from = scratch_open("%s", p.user);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bool secret = false;
        for (size_t k = 0; k < CREDENTIALS_AGENTS; k++) {
            _cleanup_free_ char *path = mem_printf("home/%s/%s", agents[k], names[i]);
            secret |= exclude_secret((struct bytes){ (const uint8_t *)path, strlen(path) });
        }
        struct transfer t = { .from = from, .to = p.home };
        put(&p, "x", names[i]);
        print_message("%s\n", names[i]);
        assert_int_equal(transfer_entry(&t, names[i], NULL), 0);
        assert_int_equal(there(&p, names[i]), !secret);
        assert_int_equal(t.left_out, secret);
    }
    place_remove(&p);
}

/* Where the user keeps an agent's directory is the user's matter. */
static void a_directory_kept_elsewhere(void **state)
{
    struct place p;
    place_make(&p);
    put(&p, CWD("/a/b/c"), "dotfiles/claude/projects/-p/own.jsonl");
    _cleanup_close_ int user = scratch_open("%s", p.user);
    assert_int_equal(symlinkat("dotfiles/claude", user, ".claude"), 0);
    assert_int_equal(import(&p, NULL), 0);
    assert_int_equal(p.report.sessions[CREDENTIALS_CLAUDE], 1);
    expect_text(&p, ".claude/projects/-p/own.jsonl", CWD("/a/b/c"));
    place_remove(&p);
}

/* In the box's HOME, too, nothing is followed. */
static void a_link_in_the_way(void **state)
{
    struct place p;
    struct error e = { 0 };
    place_make(&p);
    put(&p, CWD("/a/b/c"), ".claude/projects/-p/own.jsonl");
    scratch_mkdir("%s/elsewhere/-p", p.scratch);
    scratch_mkdir("%s/home/.claude", p.scratch);
    assert_int_equal(symlinkat("../../elsewhere", p.home, ".claude/projects"), 0);
    assert_int_equal(import(&p, &e), -ELOOP);
    _cleanup_free_ char *written = mem_printf("%s/elsewhere/-p/own.jsonl", p.scratch);
    assert_int_equal(access(written, F_OK), -1);
    place_remove(&p);
}

static int appended = -1;

static int append(struct error *e)
{
    if (appended >= 0)
        assert_int_equal(write(appended, "{\"half\":", 8), 8);
    return 0;
}

static int interrupt(struct error *e)
{
    return error_say(e, ERROR_INTERRUPTED, -EINTR, "interrupted");
}

static void somebody_writes_meanwhile(void **state)
{
    struct place p;
    struct stat st;
    place_make(&p);
    put(&p, CWD("/a/b/c") "{\"ha", ".claude/projects/-p/own.jsonl");
    _cleanup_free_ char *path = mem_printf("%s/.claude/projects/-p/own.jsonl", p.user);
    const struct timespec times[2] = { { 1000000, 5 }, { 1000000, 5 } };
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);

    assert_int_equal(import(&p, NULL), 0); /* nobody does: it is as it is */
    expect_text(&p, ".claude/projects/-p/own.jsonl", CWD("/a/b/c") "{\"ha");
    assert_int_equal(fstatat(p.home, ".claude/projects/-p/own.jsonl", &st, 0), 0);
    assert_true(st.st_mtim.tv_sec == 1000000 && st.st_mtim.tv_nsec == 5);
    assert_int_equal(st.st_mode & 0777, 0600);

    appended = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(import_sessions(p.user, p.home, "/a/b/c", append, &p.report, NULL), 0);
    close(mem_steal_fd(&appended));
    expect_text(&p, ".claude/projects/-p/own.jsonl", CWD("/a/b/c"));
    assert_int_equal(p.report.files, 1);
    assert_int_equal(import_sessions(p.user, p.home, "/a/b/c", interrupt, &p.report, NULL), -EINTR);
    place_remove(&p);
}

/* Whose bytes 0x0a are no lines' ends. */
static void somebody_writes_what_is_compressed(void **state)
{
    struct place p;
    place_make(&p);
    put_compressed(&p, META("/a/b/c"), ".codex/sessions/2026/07/16/rollout-1.jsonl.zst");
    _cleanup_close_ int in = scratch_open("%s/.codex/sessions/2026/07/16", p.user);
    appended = openat(in, "rollout-1.jsonl.zst", O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(import_sessions(p.user, p.home, "/a/b/c", append, &p.report, NULL), 0);
    close(mem_steal_fd(&appended));
    assert_false(there(&p, ".codex/sessions/2026/07/16/rollout-1.jsonl.zst"));
    assert_int_equal(p.report.left_out, 1);
    assert_int_equal(p.report.files, 0);
    place_remove(&p);
}

static int grown = -1;
static unsigned asked;

/* The second question comes between two pieces of the file. */
static int grow_behind_a_hole(struct error *e)
{
    _cleanup_free_ uint8_t *data = mem_new(1, GROWTH);
    if (++asked == 2)
        assert_int_equal(pwrite(grown, data, GROWTH, GROWTH), GROWTH);
    return 0;
}

static void data_behind_a_hole_comes_meanwhile(void **state)
{
    struct place p;
    place_make(&p);
    _cleanup_close_ int from = scratch_open("%s", p.user);
    _cleanup_free_ uint8_t *data = mem_new(1, GROWTH / 4);
    struct stat st;
    memset(data, '\n', GROWTH / 4);
    grown = openat(from, "holes", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(grown, data, GROWTH / 4), GROWTH / 4);
    assert_int_equal(ftruncate(grown, GROWTH / 2), 0);
    struct transfer t = { .from = from, .to = p.home, .check = grow_behind_a_hole };
    assert_int_equal(transfer_entry(&t, "holes", NULL), 0);
    assert_int_equal(asked, 2);
    assert_int_equal(fstatat(p.home, "holes", &st, 0), 0);
    assert_int_equal(st.st_size, GROWTH / 4); /* its whole lines */
    close(mem_steal_fd(&grown));
    place_remove(&p);
}

static void a_host_without_agents(void **state)
{
    struct place p;
    place_make(&p);
    assert_int_equal(import(&p, NULL), 0);
    assert_int_equal(p.report.files, 0);
    assert_false(there(&p, ".claude"));
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_tell_directories),
        cmocka_unit_test(names_tell_directories),
        cmocka_unit_test(below_is_within),
        cmocka_unit_test(a_slug_of_two_projects),
        cmocka_unit_test(a_memory_beside_sessions_that_do_not_tell),
        cmocka_unit_test(codex_and_grok),
        cmocka_unit_test(what_leads_elsewhere),
        cmocka_unit_test(exclude_has_the_same_secrets),
        cmocka_unit_test(a_directory_kept_elsewhere),
        cmocka_unit_test(a_link_in_the_way),
        cmocka_unit_test(somebody_writes_meanwhile),
        cmocka_unit_test(somebody_writes_what_is_compressed),
        cmocka_unit_test(data_behind_a_hole_comes_meanwhile),
        cmocka_unit_test(a_host_without_agents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
