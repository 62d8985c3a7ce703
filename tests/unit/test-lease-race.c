/* SPDX-License-Identifier: MIT */
#include "sync/lease.h"

#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CHANGES 60 /* of each process */

static const struct keys keys = { .master = { 1 }, .store_id = { 2 } };
static const struct node node = { .name = "a" };
static char path[64];

struct side { /* one process's view of the box */
    struct store *store;
    struct journal *journal;
    struct box_record record;
    struct lease lease;
    int dir;
};

static void open_side(struct side *s, bool daemon)
{
    char url[96], box[96];
    snprintf(url, sizeof(url), "file://%s/store", path);
    snprintf(box, sizeof(box), "%s/box", path);
    *s = (struct side){ .dir = open(box, O_RDONLY | O_DIRECTORY | O_CLOEXEC) };
    if (store_open(&(struct store_config){ .url = url }, &s->store, NULL) < 0 ||
        journal_open(s->dir, box, true, &s->journal, NULL) < 0 || journal_load(s->journal, &s->record, NULL) < 0)
        abort();
    s->lease = (struct lease){ .store = s->store,
                               .seal = { &keys, "demo" },
                               .journal = s->journal,
                               .record = &s->record,
                               .box_dir = s->dir,
                               .node = &node,
                               .ttl_s = 7200,
                               .wait_ms = 60000,
                               .daemon = daemon };
}

static void close_side(struct side *s)
{
    journal_close(s->journal);
    box_record_release(&s->record);
    store_close(s->store);
    close(s->dir);
}

/* Exits with 0 if every renewal was made, with one PUT each. */
static void daemon_process(void)
{
    struct side s;
    struct error e = { 0 };
    open_side(&s, true);
    for (unsigned i = 0; i < CHANGES; i++)
        if (lease_renew(&s.lease, &e) < 0) {
            fprintf(stderr, "renewal %u: %s\n", i, e.text);
            _exit(1);
        }
    _exit(s.store->stats.puts == CHANGES ? 0 : 2);
}

static int remove_one(const char *name, const struct stat *st, int flag, struct FTW *ftw)
{
    return remove(name);
}

/*
 * Fails without the `head` lock: PUTs of one process are refused because of the other's, and each finds writes in its
 * own epoch that it takes for a clone's.
 */
static void a_daemon_that_renews_and_a_command_that_commits_do_not_meet(void **state)
{
    char box[96];
    struct side s;
    strcpy(path, "/tmp/test-lease-race.XXXXXX");
    assert_non_null(mkdtemp(path));
    snprintf(box, sizeof(box), "%s/box", path);
    assert_int_equal(mkdir(box, 0700), 0);
    open_side(&s, false);
    assert_int_equal(store_create(s.store, NULL), 0);
    struct lease_commit c = { .root = { { 1 } }, .pin = "", .path = "/root/demo", .then = BOX_MOUNTED };
    assert_int_equal(lease_create(&s.lease, &c, NULL), 0);
    uint64_t puts_before = s.store->stats.puts;

    pid_t child = fork();
    if (child == 0)
        daemon_process();
    struct error e = { 0 };
    for (unsigned i = 0; i < CHANGES; i++) {
        c.root.b[1] = (uint8_t)(i + 1);
        if (lease_commit(&s.lease, &c, &e) < 0)
            print_error("commit %u: %s\n", i, e.text);
        assert_int_equal(e.code, 0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(s.store->stats.puts - puts_before, CHANGES);

    _cleanup_(head_releasep) struct head h = { 0 };
    assert_int_equal(lease_resolve(&s.lease, &h, NULL), 0);
    assert_int_equal(outcome_standing(&s.record, &h), LEASE_OURS);
    assert_true(h.epoch == 1 && h.seq == 1 + 2 * CHANGES);
    assert_int_equal(h.root.b[1], CHANGES);
    assert_int_equal(s.record.write_count, 0);
    close_side(&s);
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_daemon_that_renews_and_a_command_that_commits_do_not_meet) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
