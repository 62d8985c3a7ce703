/* SPDX-License-Identifier: MIT */
#include "sandbox/credentials.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "sandbox/logins.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

#define NOW 1790000000
#define C(token, expiry) "{\"claudeAiOauth\":{\"accessToken\":\"" token "\",\"expiresAt\":" expiry "}}"
#define WHO(account) "{\"oauthAccount\":{\"accountUuid\":\"" account "\"}}"
#define X(account, token) "{\"tokens\":{\"account_id\":\"" account "\",\"access_token\":\"" token "\"}}"
#define G(user, time) "{\"a::b\":{\"key\":\"k\",\"user_id\":\"" user "\",\"expires_at\":\"" time "\"}}"
/* {"exp":1790003600,"sub":"u1"}, an hour later, and of another user */
#define EARLY "h.eyJleHAiOjE3OTAwMDM2MDAsInN1YiI6InUxIn0.s"
#define LATE "h.eyJleHAiOjE3OTAwMDcyMDAsInN1YiI6InUxIn0.s"
#define OTHER "h.eyJleHAiOjE3OTAwMDcyMDAsInN1YiI6InUyIn0.s"

#define CLAUDE CREDENTIALS_CLAUDE
#define CODEX CREDENTIALS_CODEX
#define GROK CREDENTIALS_GROK
#define KEEP CREDENTIALS_KEEP
#define TO_BOX CREDENTIALS_TO_BOX
#define TO_HOST CREDENTIALS_TO_HOST

