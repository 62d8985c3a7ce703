/* SPDX-License-Identifier: MIT */
#include "sync/store.h"

#include "index/base/fd.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

/* What holds of every store is in tests/store/promises.c; here is what only a directory has. */

struct area {
    char root[64];  /* the test's directory */
    char store[80]; /* the store in it */
    struct store *s;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

static struct store *opened(const struct area *a)
{
    char url[128];
    struct store *s = NULL;
    snprintf(url, sizeof(url), "file://%s", a->store);
    assert_int_equal(store_open(&(struct store_config){ .url = url }, &s, NULL), 0);
    return s;
}

static int setup(void **state)
{
    static struct area a;
    strcpy(a.root, "/tmp/test-store-file.XXXXXX");
    if (!mkdtemp(a.root))
        return -1;
    snprintf(a.store, sizeof(a.store), "%s/store", a.root);
    a.s = opened(&a);
    *state = &a;
    return store_create(a.s, NULL);
}

static int teardown(void **state)
{
    struct area *a = *state;
    store_close(a->s);
    return nftw(a->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static char *path_of(const struct area *a, const char *below)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", a->store, below);
    return path;
}

static int put(struct store *s, const char *key, const char *body, enum store_condition condition, const char *etag)
{
    return store_put(s, key, (struct bytes){ (const uint8_t *)body, strlen(body) }, condition, etag, NULL, NULL);
}

static int count(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    ++*(int *)arg;
    return 0;
}

static int listed(struct store *s, const char *prefix)
{
    int n = 0, r = store_list(s, prefix, count, &n, NULL);
    return r < 0 ? r : n;
}

static void keys_are_plain_paths(void **state)
{
    static const char *const good[] = { "config", "box/a/head", "box/A.b_c-9/pack/0/1", "a..b" };
    static const char *const bad[] = { "",     "/a",  "a/",   "a//b", ".",   "..",  "../a", "a/..", "a/./b",    ".a",
                                       "a/.b", "a b", "a\\b", "a\nb", "a%b", "a=b", "a+b",  "a?b",  "a\xc3\xa9" };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(store_key_valid(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(store_key_valid(bad[i]));
    char key[STORE_KEY_MAX + 1];
    memset(key, 'k', sizeof(key));
    key[STORE_KEY_MAX] = '\0';
    assert_false(store_key_valid(key));
    key[STORE_KEY_MAX - 1] = '\0';
    assert_true(store_key_valid(key));
}

static void a_url_that_names_no_store_is_a_usage_error(void **state)
{
    static const char *const urls[] = { "", "/tmp/x", "file://", "file://relative", "file:///", "http://x", "s3://" };
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        struct store *s = NULL;
        struct error e = { 0 };
        assert_int_equal(store_open(&(struct store_config){ .url = urls[i] }, &s, &e), -EINVAL);
        assert_int_equal(e.kind, ERROR_USAGE);
        assert_null(s);
    }
}

static void plain_http_goes_to_this_machine_alone_unless_said(void **state)
{
    static const struct {
        const char *endpoint;
        bool insecure;
        int result;
    } cases[] = {
        { "http://127.9.9.9/", false, 0 },
        { "http://localhost:9000", false, 0 },
        { "http://[::1]", false, 0 },
        { "http://[::1]:9000", false, 0 },
        { "https://198.51.100.2", false, 0 },
        { "http://198.51.100.2:9000", true, 0 },
        { "http://198.51.100.2:9000", false, -EINVAL },
        { "http://127.0.0.1.example", false, -EINVAL },
        { "http://localhost.example:9000", false, -EINVAL },
        { "http://[::2]:9000", false, -EINVAL },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct store_config c = { .url = "s3://bucket", .access_key = "a", .secret_key = "s" };
        _cleanup_(store_closep) struct store *s = NULL;
        c.endpoint = cases[i].endpoint;
        c.insecure = cases[i].insecure;
        assert_int_equal(store_open(&c, &s, NULL), cases[i].result);
    }
}

/* A disk that is not mounted must look like an outage: an empty store would have a park fork its work into the mount
 * point. */
static void a_directory_without_the_mark_is_unreachable_and_stays_untouched(void **state)
{
    struct area *a = *state;
    struct error e = { 0 };
    _cleanup_(buf_release) struct buf got = { 0 };
    assert_int_equal(put(a->s, "box/a/head", "x", STORE_ALWAYS, NULL), 0);
    char away[80];
    snprintf(away, sizeof(away), "%s/away", a->root);
    assert_int_equal(rename(a->store, away), 0);

    for (int present = 0; present < 2; present++) {
        assert_int_equal(store_get(a->s, "box/a/head", 0, 0, 10, &got, NULL, &e), -EHOSTUNREACH);
        assert_int_equal(e.kind, ERROR_STORE);
        assert_int_equal(put(a->s, "box/a/fork/1", "x", STORE_IF_ABSENT, NULL), -EHOSTUNREACH);
        assert_int_equal(store_remove(a->s, "box/a/head", NULL), -EHOSTUNREACH);
        assert_int_equal(listed(a->s, ""), -EHOSTUNREACH);
        if (!present)
            assert_int_equal(mkdir(a->store, 0700), 0);
    }
    assert_int_equal(rmdir(a->store), 0);
    assert_int_equal(rename(away, a->store), 0);
    assert_int_equal(listed(a->s, ""), 1);
}

static void create_makes_one_level_and_keeps_what_is_there(void **state)
{
    struct area *a = *state;
    struct stat st;
    assert_int_equal(stat(a->store, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(put(a->s, "config", "x", STORE_IF_ABSENT, NULL), 0);
    assert_int_equal(store_create(a->s, NULL), 0);
    assert_int_equal(listed(a->s, ""), 1);

    struct area deep = *a;
    snprintf(deep.store, sizeof(deep.store), "%s/none/store", a->root);
    _cleanup_(store_closep) struct store *s = opened(&deep);
    assert_true(store_create(s, NULL) < 0);
}

static void what_killed_writers_left_is_never_listed_and_goes_when_a_day_old(void **state)
{
    struct area *a = *state;
    struct timespec old[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };
    assert_int_equal(close(open(path_of(a, ".agbox/told"), O_CREAT | O_WRONLY, 0600)), 0);
    assert_int_equal(utimensat(AT_FDCWD, path_of(a, ".agbox/told"), old, 0), 0);
    assert_int_equal(close(open(path_of(a, ".agbox/tyoung"), O_CREAT | O_WRONLY, 0600)), 0);
    assert_int_equal(put(a->s, "config", "x", STORE_ALWAYS, NULL), 0);
    assert_int_equal(listed(a->s, ""), 1);
    assert_int_equal(access(path_of(a, ".agbox/told"), F_OK), -1);
    assert_int_equal(access(path_of(a, ".agbox/tyoung"), F_OK), 0);
}

static void links_lead_nowhere_and_are_not_passed_over(void **state)
{
    struct area *a = *state;
    struct error e = { 0 };
    _cleanup_(buf_release) struct buf got = { 0 };
    assert_int_equal(put(a->s, "box/a/head", "x", STORE_ALWAYS, NULL), 0);
    assert_int_equal(symlink("/etc", path_of(a, "box/b")), 0);
    assert_int_equal(store_get(a->s, "box/b/passwd", 0, 0, 1 << 20, &got, NULL, &e), -EACCES);
    assert_int_equal(got.len, 0);
    assert_true(put(a->s, "box/b/test-store-file", "x", STORE_ALWAYS, NULL) < 0);
    assert_int_equal(access("/etc/test-store-file", F_OK), -1);
    assert_int_equal(listed(a->s, "box/"), -EBADMSG);
    assert_int_equal(listed(a->s, "box/a/"), 1);
}

static void directories_go_with_their_last_object(void **state)
{
    struct area *a = *state;
    assert_int_equal(put(a->s, "box/a/pack/w/1", "x", STORE_ALWAYS, NULL), 0);
    assert_int_equal(put(a->s, "box/a/head", "x", STORE_ALWAYS, NULL), 0);
    assert_int_equal(store_remove(a->s, "box/a/pack/w", NULL), 0); /* no object */
    assert_int_equal(store_remove(a->s, "box/a/pack/w/1", NULL), 0);
    assert_int_equal(access(path_of(a, "box/a/pack"), F_OK), -1);
    assert_int_equal(access(path_of(a, "box/a/head"), F_OK), 0);
    assert_int_equal(put(a->s, "box/a/pack/w/2", "x", STORE_ALWAYS, NULL), 0);
    assert_int_equal(listed(a->s, "box/a/pack/"), 1);
}

/* Fails if objects are written in place, and if the temporary file stays behind. */
static void a_full_disk_leaves_the_old_object_and_no_half_one(void **state)
{
    struct area *a = *state;
    struct error e = { 0 };
    static uint8_t body[100000];
    struct rlimit old, small = { 50000, RLIM_INFINITY };
    assert_int_equal(put(a->s, "box/a/head", "old", STORE_ALWAYS, NULL), 0);
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct bytes data = { body, sizeof(body) };
    int replaced = store_put(a->s, "box/a/head", data, STORE_ALWAYS, NULL, NULL, &e);
    int created = store_put(a->s, "box/a/pack/w/1", data, STORE_IF_ABSENT, NULL, NULL, NULL);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(replaced, -ENOSPC);
    assert_int_equal(e.kind, ERROR_STORE);
    assert_int_equal(created, -ENOSPC);
    assert_int_equal(listed(a->s, ""), 1);
    _cleanup_(buf_release) struct buf got = { 0 };
    assert_int_equal(store_get(a->s, "box/a/head", 0, 0, 10, &got, NULL, NULL), 0);
    assert_string_equal(buf_string(&got), "old");
    assert_int_equal(unlink(path_of(a, ".agbox/lock")), 0);
    assert_int_equal(unlink(path_of(a, ".agbox/clock")), 0);
    assert_int_equal(rmdir(path_of(a, ".agbox")), 0);
    assert_int_equal(mkdir(path_of(a, ".agbox"), 0700), 0);
}

/* Fails if a directory that cannot be read is taken for an empty one. */
static void a_list_that_cannot_be_completed_is_an_error(void **state)
{
    struct area *a = *state;
    struct rlimit old, few;
    assert_int_equal(put(a->s, "a", "x", STORE_ALWAYS, NULL), 0);
    assert_int_equal(put(a->s, "b/c/d/e/f/g", "x", STORE_ALWAYS, NULL), 0);
    int next = dup(0);
    close(next);
    getrlimit(RLIMIT_NOFILE, &old);
    few = (struct rlimit){ (rlim_t)next + 6, old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int n = listed(a->s, "");
    setrlimit(RLIMIT_NOFILE, &old);
    assert_int_equal(n, -EHOSTUNREACH);
    assert_int_equal(listed(a->s, ""), 2);
}

static void *put_behind_the_lock(void *arg)
{
    return (void *)(intptr_t)put(arg, "config", "x", STORE_ALWAYS, NULL);
}

static void waiting_for_a_stopped_holder_can_be_cancelled(void **state)
{
    struct area *a = *state;
    pthread_t t;
    void *result;
    _cleanup_close_ int lock = open(path_of(a, ".agbox/lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(pthread_create(&t, NULL, put_behind_the_lock, a->s), 0);
    assert_int_equal(pthread_tryjoin_np(t, NULL), EBUSY);
    store_cancel(a->s);
    assert_int_equal(pthread_join(t, &result), 0);
    assert_int_equal((int)(intptr_t)result, -ECANCELED);
    store_resume(a->s);
    assert_int_equal(listed(a->s, ""), 0);
}

/* Replaces one object for ever, by a megabyte of one letter and then of another; tells once it has begun. */
static _Noreturn void write_for_ever(const struct area *a, int begun)
{
    static uint8_t body[1 << 20];
    struct store *s = opened(a);
    for (unsigned i = 0;; i++) {
        memset(body, 'a' + (int)(i % 2), sizeof(body));
        if (store_put(s, "box/a/head", (struct bytes){ body, sizeof(body) }, STORE_ALWAYS, NULL, NULL, NULL) < 0)
            _exit(1);
        if (i == 0)
            close(begun);
    }
}

/* Fails if an object is written under its own name: then some kills leave a part of it, or parts of two. */
static void a_killed_writer_leaves_the_old_object_or_the_new_one(void **state)
{
    struct area *a = *state;
    for (unsigned round = 0; round < 20; round++) {
        int begun[2];
        char nothing;
        assert_int_equal(pipe2(begun, O_CLOEXEC), 0);
        pid_t writer = fork();
        assert_true(writer >= 0);
        if (writer == 0)
            write_for_ever(a, begun[1]);
        close(begun[1]);
        assert_int_equal(read(begun[0], &nothing, 1), 0);
        close(begun[0]);
        nanosleep(&(struct timespec){ .tv_nsec = 137000 * round }, NULL); /* a different step each time */
        assert_int_equal(kill(writer, SIGKILL), 0);
        assert_int_equal(waitpid(writer, NULL, 0), writer);

        _cleanup_(buf_release) struct buf got = { 0 };
        assert_int_equal(store_get(a->s, "box/a/head", 0, 0, 1 << 20, &got, NULL, NULL), 0);
        assert_int_equal(got.len, 1 << 20);
        assert_memory_equal(got.data, got.data + 1, got.len - 1); /* one letter throughout */
        assert_int_equal(listed(a->s, ""), 1);
        assert_int_equal(put(a->s, "box/a/fork/1", "x", STORE_ALWAYS, NULL), 0); /* nor does it keep the lock */
        assert_int_equal(store_remove(a->s, "box/a/fork/1", NULL), 0);
    }
}

static int race_once(struct area *a, int start, const char *body, bool match, const char *etag)
{
    struct store *s = opened(a); /* as another command would */
    char go;
    if (read(start, &go, 1) != 0) /* the parent closes the other end: all go at once */
        return 9;
    int r = put(s, "box/a/head", body, match ? STORE_IF_MATCH : STORE_IF_ABSENT, etag);
    store_close(s);
    return r == 0 ? 1 : r == -ESTALE ? 0 : 9;
}

/* Fails without the lock (If-Match) and with a rename that replaces (If-None-Match). */
static void of_16_racing_processes_one_wins(void **state)
{
    struct area *a = *state;
    for (int round = 0; round < 30; round++) {
        bool match = round % 2;
        struct store_info info = { 0 };
        int start[2], winners = 0, winner = -1;
        pid_t children[16];
        if (match)
            assert_int_equal(store_stat(a->s, "box/a/head", &info, NULL), 0);
        else
            assert_int_equal(store_remove(a->s, "box/a/head", NULL), 0);
        assert_int_equal(pipe2(start, O_CLOEXEC), 0);
        for (unsigned i = 0; i < 16; i++) {
            children[i] = fork();
            assert_true(children[i] >= 0);
            char body[32]; /* new each round: a body that comes again has its old etag, in S3 too */
            snprintf(body, sizeof(body), "round %d writer %u", round, i);
            if (children[i] == 0) {
                close(start[1]);
                _exit(race_once(a, start[0], body, match, info.etag));
            }
        }
        close(start[0]);
        close(start[1]);
        for (int i = 0; i < 16; i++) {
            int status;
            assert_int_equal(waitpid(children[i], &status, 0), children[i]);
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
            winners += WEXITSTATUS(status);
            winner = WEXITSTATUS(status) ? i : winner;
        }
        assert_int_equal(winners, 1);
        char body[32];
        _cleanup_(buf_release) struct buf got = { 0 };
        snprintf(body, sizeof(body), "round %d writer %d", round, winner);
        assert_int_equal(store_get(a->s, "box/a/head", 0, 0, 100, &got, NULL, NULL), 0);
        assert_string_equal(buf_string(&got), body);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_plain_paths),
        cmocka_unit_test(plain_http_goes_to_this_machine_alone_unless_said),
        cmocka_unit_test(a_url_that_names_no_store_is_a_usage_error),
        TEST(a_directory_without_the_mark_is_unreachable_and_stays_untouched),
        TEST(create_makes_one_level_and_keeps_what_is_there),
        TEST(what_killed_writers_left_is_never_listed_and_goes_when_a_day_old),
        TEST(links_lead_nowhere_and_are_not_passed_over),
        TEST(directories_go_with_their_last_object),
        TEST(a_full_disk_leaves_the_old_object_and_no_half_one),
        TEST(a_list_that_cannot_be_completed_is_an_error),
        TEST(waiting_for_a_stopped_holder_can_be_cancelled),
        TEST(a_killed_writer_leaves_the_old_object_or_the_new_one),
        TEST(of_16_racing_processes_one_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
