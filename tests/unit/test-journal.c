/* SPDX-License-Identifier: MIT */
#include "index/journal.h"

#include "index/base/fd.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct place {
    char path[64];
    int dir;
    struct journal *j;
};

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    return remove(path);
}

static int make_place(void **state)
{
    struct place *p = mem_new(1, sizeof(*p));
    strcpy(p->path, "/tmp/test-journal.XXXXXX");
    p->dir = open(mkdtemp(p->path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = p;
    return journal_open(p->dir, p->path, true, &p->j, NULL);
}

static int remove_place(void **state)
{
    struct place *p = *state;
    journal_close(p->j);
    close(p->dir);
    nftw(p->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(p);
    return 0;
}

static void reopen(struct place *p)
{
    journal_close(p->j);
    p->j = NULL;
    assert_int_equal(journal_open(p->dir, p->path, false, &p->j, NULL), 0);
}

static void fill(struct box_record *r)
{
    r->state = BOX_PARKING;
    memset(r->incarnation, 1, sizeof(r->incarnation));
    memset(&r->base, 2, sizeof(r->base));
    memset(&r->committed, 3, sizeof(r->committed));
    memset(&r->fork, 4, sizeof(r->fork));
    memset(&r->writer, 5, sizeof(r->writer));
    strcpy(r->upper, "upper-17");
    r->path = mem_strdup("/root/\xff demo");
    r->aside_ns = 99;
    r->full = true;
    r->epoch = 1ull << 40;
    r->seq = 12;
    memset(r->own, 6, sizeof(r->own));
    r->freed = true;
    r->writes = mem_new(2, sizeof(*r->writes));
    r->write_count = 2;
    r->writes[0] = (struct journal_write){ .kind = WRITE_RENEW, .epoch = 7, .seq = 8, .then = BOX_STATE_COUNT };
    r->writes[1] =
        (struct journal_write){ .kind = WRITE_COMMIT, .epoch = 7, .seq = 9, .frees = true, .then = BOX_PARKED };
    memset(r->writes[1].write_id, 9, WRITE_ID_LEN);
    memset(&r->writes[1].root, 10, sizeof(struct snapshot_id));
}

static void a_record_survives_reopening_in_every_field(void **state)
{
    struct place *p = *state;
    _cleanup_(box_record_release) struct box_record r = { 0 }, got = { 0 };
    fill(&r);
    assert_int_equal(journal_store_both(p->j, &r, NULL), 0);
    reopen(p);
    assert_int_equal(journal_load(p->j, &got, NULL), 0);
    assert_int_equal(got.state, BOX_PARKING);
    assert_memory_equal(got.incarnation, r.incarnation, sizeof(r.incarnation));
    assert_memory_equal(&got.base, &r.base, sizeof(r.base));
    assert_memory_equal(&got.committed, &r.committed, sizeof(r.committed));
    assert_memory_equal(&got.fork, &r.fork, sizeof(r.fork));
    assert_memory_equal(&got.writer, &r.writer, sizeof(r.writer));
    assert_string_equal(got.upper, "upper-17");
    assert_string_equal(got.path, r.path);
    assert_null(got.aside);
    assert_int_equal(got.aside_ns, 99);
    assert_true(got.full && got.freed);
    assert_true(got.epoch == r.epoch && got.seq == 12);
    assert_memory_equal(got.own, r.own, sizeof(r.own));
    assert_int_equal(got.write_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(got.writes[i].kind, r.writes[i].kind);
        assert_memory_equal(got.writes[i].write_id, r.writes[i].write_id, WRITE_ID_LEN);
        assert_memory_equal(&got.writes[i].root, &r.writes[i].root, sizeof(struct snapshot_id));
        assert_true(got.writes[i].epoch == r.writes[i].epoch && got.writes[i].seq == r.writes[i].seq);
        assert_true(got.writes[i].frees == r.writes[i].frees && got.writes[i].then == r.writes[i].then);
    }
    assert_true(box_record_in_doubt(&got));
    got.write_count = 1;
    assert_false(box_record_in_doubt(&got));
}

/* Fails if journal_store writes the lease part too: then a command's older copy undoes what the daemon renewed. */
static void a_command_does_not_undo_a_renewal(void **state)
{
    struct place *p = *state;
    _cleanup_(box_record_release) struct box_record command = { 0 }, daemon = { 0 }, got = { 0 };
    assert_int_equal(journal_load(p->j, &command, NULL), 0);
    assert_int_equal(command.state, BOX_NONE);

    struct journal *other = NULL;
    assert_int_equal(journal_open(p->dir, p->path, false, &other, NULL), 0);
    assert_int_equal(journal_load(other, &daemon, NULL), 0);
    daemon.epoch = 3;
    daemon.seq = 44;
    daemon.state = BOX_FENCED;
    assert_int_equal(journal_store_lease(other, &daemon, NULL), 0);
    journal_close(other);

    command.state = BOX_MOUNTED;
    assert_int_equal(journal_store(p->j, &command, NULL), 0);
    assert_int_equal(journal_load(p->j, &got, NULL), 0);
    assert_int_equal(got.state, BOX_MOUNTED);
    assert_true(got.epoch == 3 && got.seq == 44);
    assert_int_equal(journal_load_lease(p->j, &command, NULL), 0);
    assert_true(command.seq == 44);
}

static void an_older_head_is_a_rollback_and_a_twin_of_the_newest_too(void **state)
{
    struct place *p = *state;
    uint8_t a[WRITE_ID_LEN] = { 1 }, b[WRITE_ID_LEN] = { 2 };
    struct error e = { 0 };
    _cleanup_(box_record_release) struct box_record r = { 0 };
    assert_int_equal(journal_saw(p->j, 5, 20, a, false, NULL), 0);
    assert_int_equal(journal_saw(p->j, 5, 20, a, false, NULL), 0);
    assert_int_equal(journal_saw(p->j, 5, 20, b, false, &e), -ESTALE);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_true(e.hint[0] != 0);
    assert_int_equal(journal_saw(p->j, 5, 19, b, false, NULL), -ESTALE);
    assert_int_equal(journal_saw(p->j, 4, 99, b, false, NULL), -ESTALE);
    assert_int_equal(journal_saw(p->j, 6, 21, b, false, NULL), 0);
    reopen(p);
    assert_int_equal(journal_saw(p->j, 5, 20, a, false, NULL), -ESTALE);

    /* Accepted: it counts from now on, but the numbers that were used once stay known. */
    assert_int_equal(journal_saw(p->j, 2, 7, a, true, NULL), 0);
    assert_int_equal(journal_saw(p->j, 2, 8, b, false, NULL), 0);
    assert_int_equal(journal_load(p->j, &r, NULL), 0);
    assert_true(r.seen_epoch == 6 && r.seen_seq == 21);
}

static void a_newer_schema_is_refused_and_damage_named(void **state)
{
    struct place *p = *state;
    struct error e = { 0 };
    char command[160];
    journal_close(mem_steal(p->j));
    snprintf(command, sizeof(command), "%s/journal.db", p->path);
    int fd = open(command, O_RDWR | O_CLOEXEC);
    uint8_t version[4] = { 0, 0, 0, 9 };
    assert_int_equal(fd_pwrite_all(fd, version, 4, 60, NULL), 0); /* user_version in sqlite's header */
    assert_int_equal(journal_open(p->dir, p->path, false, &p->j, &e), -ENOTSUP);
    assert_int_equal(e.kind, ERROR_USAGE);

    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(fd_pwrite_all(fd, "this is no database, whatever its name says", 43, 0, NULL), 0);
    close(fd);
    assert_int_equal(journal_open(p->dir, p->path, false, &p->j, &e), -EBADMSG);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_true(e.hint[0] != 0);
    assert_null(p->j);
}

static void an_unknown_box_is_not_made_by_looking(void **state)
{
    struct place *p = *state;
    struct error e = { 0 };
    struct journal *j = NULL;
    assert_int_equal(mkdirat(p->dir, "other", 0700), 0);
    char path[96];
    snprintf(path, sizeof(path), "%s/other", p->path);
    _cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(journal_open(dir, path, false, &j, &e), -ENOENT);
    assert_int_equal(e.kind, ERROR_UNKNOWN);
    assert_int_equal(faccessat(dir, "journal.db", F_OK, 0), -1);
}

static void a_damaged_stat_cache_is_thrown_away(void **state)
{
    struct place *p = *state;
    struct stat_key k = { .dev = 1, .ino = 2, .size = 3, .mtime_ns = -4, .ctime_ns = 5 };
    struct bytes path = { (const uint8_t *)"project/a", 9 };
    _cleanup_(buf_release) struct buf got = { 0 };
    assert_int_equal(journal_stat_begin(p->j, NULL), 0);
    assert_int_equal(journal_stat_put(p->j, path, &k, (struct bytes){ (const uint8_t *)"record", 6 }, NULL), 0);
    assert_int_equal(journal_stat_end(p->j, 0, NULL), 0);
    reopen(p);
    assert_int_equal(journal_stat_find(p->j, path, &k, &got, NULL), 0);
    assert_string_equal(buf_string(&got), "record");
    k.ctime_ns++;
    assert_int_equal(journal_stat_find(p->j, path, &k, &got, NULL), -ENOENT);
    k.ctime_ns--;

    journal_close(mem_steal(p->j));
    assert_int_equal(fd_replace(p->dir, "stat.db", "rotten, and longer than nothing", 31, NULL), 0);
    assert_int_equal(journal_open(p->dir, p->path, false, &p->j, NULL), 0);
    assert_int_equal(journal_stat_find(p->j, path, &k, &got, NULL), -ENOENT);
    assert_int_equal(journal_stat_put(p->j, path, &k, (struct bytes){ (const uint8_t *)"again", 5 }, NULL), 0);
    assert_int_equal(journal_stat_find(p->j, path, &k, &got, NULL), 0);
}

/* A save keeps the stat cache's write lock for as long as it takes: `status` must not wait for that, nor a daemon that
 * is started anew. */
static void a_journal_opens_beside_a_save(void **state)
{
    struct place *p = *state;
    struct journal *other = NULL;
    struct stat_key k = { .dev = 1 };
    struct error e = { 0 };
    struct bytes path = { (const uint8_t *)"project/a", 9 };
    assert_int_equal(journal_stat_begin(p->j, NULL), 0);
    assert_int_equal(journal_stat_put(p->j, path, &k, (struct bytes){ (const uint8_t *)"record", 6 }, NULL), 0);
    if (journal_open(p->dir, p->path, false, &other, &e) < 0)
        fail_msg("%s", e.text);
    journal_close(other);
    assert_int_equal(journal_stat_end(p->j, 0, NULL), 0);
}

static int count_pack(void *arg, const struct pack_name *p, uint32_t size, bool metadata, struct error *e)
{
    *(unsigned *)arg += size;
    return 0;
}

static void *add_packs(void *arg)
{
    struct place *p = arg;
    for (unsigned i = 0; i < 50; i++) {
        struct pack_name name = { .id = { 7, (uint8_t)i } };
        assert_int_equal(journal_pack_add(p->j, &name, 1, i % 2, NULL), 0);
    }
    return NULL;
}

/* Fails without the mutex: the main thread's read transactions end, and the other thread's row goes with one of them.
 */
static void packs_added_by_another_thread_are_there(void **state)
{
    struct place *p = *state;
    pthread_t thread;
    _cleanup_(box_record_release) struct box_record r = { 0 };
    assert_int_equal(pthread_create(&thread, NULL, add_packs, p), 0);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(journal_load(p->j, &r, NULL), 0);
    pthread_join(thread, NULL);
    unsigned sum = 0;
    assert_int_equal(journal_packs(p->j, count_pack, &sum, NULL), 0);
    assert_int_equal(sum, 50);
    assert_int_equal(journal_packs_clear(p->j, NULL), 0);
    sum = 0;
    assert_int_equal(journal_packs(p->j, count_pack, &sum, NULL), 0);
    assert_int_equal(sum, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_record_survives_reopening_in_every_field, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_command_does_not_undo_a_renewal, make_place, remove_place),
        cmocka_unit_test_setup_teardown(an_older_head_is_a_rollback_and_a_twin_of_the_newest_too, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(a_newer_schema_is_refused_and_damage_named, make_place, remove_place),
        cmocka_unit_test_setup_teardown(an_unknown_box_is_not_made_by_looking, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_damaged_stat_cache_is_thrown_away, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_journal_opens_beside_a_save, make_place, remove_place),
        cmocka_unit_test_setup_teardown(packs_added_by_another_thread_are_there, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