static const struct {
    const char *what;
    enum credentials_agent agent;
    const char *host, *box;
    enum credentials_verdict expected;
    const char *host_who, *box_who; /* NULL: "u" */
} table[] = {
    { "neither has one", CLAUDE, "", "", KEEP, NULL, NULL },
    { "the box has none", CLAUDE, C("a", "1790003600000"), "", TO_BOX, NULL, NULL },
    { "the box has none, the host's has expired", CLAUDE, C("a", "1780000000000"), "", TO_BOX, NULL, NULL },
    { "the box has none, the host's is a key", CODEX, "{\"OPENAI_API_KEY\":\"k\"}", "", TO_BOX, NULL, NULL },
    { "the host has none", CLAUDE, "", C("a", "1790003600000"), KEEP, NULL, NULL },
    { "the box's is newer", CLAUDE, C("a", "1790003600000"), C("b", "1790007200000"), TO_HOST, NULL, NULL },
    { "the host's has expired", CLAUDE, C("a", "1780000000000"), C("b", "1790007200000"), TO_HOST, NULL, NULL },
    { "seconds", CLAUDE, C("a", "1790003600"), C("b", "1790007200"), TO_HOST, NULL, NULL },
    { "the host's is newer", CLAUDE, C("b", "1790007200000"), C("a", "1790003600000"), TO_BOX, NULL, NULL },
    { "the same time", CLAUDE, C("a", "1790003600000"), C("b", "1790003600000"), KEEP, NULL, NULL },
    { "of another account", CLAUDE, C("a", "1790003600000"), C("b", "1790007200000"), KEEP, NULL, WHO("v") },
    { "of another account, older", CLAUDE, C("b", "1790007200000"), C("a", "1790003600000"), KEEP, NULL, WHO("v") },
    { "of an unknown account", CLAUDE, C("a", "1790003600000"), C("b", "1790007200000"), KEEP, NULL, "" },
    { "of an unknown account, older", CLAUDE, C("b", "1790007200000"), C("a", "1790003600000"), TO_BOX, NULL, "" },
    { "the host's account is unknown", CLAUDE, C("a", "1790003600000"), C("b", "1790007200000"), KEEP, "", NULL },
    { "it has expired", CLAUDE, C("a", "1780000000000"), C("b", "1789999999000"), KEEP, NULL, NULL },
    { "it expires now", CLAUDE, C("a", "1780000000000"), C("b", "1790000000000"), KEEP, NULL, NULL },
    { "400 days", CLAUDE, C("a", "1790003600000"), C("b", "1824560000000"), TO_HOST, NULL, NULL },
    { "longer than logins last", CLAUDE, C("a", "1790003600000"), C("b", "1824560001000"), KEEP, NULL, NULL },
    { "for ever", CLAUDE, C("a", "1790003600000"), C("b", "9223372036854775807"), KEEP, NULL, NULL },
    { "before all time", CLAUDE, C("a", "1790003600000"), C("b", "-1"), KEEP, NULL, NULL },
    { "no number", CLAUDE, C("a", "1790003600000"), C("b", "1790007200.5"), KEEP, NULL, NULL },
    { "no token", CLAUDE, C("a", "1790003600000"), C("", "1790007200000"), KEEP, NULL, NULL },
    { "half a file", CLAUDE, C("a", "1790003600000"), "{\"claudeAiOauth\":{\"accessToken\":\"b\"", KEEP, NULL, NULL },
    { "something behind it", CLAUDE, C("a", "1790003600000"), C("b", "1790007200000") "x", KEEP, NULL, NULL },
    { "twice", CLAUDE, C("a", "1790003600000"), "{\"claudeAiOauth\":{},\"claudeAiOauth\":{}}", KEEP, NULL, NULL },
    { "an array", CLAUDE, C("a", "1790003600000"), "[1]", KEEP, NULL, NULL },
    { "another kind inside", CLAUDE, C("a", "1790003600000"), "{\"claudeAiOauth\":[]}", KEEP, NULL, NULL },
    { "the host's is not understood", CLAUDE, "{\"new\":1}", C("b", "1790007200000"), KEEP, NULL, NULL },
    { "Codex: newer", CODEX, X("w", EARLY), X("w", LATE), TO_HOST, NULL, NULL },
    { "Codex: older", CODEX, X("w", LATE), X("w", EARLY), TO_BOX, NULL, NULL },
    { "Codex: another workspace", CODEX, X("w", EARLY), X("x", LATE), KEEP, NULL, NULL },
    { "Codex: another user of it", CODEX, X("w", EARLY), X("w", OTHER), KEEP, NULL, NULL },
    { "Codex: no token in it", CODEX, X("w", EARLY), X("w", "a.!!.b"), KEEP, NULL, NULL },
    { "Codex: no dots", CODEX, X("w", EARLY), X("w", "abc"), KEEP, NULL, NULL },
    { "Codex: a key instead", CODEX, X("w", EARLY), "{\"OPENAI_API_KEY\":\"k\"}", KEEP, NULL, NULL },
    { "Grok: newer", GROK, G("u", "2026-10-01T00:00:00Z"), G("u", "2026-10-02T00:00:00.123456789Z"), TO_HOST, NULL,
      NULL },
    { "Grok: older", GROK, G("u", "2026-10-02T00:00:00+00:00"), G("u", "2026-10-01T00:00:00Z"), TO_BOX, NULL, NULL },
    { "Grok: another user", GROK, G("u", "2026-10-01T00:00:00Z"), G("v", "2026-10-02T00:00:00Z"), KEEP, NULL, NULL },
    { "Grok: no time", GROK, G("u", "2026-10-01T00:00:00Z"), G("u", "2026-13-02T00:00:00Z"), KEEP, NULL, NULL },
    { "Grok: one more entry", GROK, G("u", "2026-10-01T00:00:00Z"),
      "{\"a::b\":{\"key\":\"k\",\"user_id\":\"u\",\"expires_at\":1790900000},"
      "\"c\":{\"key\":\"k\",\"user_id\":\"u\",\"expires_at\":1790900000}}",
      KEEP, NULL, NULL },
    { "Grok: logged out", GROK, G("u", "2026-10-01T00:00:00Z"), "{}", KEEP, NULL, NULL },
};

static struct bytes bytes_of(const char *s)
{
    return (struct bytes){ (const uint8_t *)s, strlen(s) };
}

static void the_later_expiry_wins(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct buf text = { 0 };
        struct credentials_copy host = { bytes_of(table[i].host),
                                         bytes_of(table[i].host_who ? table[i].host_who : WHO("u")) };
        struct credentials_copy box = { bytes_of(table[i].box),
                                        bytes_of(table[i].box_who ? table[i].box_who : WHO("u")) };
        enum credentials_verdict v = credentials_decide(table[i].agent, &host, &box, NOW, &text);
        if (v != table[i].expected)
            print_error("%s: %d\n", table[i].what, v);
        assert_int_equal(v, table[i].expected);
        assert_int_equal(text.len == 0, v == KEEP);
        buf_release(&text);
    }
}

