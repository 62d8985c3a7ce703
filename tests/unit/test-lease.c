/* SPDX-License-Identifier: MIT */
#include "sync/lease.h"

#include "index/base/lock.h"
#include "index/base/mem.h"
#include "tests/unit/world.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#define TTL_S 7200
#define HOUR_S 3600

static const struct keys keys = { .master = { 1 }, .store_id = { 2 } };
static const struct seal_context context = { &keys, "demo" };

struct side { /* one node */
    char path[64];
    int dir;
    struct node node;
    struct world_node to;
    struct journal *journal;
    struct box_record record;
    struct lease lease;
};

static struct world world;
static struct side a, b;
static enum world_fault script[16]; /* faults of the next PUTs, then all is fine */
static enum world_fault get_script[16];
static unsigned put_count, get_count, pauses;

static enum world_fault choose(struct world_node *n, bool put)
{
    unsigned *count = put ? &put_count : &get_count;
    enum world_fault f = *count < 16 ? (put ? script : get_script)[*count] : WORLD_FINE;
    ++*count;
    return f;
}

static void faults(enum world_fault first, enum world_fault second, enum world_fault first_get)
{
    memset(script, 0, sizeof(script));
    memset(get_script, 0, sizeof(get_script));
    script[0] = first;
    script[1] = second;
    get_script[0] = first_get;
    put_count = get_count = pauses = 0;
}

static void no_pause(struct lease *l, unsigned ms)
{
    pauses++;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    return remove(path);
}

static void side_load(struct side *s)
{
    assert_int_equal(journal_open(s->dir, s->path, true, &s->journal, NULL), 0);
    assert_int_equal(journal_load(s->journal, &s->record, NULL), 0);
    s->lease = (struct lease){ .store = &s->to.store,
                               .seal = context,
                               .journal = s->journal,
                               .record = &s->record,
                               .box_dir = s->dir,
                               .node = &s->node,
                               .ttl_s = TTL_S,
                               .pause = no_pause };
}