/* Fails if a box could put more than the login into the host's file. */
static void only_the_login_is_taken_over(void **state)
{
    (void)state;
    struct buf text = { 0 };
    struct credentials_copy host = { bytes_of("{\"OPENAI_API_KEY\":\"mine\",\"tokens\":{\"account_id\":\"w\","
                                              "\"access_token\":\"" EARLY "\"}}"),
                                     { 0 } };
    struct credentials_copy box = { bytes_of("{\"OPENAI_API_KEY\":\"theirs\",\"base_url\":\"http://theirs\",\"tokens\":"
                                             "{\"account_id\":\"w\",\"access_token\":\"" LATE "\"}}"),
                                    { 0 } };
    assert_int_equal(credentials_decide(CODEX, &host, &box, NOW, &text), TO_HOST);
    assert_non_null(strstr(buf_string(&text), LATE));
    assert_non_null(strstr(buf_string(&text), "mine"));
    assert_null(strstr(buf_string(&text), "theirs"));
    buf_release(&text);
}

static void one_that_is_too_long_stays(void **state)
{
    (void)state;
    struct buf text = { 0 }, large = { 0 };
    buf_printf(&large, "%s", C("b", "1790007200000"));
    buf_fill(&large, ' ', CREDENTIALS_MAX - large.len);
    struct credentials_copy host = { bytes_of(C("a", "1790003600000")), bytes_of(WHO("u")) };
    struct credentials_copy box = { buf_bytes(&large), bytes_of(WHO("u")) };
    assert_int_equal(credentials_decide(CLAUDE, &host, &box, NOW, &text), TO_HOST);
    buf_fill(&large, ' ', 1);
    buf_clear(&text);
    box.file = buf_bytes(&large);
    assert_int_equal(credentials_decide(CLAUDE, &host, &box, NOW, &text), KEEP);
    buf_release(&text);
    buf_release(&large);
}

struct place {
    char *scratch, *user;
    int home;
};

#define OLD G("u", "2026-12-01T00:00:00Z")

static void place_make(struct place *p)
{
    p->scratch = scratch_new();
    scratch_mkdir("%s/user", p->scratch);
    scratch_mkdir("%s/user/.grok", p->scratch);
    scratch_mkdir("%s/home", p->scratch);
    scratch_mkdir("%s/elsewhere", p->scratch);
    scratch_write(OLD, "%s/user/.grok/auth.json", p->scratch);
    p->user = mem_printf("%s/user", p->scratch);
    p->home = scratch_open("%s/home", p->scratch);
}

static void place_remove(struct place *p)
{
    close(p->home);
    free(p->user);
    scratch_remove(p->scratch);
}

static bool holds(const struct place *p, const char *path, const char *part)
{
    struct buf text = { 0 };
    char *whole = mem_printf("%s/%s", p->scratch, path);
    bool found = fd_read_file(AT_FDCWD, whole, 100000, &text, NULL) == 0 && strstr(buf_string(&text), part);
    free(whole);
    buf_release(&text);
    return found;
}

static mode_t mode_of(const struct place *p, const char *path)
{
    struct stat st;
    char *whole = mem_printf("%s/%s", p->scratch, path);
    assert_int_equal(stat(whole, &st), 0);
    free(whole);
    return st.st_mode & 07777;
}

static void a_login_goes_to_and_fro(void **state)
{
    (void)state;
    struct place p;
    char later[64], text[200];
    time_t in_a_day = time(NULL) + 24 * 60 * 60;
    place_make(&p);
    logins_reconcile(p.user, p.home, -1);
    assert_true(holds(&p, "home/.grok/auth.json", "2026-12-01"));
    assert_int_equal(mode_of(&p, "home/.grok/auth.json"), 0600);

    snprintf(text, sizeof(text), "{\"a::b\":{\"key\":\"new\",\"user_id\":\"u\",\"expires_at\":%lld}}",
             (long long)in_a_day);
    scratch_write("{\"a::b\":{\"key\":\"k\",\"user_id\":\"u\",\"expires_at\":1700000000}}", "%s/user/.grok/auth.json",
                  p.scratch);
    scratch_write(text, "%s/home/.grok/auth.json", p.scratch);
    snprintf(later, sizeof(later), "%lld", (long long)in_a_day);
    int user = scratch_open("%s/user/.grok", p.scratch);
    assert_int_equal(fchmodat(user, "auth.json", 0640, 0), 0);
    assert_int_equal(renameat(user, "auth.json", user, "real"), 0);
    assert_int_equal(symlinkat("real", user, "auth.json"), 0); /* the user's own link stays one */
    logins_reconcile(p.user, p.home, -1);
    assert_true(holds(&p, "user/.grok/real", later));
    assert_int_equal(mode_of(&p, "user/.grok/real"), 0640);
    struct stat st;
    assert_int_equal(fstatat(user, "auth.json", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISLNK(st.st_mode));
    close(user);
    place_remove(&p);
}

/* Fails if what a box puts in the way leads out of its HOME, or holds up its keeper. */
static void nothing_in_the_box_is_followed(void **state)
{
    (void)state;
    struct place p;
    place_make(&p);
    assert_int_equal(symlinkat("../elsewhere", p.home, ".grok"), 0);
    logins_reconcile(p.user, p.home, -1);
    assert_false(holds(&p, "elsewhere/auth.json", "key"));
    assert_int_equal(unlinkat(p.home, ".grok", 0), 0);

    assert_int_equal(mkdirat(p.home, ".grok", 0700), 0);
    scratch_write("theirs", "%s/elsewhere/file", p.scratch);
    assert_int_equal(symlinkat("../../elsewhere/file", p.home, ".grok/.auth.json.ag-box"), 0);
    logins_reconcile(p.user, p.home, -1);
    assert_true(holds(&p, "elsewhere/file", "theirs"));
    assert_true(holds(&p, "home/.grok/auth.json", "key"));

    assert_int_equal(unlinkat(p.home, ".grok/auth.json", 0), 0);
    assert_int_equal(symlinkat("../../elsewhere/file", p.home, ".grok/auth.json"), 0);
    logins_reconcile(p.user, p.home, -1);
    assert_true(holds(&p, "elsewhere/file", "theirs"));

    assert_int_equal(unlinkat(p.home, ".grok/auth.json", 0), 0);
    assert_int_equal(mkfifoat(p.home, ".grok/auth.json", 0600), 0);
    logins_reconcile(p.user, p.home, -1);
    assert_true(holds(&p, "user/.grok/auth.json", "2026-12-01"));
    place_remove(&p);
}

/* Fails if whoever may open the host's directory, a box perhaps, can hold up every keeper. */
static void a_lock_that_stays_holds_nobody_up(void **state)
{
    (void)state;
    struct place p;
    place_make(&p);
    int other = scratch_open("%s/user/.grok", p.scratch);
    assert_int_equal(flock(other, LOCK_EX), 0);
    alarm(60);
    logins_reconcile(p.user, p.home, -1);
    alarm(0);
    assert_false(holds(&p, "home/.grok/auth.json", "key"));
    close(other);
    logins_reconcile(p.user, p.home, -1);
    assert_true(holds(&p, "home/.grok/auth.json", "key"));
    place_remove(&p);
}

static void changes_are_told(void **state)
{
    (void)state;
    struct place p;
    place_make(&p);
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    logins_reconcile(p.user, p.home, watch);
    assert_true(logins_changed(watch)); /* our own: once more, then nothing */
    logins_reconcile(p.user, p.home, watch);
    assert_false(logins_changed(watch));
    scratch_write("x", "%s/home/.grok/other", p.scratch);
    scratch_write("x", "%s/home/file", p.scratch);
    assert_false(logins_changed(watch));
    scratch_write(OLD, "%s/home/.grok/auth.json", p.scratch);
    assert_true(logins_changed(watch));
    scratch_write(OLD, "%s/user/.grok/auth.json", p.scratch);
    assert_true(logins_changed(watch));
    scratch_mkdir("%s/home/.codex", p.scratch);
    assert_true(logins_changed(watch));
    close(watch);
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_later_expiry_wins),
        cmocka_unit_test(only_the_login_is_taken_over),
        cmocka_unit_test(one_that_is_too_long_stays),
        cmocka_unit_test(a_login_goes_to_and_fro),
        cmocka_unit_test(nothing_in_the_box_is_followed),
        cmocka_unit_test(changes_are_told),
        cmocka_unit_test(a_lock_that_stays_holds_nobody_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