static void side_make(struct side *s, const char *name, int number)
{
    *s = (struct side){ 0 };
    strcpy(s->path, "/tmp/test-lease.XXXXXX");
    s->dir = open(mkdtemp(s->path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    strcpy(s->node.name, name);
    world_node_init(&s->to, &world, number);
    side_load(s);
}

static void side_reload(struct side *s) /* as after a crash */
{
    journal_close(s->journal);
    box_record_release(&s->record);
    side_load(s);
}

static void side_remove(struct side *s)
{
    journal_close(s->journal);
    box_record_release(&s->record);
    close(s->dir);
    nftw(s->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct snapshot_id root(uint8_t n)
{
    return (struct snapshot_id){ { n } };
}

/* The box exists, a holds it in epoch 1 with root 1. */
static int setup(void **state)
{
    world = (struct world){ .seal = &context, .choose = choose, .now_ns = 1 };
    faults(0, 0, 0);
    side_make(&a, "a", 0);
    side_make(&b, "b", 1);
    memset(a.record.incarnation, 7, sizeof(a.record.incarnation));
    struct lease_commit first = { .root = root(1), .pin = "", .path = "/root/demo", .then = BOX_MOUNTED };
    int r = lease_create(&a.lease, &first, NULL);
    faults(0, 0, 0);
    return r;
}

static int teardown(void **state)
{
    side_remove(&a);
    side_remove(&b);
    world_release(&world);
    return 0;
}

static int commit(struct side *s, uint8_t n, bool frees, struct error *e)
{
    struct lease_commit c = { .root = root(n), .frees = frees, .then = frees ? BOX_PARKED : BOX_STATE_COUNT };
    return lease_commit(&s->lease, &c, e);
}

static int acquire(struct side *s, bool force, struct error *e)
{
    _cleanup_(head_releasep) struct head h = { 0 };
    return lease_acquire(&s->lease, &h, &(struct lease_take){ .force = force, .then = BOX_ACQUIRED }, e);
}

static enum lease_standing resolve(struct side *s)
{
    _cleanup_(head_releasep) struct head h = { 0 };
    assert_int_equal(lease_resolve(&s->lease, &h, NULL), 0);
    return outcome_standing(&s->record, &h);
}

static void expect_head(enum head_state state, uint64_t epoch, uint8_t n)
{
    _cleanup_(head_releasep) struct head h = { 0 };
    world_head(&world, &h);
    assert_int_equal(h.state, state);
    assert_true(h.epoch == epoch);
    assert_int_equal(h.root.b[0], n);
}

static void a_box_goes_from_node_to_node(void **state)
{
    struct error e = { 0 };
    assert_int_equal(acquire(&b, false, &e), -EBUSY);
    assert_int_equal(e.kind, ERROR_HELD);
    assert_non_null(strstr(e.text, "held by a"));
    assert_int_equal(commit(&a, 2, false, NULL), 0);
    assert_int_equal(commit(&a, 3, true, NULL), 0);
    assert_int_equal(a.record.state, BOX_PARKED);
    expect_head(HEAD_FREE, 1, 3);
    assert_int_equal(acquire(&b, false, NULL), 0);
    expect_head(HEAD_HELD, 2, 3);
    assert_int_equal(b.record.state, BOX_ACQUIRED);
    assert_int_equal(commit(&a, 4, false, &e), -ESTALE);
    assert_int_equal(e.kind, ERROR_HELD);
    assert_int_equal(lease_free(&b.lease, BOX_NONE, NULL), 0);
    expect_head(HEAD_FREE, 2, 3);
}

/* Fails if the outcome is taken from the answer alone: then the box would look held, and the work unparked. */
static void a_commit_whose_answer_is_lost_is_a_commit(void **state)
{
    faults(WORLD_LOST_ANSWER, 0, 0);
    assert_int_equal(commit(&a, 2, true, NULL), 0);
    assert_int_equal(put_count, 1);
    faults(WORLD_FINE, 0, 0);
    assert_int_equal(acquire(&b, false, NULL), 0);
    faults(WORLD_RESENT, 0, 0); /* the store says 412 to its own winner */
    assert_int_equal(commit(&b, 3, true, NULL), 0);
    assert_int_equal(put_count, 1);
    assert_int_equal(b.record.write_count, 0);
}

static void in_doubt_for_weeks_and_decided_by_one_get(void **state)
{
    struct error e = { 0 };
    faults(WORLD_LOST_ANSWER, 0, WORLD_FINE);
    get_script[1] = WORLD_LOST_REQUEST;
    assert_int_equal(commit(&a, 2, true, &e), -EINPROGRESS);
    assert_int_equal(e.kind, ERROR_DOUBT);
    assert_int_equal(a.record.state, BOX_MOUNTED);
    assert_true(a.record.freed);
    faults(0, 0, 0);
    for (unsigned i = 0; i < 50; i++) {
        assert_int_equal(acquire(&b, false, NULL), 0);
        assert_int_equal(commit(&b, 3, true, NULL), 0);
    }
    side_reload(&a);
    faults(0, 0, 0);
    assert_int_equal(resolve(&a), LEASE_LOST); /* it is b's by now, but what we parked is in its history */
    assert_int_equal(get_count, 1);
    assert_int_equal(a.record.state, BOX_PARKED);
    assert_int_equal(a.record.committed.b[0], 2);
    assert_int_equal(a.record.write_count, 0);
}

static void after_64_leases_nobody_remembers_and_we_count_as_lost(void **state)
{
    faults(WORLD_LOST_ANSWER, 0, WORLD_FINE);
    get_script[1] = WORLD_LOST_REQUEST;
    assert_int_equal(commit(&a, 2, true, NULL), -EINPROGRESS);
    faults(0, 0, 0);
    for (unsigned i = 0; i < HEAD_LAST + 1; i++) {
        assert_int_equal(acquire(&b, false, NULL), 0);
        assert_int_equal(commit(&b, 3, true, NULL), 0);
    }
    assert_int_equal(resolve(&a), LEASE_LOST);
    assert_int_equal(a.record.state, BOX_MOUNTED);
    assert_int_equal(a.record.write_count, 0);
}

/* Fails if an open write is forgotten, or up resumes without a renewal of its own: the copy frees a box that is in use.
 */
static void a_delayed_release_cannot_land_once_work_goes_on(void **state)
{
    faults(WORLD_DELAYED_PUT, WORLD_REFUSED, 0);
    assert_int_equal(commit(&a, 2, true, NULL), -EINPROGRESS);
    assert_int_equal(resolve(&a), LEASE_OURS);
    assert_true(box_record_in_doubt(&a.record));
    assert_int_equal(lease_settle(&a.lease, NULL), 0);
    assert_false(box_record_in_doubt(&a.record));
    assert_false(a.record.freed);
    while (world.delayed_count > 0)
        world_deliver(&world, 0);
    expect_head(HEAD_HELD, 1, 1);
}

static void a_delayed_release_that_lands_first_is_found(void **state)
{
    faults(WORLD_DELAYED_PUT, WORLD_REFUSED, 0);
    assert_int_equal(commit(&a, 2, true, NULL), -EINPROGRESS);
    world_deliver(&world, 0);
    assert_int_equal(lease_settle(&a.lease, NULL), -ESTALE);
    assert_int_equal(a.record.state, BOX_PARKED);
    assert_int_equal(a.record.committed.b[0], 2);
    assert_int_equal(acquire(&a, false, NULL), 0);
    expect_head(HEAD_HELD, 2, 2);
}

static void a_second_park_is_done_when_the_first_one_lands(void **state)
{
    faults(WORLD_DELAYED_PUT, WORLD_REFUSED, 0);
    assert_int_equal(commit(&a, 2, true, NULL), -EINPROGRESS);
    side_reload(&a);
    assert_int_equal(resolve(&a), LEASE_OURS); /* not yet */
    world_deliver(&world, 0);
    assert_int_equal(commit(&a, 3, true, NULL), 0); /* the same tree, saved again */
    assert_int_equal(a.record.state, BOX_PARKED);
    assert_int_equal(a.record.committed.b[0], 2);
    expect_head(HEAD_FREE, 1, 2);
}

/* Fails if a freeing commit counts as done because its root is there: a live snapshot of the same root put it there. */
static void a_release_that_never_happened_is_not_taken_from_the_root(void **state)
{
    assert_int_equal(commit(&a, 2, false, NULL), 0);
    faults(WORLD_REFUSED, 0, 0);
    assert_int_equal(commit(&a, 2, true, NULL), -EINPROGRESS);
    assert_int_equal(lease_settle(&a.lease, NULL), 0);
    assert_int_equal(a.record.state, BOX_MOUNTED);
    assert_false(a.record.freed);
    expect_head(HEAD_HELD, 1, 2);
}

static void too_many_writes_are_waited_for(void **state)
{
    faults(WORLD_RATE, WORLD_RATE, 0);
    script[2] = WORLD_CONFLICT;
    assert_int_equal(commit(&a, 2, false, NULL), 0);
    assert_int_equal(pauses, 3);
    assert_int_equal(put_count, 4);
    expect_head(HEAD_HELD, 1, 2);
}

static void a_refused_write_is_no_reason_to_be_stuck(void **state)
{
    for (unsigned i = 0; i < 3 * JOURNAL_WRITES_MAX; i++) {
        faults(WORLD_REFUSED, 0, 0);
        assert_int_equal(commit(&a, (uint8_t)(100 + i), false, NULL), -EINPROGRESS);
    }
    assert_true(a.record.write_count < JOURNAL_WRITES_MAX);
    faults(0, 0, 0);
    assert_int_equal(lease_renew(&a.lease, NULL), 0);
    assert_int_equal(a.record.write_count, 0);
    assert_int_equal(commit(&a, 2, true, NULL), 0);
}

static void an_expired_lease_is_taken_and_a_live_one_only_by_force(void **state)
{
    world.now_ns += (TTL_S - 1) * 1000000000ll;
    assert_int_equal(acquire(&b, false, NULL), -EBUSY);
    assert_int_equal(lease_renew(&a.lease, NULL), 0);
    world.now_ns += HOUR_S * 1000000000ll;
    assert_int_equal(acquire(&b, false, NULL), -EBUSY); /* the renewal counted */
    world.now_ns += HOUR_S * 1000000000ll;
    assert_int_equal(acquire(&b, false, NULL), 0);
    expect_head(HEAD_HELD, 2, 1);
    assert_int_equal(commit(&a, 2, false, NULL), -ESTALE);
    assert_int_equal(acquire(&a, false, NULL), -EBUSY);
    assert_int_equal(acquire(&a, true, NULL), 0);
    expect_head(HEAD_HELD, 3, 1);
}

static void nobody_committed_meanwhile_so_the_lease_is_regained(void **state)
{
    _cleanup_(head_releasep) struct head h = { 0 };
    assert_int_equal(acquire(&b, true, NULL), 0);
    assert_int_equal(lease_regain(&a.lease, &h, NULL), -ESTALE); /* b is live */
    assert_int_equal(lease_free(&b.lease, BOX_NONE, NULL), 0);
    assert_int_equal(resolve(&a), LEASE_REGAIN);
    head_release(&h);
    assert_int_equal(lease_regain(&a.lease, &h, NULL), 0);
    assert_int_equal(a.record.state, BOX_MOUNTED);
    assert_int_equal(commit(&a, 2, false, NULL), 0);

    assert_int_equal(acquire(&b, true, NULL), 0);
    assert_int_equal(commit(&b, 3, true, NULL), 0);
    head_release(&h);
    assert_int_equal(lease_regain(&a.lease, &h, NULL), -ESTALE); /* b has committed */
    assert_int_equal(resolve(&a), LEASE_LOST);
}

/* Fails if ownership is the node's name, or the epoch alone. */
static void of_two_clones_only_the_first_to_write_goes_on(void **state)
{
    char command[256];
    side_remove(&b);
    side_make(&b, "a", 1);
    journal_close(b.journal);
    journal_close(a.journal);
    snprintf(command, sizeof(command), "cp %s/journal.db* %s/", a.path, b.path);
    assert_int_equal(system(command), 0);
    a.journal = b.journal = NULL;
    side_reload(&a);
    side_reload(&b);
    assert_int_equal(lease_renew(&b.lease, NULL), 0);
    struct error e = { 0 };
    assert_int_equal(lease_renew(&a.lease, &e), -ESTALE);
    assert_non_null(strstr(e.text, "another machine"));
    assert_int_equal(commit(&a, 2, true, NULL), -ESTALE);
    assert_int_equal(commit(&b, 3, true, NULL), 0);
    expect_head(HEAD_FREE, 1, 3);
}

/* a's box as its daemon has it: with a journal handle and a record of its own. */
static struct lease daemon_of_a(struct box_record *record)
{
    struct lease daemon = a.lease;
    assert_int_equal(journal_open(a.dir, a.path, false, &daemon.journal, NULL), 0);
    daemon.daemon = true;
    daemon.record = record;
    return daemon;
}

static void the_daemon_stops_once_a_release_is_journalled(void **state)
{
    struct box_record record = { 0 };
    struct lease daemon = daemon_of_a(&record);
    assert_int_equal(lease_renew(&daemon, NULL), 0);
    assert_int_equal(commit(&a, 2, false, NULL), 0); /* the command knows the daemon's write */

    faults(WORLD_DELAYED_PUT, WORLD_REFUSED, 0);
    assert_int_equal(commit(&a, 3, true, NULL), -EINPROGRESS);
    faults(0, 0, 0);
    assert_int_equal(lease_renew(&daemon, NULL), -ENOLCK);
    assert_int_equal(put_count, 0);

    int lock = -1;
    assert_int_equal(lock_take(a.dir, "head", 0, &lock, NULL), 0);
    assert_int_equal(lease_renew(&daemon, NULL), -EWOULDBLOCK);
    close(lock);
    journal_close(daemon.journal);
    box_record_release(&record);
}

static void the_daemon_settles_a_live_commit_and_leaves_the_rest_to_the_command(void **state)
{
    struct box_record record = { 0 };
    struct lease daemon = daemon_of_a(&record);
    for (uint8_t landed = 0; landed < 2; landed++) {
        faults(landed ? WORLD_LOST_ANSWER : WORLD_LOST_REQUEST, WORLD_REFUSED, WORLD_FINE);
        get_script[1] = WORLD_LOST_REQUEST;
        assert_int_equal(commit(&a, (uint8_t)(10 + landed), false, NULL), -EINPROGRESS);
        faults(0, 0, 0);
        assert_int_equal(lease_renew(&daemon, NULL), 0);
        assert_int_equal(resolve(&a), LEASE_OURS);
        assert_false(box_record_in_doubt(&a.record));
        assert_int_equal(a.record.committed.b[0], landed ? 11 : 1);
    }
    journal_close(daemon.journal);
    box_record_release(&record);
}

static void park_begins(struct world_node *n, bool put, struct bytes body)
{
    world.before = NULL;
    a.record.state = BOX_PARKING;
    assert_int_equal(journal_store(a.journal, &a.record, NULL), 0);
}

/* Fails if the daemon stores the whole record: then park's first step is undone by a renewal that began before it. */
static void a_renewal_undoes_nothing_that_a_command_journals_meanwhile(void **state)
{
    struct box_record record = { 0 };
    struct lease daemon = daemon_of_a(&record);
    world.before = park_begins;
    assert_int_equal(lease_renew(&daemon, NULL), 0);
    side_reload(&a);
    assert_int_equal(a.record.state, BOX_PARKING);
    journal_close(daemon.journal);
    box_record_release(&record);
}

static void a_store_that_went_back_is_refused_until_accepted(void **state)
{
    struct buf old = { 0 };
    struct error e = { 0 };
    _cleanup_(head_releasep) struct head h = { 0 };
    buf_add(&old, world.body.data, world.body.len);
    assert_int_equal(commit(&a, 2, true, NULL), 0);
    assert_int_equal(acquire(&b, false, NULL), 0);
    buf_release(&world.body);
    world.body = old;
    world.version++;
    assert_int_equal(acquire(&b, true, &e), -ESTALE);
    assert_int_equal(e.kind, ERROR_DAMAGED);
    assert_int_equal(lease_read(&b.lease, true, &h, NULL), 0);
    assert_int_equal(lease_acquire(&b.lease, &h, &(struct lease_take){ .force = true, .then = BOX_ACQUIRED }, NULL), 0);
    expect_head(HEAD_HELD, 3, 1); /* epoch 2 was used in the future that was lost */

    buf_clear(&world.body);
    world.version = 0;
    assert_int_equal(lease_renew(&b.lease, &e), -ESTALE);
    assert_int_equal(e.kind, ERROR_DAMAGED); /* a head that is gone is never made anew */
}

static int refuse(void *arg, const struct head *h, struct error *e)
{
    ++*(unsigned *)arg;
    return error_say(e, ERROR_HELD, -EPERM, "pinned to c");
}

static void pin_and_path_are_checked_before_the_put(void **state)
{
    unsigned calls = 0;
    _cleanup_(head_releasep) struct head h = { 0 };
    assert_int_equal(lease_free(&a.lease, BOX_NONE, NULL), 0);
    faults(0, 0, 0);
    struct lease_take t = { .then = BOX_ACQUIRED, .check = refuse, .arg = &calls, .force = true };
    assert_int_equal(lease_acquire(&b.lease, &h, &t, NULL), -EPERM);
    assert_int_equal(put_count, 0);
    assert_int_equal(calls, 1);
}

/* Fails if acquire reads the head again, or believes one that is out of date. */
static void up_needs_one_round_trip_before_the_lease(void **state)
{
    _cleanup_(head_releasep) struct head h = { 0 }, stale = { 0 };
    assert_int_equal(lease_free(&a.lease, BOX_NONE, NULL), 0);
    assert_int_equal(lease_read(&b.lease, false, &h, NULL), 0);
    head_copy(&h, &stale);
    faults(0, 0, 0);
    assert_int_equal(lease_acquire(&b.lease, &h, &(struct lease_take){ .then = BOX_ACQUIRED }, NULL), 0);
    assert_int_equal(get_count, 0);
    assert_int_equal(put_count, 1);
    assert_int_equal(lease_acquire(&a.lease, &stale, &(struct lease_take){ .then = BOX_ACQUIRED }, NULL), -EBUSY);
    expect_head(HEAD_HELD, 2, 1);
}

static void prune_gives_way_to_up(void **state)
{
    static const char list[] = "00112233445566778899aabbccddeeff";
    _cleanup_(head_releasep) struct head h = { 0 };
    assert_int_equal(commit(&a, 2, true, NULL), 0);
    assert_int_equal(lease_read(&b.lease, false, &h, NULL), 0);
    assert_int_equal(lease_prune(&b.lease, &h, NULL, false, NULL), 0);
    expect_head(HEAD_PRUNING, 1, 2);
    assert_int_equal(lease_prune_check(&b.lease, &h, NULL), 0);
    assert_int_equal(lease_prune(&b.lease, &h, list, true, NULL), 0);
    expect_head(HEAD_FREE, 1, 2);
    assert_string_equal(h.condemned, list);

    assert_int_equal(lease_prune(&b.lease, &h, NULL, false, NULL), 0);
    assert_int_equal(acquire(&a, false, NULL), 0);
    assert_int_equal(lease_prune_check(&b.lease, &h, NULL), -ESTALE);
    assert_int_equal(lease_prune(&b.lease, &h, "", true, NULL), -ESTALE);
    expect_head(HEAD_HELD, 2, 2);

    /* The holder prunes its own box; it stays held, and its renewals do not disturb. */
    head_release(&h);
    assert_int_equal(lease_read(&a.lease, false, &h, NULL), 0);
    assert_int_equal(lease_prune(&a.lease, &h, NULL, false, NULL), 0);
    assert_int_equal(lease_renew(&a.lease, NULL), 0);
    assert_int_equal(lease_prune_check(&a.lease, &h, NULL), 0);
    expect_head(HEAD_HELD, 2, 2);
}

static void a_dropped_box_may_be_made_anew_and_old_work_is_told(void **state)
{
    struct error e = { 0 };
    _cleanup_(head_releasep) struct head h = { 0 };
    assert_int_equal(lease_drop(&b.lease, &h, true, NULL), -EBUSY);
    world.now_ns += 2 * TTL_S * 1000000000ll;
    head_release(&h);
    assert_int_equal(lease_drop(&b.lease, &h, false, NULL), -EBUSY);
    head_release(&h);
    faults(WORLD_LOST_ANSWER, 0, 0);
    assert_int_equal(lease_drop(&b.lease, &h, true, NULL), 0);
    expect_head(HEAD_TOMBSTONE, 2, 0);
    assert_int_equal(acquire(&b, true, NULL), -ENOENT);

    memset(b.record.incarnation, 8, sizeof(b.record.incarnation));
    struct lease_commit first = { .root = root(9), .pin = "", .path = "/root/demo", .then = BOX_FULL_HELD };
    assert_int_equal(lease_create(&b.lease, &first, NULL), 0);
    expect_head(HEAD_HELD, 3, 9);
    assert_int_equal(lease_create(&b.lease, &first, NULL), -EEXIST);
    assert_int_equal(commit(&a, 2, true, &e), -ESTALE);
    assert_non_null(strstr(e.text, "made anew"));
    assert_int_equal(resolve(&a), LEASE_REPLACED);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        test(a_box_goes_from_node_to_node),
        test(a_commit_whose_answer_is_lost_is_a_commit),
        test(in_doubt_for_weeks_and_decided_by_one_get),
        test(after_64_leases_nobody_remembers_and_we_count_as_lost),
        test(a_delayed_release_cannot_land_once_work_goes_on),
        test(a_delayed_release_that_lands_first_is_found),
        test(a_second_park_is_done_when_the_first_one_lands),
        test(a_release_that_never_happened_is_not_taken_from_the_root),
        test(too_many_writes_are_waited_for),
        test(a_refused_write_is_no_reason_to_be_stuck),
        test(an_expired_lease_is_taken_and_a_live_one_only_by_force),
        test(nobody_committed_meanwhile_so_the_lease_is_regained),
        test(of_two_clones_only_the_first_to_write_goes_on),
        test(the_daemon_stops_once_a_release_is_journalled),
        test(the_daemon_settles_a_live_commit_and_leaves_the_rest_to_the_command),
        test(a_renewal_undoes_nothing_that_a_command_journals_meanwhile),
        test(a_store_that_went_back_is_refused_until_accepted),
        test(pin_and_path_are_checked_before_the_put),
        test(up_needs_one_round_trip_before_the_lease),
        test(prune_gives_way_to_up),
        test(a_dropped_box_may_be_made_anew_and_old_work_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
