/* SPDX-License-Identifier: MIT */
#include "sync/lease.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "tests/unit/world.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

/*
 * Nodes that do whatever the state table allows, at random, over a store that fails at random, while others act between
 * any two requests; nodes are killed at any request and go on from their journals, and are cloned. What took effect in
 * the store is the truth, kept apart from what the nodes believe; the promises are checked on it. AGBOX_SEED=n runs one
 * seed and says what happens, AGBOX_SEEDS=n as many.
 */

#define NODES 4
#define STEPS 70
#define SEEDS 120
#define COMMITS 4096
#define TTL_S 100
#define DEPTH_MAX 2
#define LIVES (NODES + STEPS)

struct side {
    char path[96];
    int dir;
    struct node node;
    struct world_node to;
    struct journal *journal, *daemon_journal;
    struct box_record record, daemon_record;
    struct lease lease, daemon;
    bool busy, daemon_busy;
};

struct attempt { /* a root that some node tried to commit */
    struct snapshot_id root, parent;
    int node;
    bool landed, reported, given_up;
    unsigned order;
    uint64_t epoch;
};

struct author { /* who made a write id, and when: a clone knows what was made before it was cloned */
    uint8_t write_id[WRITE_ID_LEN];
    int node;
    unsigned at;
};

static const struct keys keys = { .master = { 1 }, .store_id = { 2 } };
static const struct seal_context context = { &keys, "demo" };

static struct world world;
static struct side sides[NODES];
static struct attempt attempts[COMMITS];
static struct author authors[COMMITS];
static size_t attempt_count, author_count;
static int
    parent_of[LIVES]; /* the life it was cloned from, -1: none; a node that becomes a clone begins another life */
static unsigned cloned_at[LIVES], clock_ticks, depth;
static int life_count;
static uint64_t seed, random_state;
static bool loud;
static char base_path[64];
static unsigned landed_total, reported_total, doubt_total, lost_total, regained_total, died_total, clone_total,
    pruned_total;

static unsigned pick(unsigned n) /* xorshift: the same everywhere */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 11) % n;
}

#define say(...) (loud ? (void)fprintf(stderr, __VA_ARGS__) : (void)0)

static void broken(const char *promise)
{
    fprintf(stderr, "seed %" PRIu64 ", tick %u: %s\n", seed, clock_ticks, promise);
    fail();
}

/* the truth */

static struct attempt *find_attempt(const struct snapshot_id *root)
{
    for (size_t i = 0; i < attempt_count; i++)
        if (memcmp(&attempts[i].root, root, sizeof(*root)) == 0)
            return &attempts[i];
    return NULL;
}

static const struct author *find_author(const uint8_t *write_id)
{
    for (size_t i = 0; i < author_count; i++)
        if (memcmp(authors[i].write_id, write_id, WRITE_ID_LEN) == 0)
            return &authors[i];
    return NULL;
}

/* Whether node may know a write: its own since it was last cloned, or its parent's from before. */
static bool may_know(int node, const struct author *a)
{
    for (unsigned before = ~0u, hops = 0; node >= 0 && hops < LIVES; hops++) {
        if (a->node == node && a->at < before)
            return true;
        before = cloned_at[node] < before ? cloned_at[node] : before;
        node = parent_of[node];
    }
    return false;
}

static bool is_line(int node, int ancestor)
{
    while (node >= 0 && node != ancestor)
        node = parent_of[node];
    return node == ancestor;
}

static void landed(struct world *w, int node, const struct head *before, const struct head *after)
{
    say("      landed %" PRIu64 " by %d: epoch %" PRIu64 " %s root %02x%02x write %02x%02x\n", after->seq, node,
        after->epoch, head_state_name(after->state), after->root.b[0], after->root.b[1], after->write.b[0],
        after->write.b[1]);
    landed_total++;
    if (after->seq <= before->seq)
        broken("every PUT has a higher number");
    if (after->epoch < before->epoch)
        broken("epochs never sink");
    bool same_root = memcmp(&after->root, &before->root, sizeof(after->root)) == 0;
    if (after->epoch > before->epoch) {
        if (before->seq > 0 && after->state == HEAD_HELD && before->state != HEAD_TOMBSTONE && !same_root)
            broken("taking a lease changes no root");
        if (before->seq > 0 &&
            (!after->last_count || memcmp(&after->last[0].root, &before->root, sizeof(before->root)) != 0))
            broken("a new epoch remembers how the last one ended");
    } else if (before->state != HEAD_HELD) {
        if (!same_root || after->state == HEAD_HELD || after->state == HEAD_TOMBSTONE)
            broken("a free head is only taken with a new epoch");
    } else if (!may_know(node, find_author(before->write.b))) {
        broken("a held head is changed by who knows its last write, and nobody else");
    }
    struct attempt *a = find_attempt(&after->root);
    if (!a || same_root)
        return;
    if (a->given_up)
        broken("what was given up for lost never lands");
    struct attempt *was = find_attempt(&before->root);
    if (before->seq > 0 && before->state != HEAD_TOMBSTONE &&
        memcmp(&a->parent, &before->root, sizeof(a->parent)) != 0 && !(was && is_line(a->node, was->node)))
        broken("a commit replaces nothing its node did not know");
    a->landed = true;
    a->order = landed_total;
    a->epoch = after->epoch;
}

/* faults */

static enum world_fault choose(struct world_node *n, bool put)
{
    unsigned p = pick(100);
    if (!put)
        return p < 12 ? WORLD_LOST_REQUEST : p < 13 ? WORLD_DIES : WORLD_FINE;
    static const enum world_fault faults[] = {
        WORLD_LOST_REQUEST, WORLD_LOST_ANSWER, WORLD_LOST_ANSWER, WORLD_DELAYED_PUT,
        WORLD_DELAYED_PUT,  WORLD_SENT_TWICE,  WORLD_RESENT,      WORLD_RATE,
        WORLD_CONFLICT,     WORLD_REFUSED,     WORLD_DIES,        WORLD_DIES_AFTER,
    };
    return p < 60 ? WORLD_FINE : faults[pick(sizeof(faults) / sizeof(faults[0]))];
}

static void copy_file(int from, int to, const char *name, const char *as)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    unlinkat(to, as, 0);
    if (fd_read_file(from, name, 1 << 24, &b, NULL) == 0 && fd_replace(to, as, b.data, b.len, NULL) < 0)
        fail();
}

/* What is on disk when the node dies is all that it will have. */
static void died(struct world_node *n)
{
    struct side *s = (struct side *)((char *)n - offsetof(struct side, to));
    say("      node %d dies\n", n->number);
    died_total++;
    copy_file(s->dir, s->dir, "journal.db", "dead.db");
    copy_file(s->dir, s->dir, "journal.db-wal", "dead.db-wal");
}

static void step(struct side *s, bool daemon);

static void before(struct world_node *n, bool put, struct bytes body)
{
    clock_ticks++;
    if (put) {
        _cleanup_(buf_release) struct buf plain = { 0 };
        _cleanup_(head_releasep) struct head h = { 0 };
        if (seal_open(&context, SEAL_HEAD, "head", 4, body, HEAD_MAX, &plain, NULL) < 0 ||
            head_decode_body(buf_bytes(&plain), &h, NULL) < 0 || author_count == COMMITS)
            broken("what is sent can be read");
        if (!find_author(h.write.b)) {
            authors[author_count] = (struct author){ .node = n->number, .at = clock_ticks };
            memcpy(authors[author_count++].write_id, h.write.b, WRITE_ID_LEN);
        }
    }
    while (world.delayed_count > 0 && pick(4) == 0)
        world_deliver(&world, pick((unsigned)world.delayed_count));
    if (depth < DEPTH_MAX && pick(6) == 0) {
        struct side *other = &sides[pick(NODES)];
        bool daemon = pick(4) == 0;
        if (!(daemon ? other->daemon_busy : other->busy) && !other->to.dead) {
            depth++;
            step(other, daemon);
            depth--;
        }
    }
}

static void pause_a_little(struct lease *l, unsigned ms)
{
    world.now_ns += ms * 1000000ll;
    while (world.delayed_count > 0 && pick(3) == 0)
        world_deliver(&world, pick((unsigned)world.delayed_count));
}

/* nodes */

static struct lease lease_of(struct side *s, bool daemon)
{
    return (struct lease){ .store = &s->to.store,
                           .seal = context,
                           .journal = daemon ? s->daemon_journal : s->journal,
                           .record = daemon ? &s->daemon_record : &s->record,
                           .box_dir = s->dir,
                           .node = &s->node,
                           .ttl_s = TTL_S,
                           .daemon = daemon,
                           .pause = pause_a_little };
}

static void side_open(struct side *s)
{
    if (journal_open(s->dir, s->path, true, &s->journal, NULL) < 0 ||
        journal_open(s->dir, s->path, true, &s->daemon_journal, NULL) < 0 ||
        journal_load(s->journal, &s->record, NULL) < 0)
        fail();
    s->lease = lease_of(s, false);
    s->daemon = lease_of(s, true);
    s->to.dead = false;
}

static void side_close(struct side *s)
{
    journal_close(s->journal);
    journal_close(s->daemon_journal);
    s->journal = s->daemon_journal = NULL;
    box_record_release(&s->record);
    box_record_release(&s->daemon_record);
}

static void revive(struct side *s)
{
    side_close(s);
    unlinkat(s->dir, "journal.db-shm", 0);
    copy_file(s->dir, s->dir, "dead.db", "journal.db");
    copy_file(s->dir, s->dir, "dead.db-wal", "journal.db-wal");
    side_open(s);
}

/* As if the machine's image was started twice. */
static void clone(struct side *from, struct side *to)
{
    say("   node %d becomes a clone of %d\n", to->to.number, from->to.number);
    clone_total++;
    side_close(to);
    unlinkat(to->dir, "journal.db-shm", 0);
    copy_file(from->dir, to->dir, "journal.db", "journal.db");
    copy_file(from->dir, to->dir, "journal.db-wal", "journal.db-wal");
    to->node = from->node;
    side_open(to);
    int from_life = from->to.number;
    to->to.number = life_count++; /* its own past is no longer its own */
    parent_of[to->to.number] = from_life;
    cloned_at[to->to.number] = ++clock_ticks;
}

/* What the work at hand was made from: the snapshot that was taken, or the last one that this line of lives committed
 * to it. */
static struct snapshot_id work_base(const struct side *s)
{
    const struct attempt *a = find_attempt(&s->record.committed);
    return a && is_line(s->to.number, a->node) ? s->record.committed : s->record.base;
}

static struct snapshot_id new_root(struct side *s)
{
    struct attempt *a = &attempts[attempt_count++];
    if (attempt_count == COMMITS)
        fail();
    *a = (struct attempt){ .parent = work_base(s), .node = s->to.number };
    for (size_t i = 0; i < sizeof(a->root.b); i++)
        a->root.b[i] = (uint8_t)(1 + pick(255));
    return a->root;
}

static void set_state(struct side *s, enum box_state state)
{
    if (s->to.dead)
        return;
    s->record.state = state;
    if (journal_store(s->journal, &s->record, NULL) < 0)
        fail();
}

static void commit(struct side *s, bool frees)
{
    struct lease_commit c = { .frees = frees, .then = frees ? BOX_PARKED : BOX_MOUNTED };
    /* A commit that is open is made again as it is, unless the work went on. */
    for (size_t i = 0; i < s->record.write_count; i++)
        if (frees && pick(3) > 0 && s->record.writes[i].kind == WRITE_COMMIT && s->record.writes[i].frees)
            c.root = s->record.writes[i].root;
    static const struct snapshot_id none;
    if (memcmp(&c.root, &none, sizeof(none)) == 0)
        c.root = new_root(s);
    int r = lease_commit(&s->lease, &c, NULL);
    if (r == 0 && !s->to.dead) {
        struct attempt *a = find_attempt(frees ? &s->record.committed : &c.root);
        if (!a || (frees && !is_line(s->to.number, a->node)))
            broken("what is reported parked is a snapshot of this node's");
        reported_total++;
        a->reported = true;
        if (!a->landed)
            broken("a commit that is reported done is in the head's history");
        if (s->record.state != c.then && !frees)
            broken("after a commit the state is what was asked");
    }
}

/* The lease went: regain it, or count the work as a fork and begin anew. */
static void fall(struct side *s, const struct head *h)
{
    _cleanup_(head_releasep) struct head again = { 0 };
    if (outcome_standing(&s->record, h) == LEASE_REGAIN && lease_regain(&s->lease, &again, NULL) == 0) {
        regained_total++;
        return;
    }
    if (s->to.dead || box_record_in_doubt(&s->record))
        return;
    lost_total++;
    set_state(s, BOX_FENCED);
    set_state(s, BOX_NONE);
}

static void act_none(struct side *s)
{
    _cleanup_(head_releasep) struct head h = { 0 };
    if (pick(8) == 0) { /* prune */
        if (lease_read(&s->lease, false, &h, NULL) == 0 && lease_prune(&s->lease, &h, NULL, false, NULL) == 0 &&
            lease_prune_check(&s->lease, &h, NULL) == 0 &&
            lease_prune(&s->lease, &h, "00112233445566778899aabbccddeeff", true, NULL) == 0)
            pruned_total++;
        return;
    }
    if (pick(60) == 0 && lease_drop(&s->lease, &h, true, NULL) == 0)
        return;
    head_release(&h);
    if (pick(3) > 0 && lease_read(&s->lease, false, &h, NULL) < 0)
        head_release(&h);
    int r = lease_acquire(&s->lease, &h, &(struct lease_take){ .force = pick(5) == 0, .then = BOX_ACQUIRED }, NULL);
    if (r == -ENOENT && !s->to.dead) {
        for (size_t i = 0; i < sizeof(s->record.incarnation); i++)
            s->record.incarnation[i] = (uint8_t)pick(256);
        set_state(s, BOX_TRACKING);
        struct lease_commit c = { .root = new_root(s), .pin = "", .path = "/root/demo", .then = BOX_MOUNTED };
        if (lease_create(&s->lease, &c, NULL) == -EEXIST)
            set_state(s, BOX_NONE);
    }
}

static void act_mounted(struct side *s)
{
    switch (pick(6)) {
    case 0:
        lease_renew(&s->lease, NULL);
        break;
    case 1:
    case 2:
        commit(s, false);
        break;
    case 3:
        set_state(s, BOX_PARKING);
        lease_free(&s->lease, BOX_PARKED, NULL);
        break;
    default:
        set_state(s, BOX_PARKING);
        commit(s, true);
    }
}

static void act(struct side *s)
{
    _cleanup_(head_releasep) struct head h = { 0 };
    say("   node %d: %s, epoch %" PRIu64 ", %zu rows\n", s->to.number, box_state_name(s->record.state), s->record.epoch,
        s->record.write_count);
    bool doubt = box_record_in_doubt(&s->record);
    if ((doubt || pick(3) == 0) && lease_resolve(&s->lease, &h, NULL) < 0 && doubt) {
        doubt_total++;
        return; /* nothing else may be done */
    }
    switch ((int)s->record.state) {
    case BOX_TRACKING:
        if (!box_record_in_doubt(&s->record))
            set_state(s, BOX_NONE);
        break;
    case BOX_NONE:
        act_none(s);
        break;
    case BOX_PARKED:
        set_state(s, BOX_NONE);
        break;
    case BOX_ACQUIRED:
        if (box_record_in_doubt(&s->record))
            break;
        if (pick(8) == 0) {
            lease_free(&s->lease, BOX_NONE, NULL);
            break;
        }
        s->record.base = s->record.committed;
        set_state(s, BOX_MOUNTED);
        break;
    default:
        head_release(&h);
        if (lease_resolve(&s->lease, &h, NULL) < 0)
            return;
        if (s->record.state != BOX_MOUNTED && s->record.state != BOX_PARKING)
            return; /* what was open has happened */
        if (outcome_standing(&s->record, &h) != LEASE_OURS)
            fall(s, &h);
        else if (s->record.state == BOX_MOUNTED && !s->record.freed)
            act_mounted(s);
        else if (pick(2) == 0)
            commit(s, true);
        else if (lease_settle(&s->lease, NULL) == 0)
            set_state(s, BOX_MOUNTED);
    }
}

/* A clone built on it, in the same epoch: then the head does not say it any more, and to count as lost is the safe
 * side. */
static bool buried(const struct attempt *a)
{
    for (size_t i = 0; i < attempt_count; i++)
        if (attempts[i].landed && attempts[i].epoch == a->epoch && attempts[i].order > a->order &&
            attempts[i].node != a->node)
            return true;
    return false;
}

/* What a node knows for certain must be so. */
static void check_belief(struct side *s)
{
    for (size_t i = 0; i < attempt_count; i++) {
        struct attempt *a = &attempts[i];
        if (a->node != s->to.number || a->given_up || a->reported)
            continue;
        bool open = false;
        for (size_t k = 0; k < s->record.write_count; k++)
            open = open || memcmp(&s->record.writes[k].root, &a->root, sizeof(a->root)) == 0;
        if (open)
            continue;
        if (memcmp(&s->record.committed, &a->root, sizeof(a->root)) == 0) {
            a->reported = true;
            if (!a->landed)
                broken("what is believed committed is in the head's history");
        } else {
            a->given_up = true;
            struct attempt *now = find_attempt(&s->record.committed);
            if (a->landed && !buried(a) && !(now && now->landed && now->epoch >= a->epoch))
                broken("what has landed is not given up for lost");
        }
    }
}

static void step(struct side *s, bool daemon)
{
    if (daemon) {
        s->daemon_busy = true;
        say("   daemon %d\n", s->to.number);
        lease_renew(&s->daemon, NULL);
        s->daemon_busy = false;
    } else {
        s->busy = true;
        act(s);
        s->busy = false;
    }
    if (s->busy || s->daemon_busy)
        return;
    if (s->to.dead)
        revive(s);
    else if (journal_load(s->journal, &s->record, NULL) < 0)
        fail();
    check_belief(s);
}

static void run_seed(uint64_t n)
{
    seed = n;
    random_state = n * 0x9e3779b97f4a7c15ull + 1;
    attempt_count = author_count = clock_ticks = depth = 0;
    life_count = NODES;
    world = (struct world){
        .seal = &context, .choose = choose, .before = before, .landed = landed, .died = died, .now_ns = 1
    };
    for (int i = 0; i < NODES; i++) {
        struct side *s = &sides[i];
        *s = (struct side){ 0 };
        snprintf(s->path, sizeof(s->path), "%s/%d", base_path, i);
        mkdir(s->path, 0700);
        s->dir = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        snprintf(s->node.name, sizeof(s->node.name), "node%d", i);
        world_node_init(&s->to, &world, i);
        parent_of[i] = -1;
        cloned_at[i] = 0;
        side_open(s);
    }
    for (unsigned i = 0; i < STEPS; i++) {
        say("%u\n", i);
        world.now_ns += pick(10) == 0 ? 2 * TTL_S * 1000000000ll : (int64_t)pick(20) * 1000000000;
        unsigned to = pick(NODES), from = pick(NODES);
        if (pick(25) == 0 && to != from)
            clone(&sides[from], &sides[to]);
        else
            step(&sides[to], pick(5) == 0);
    }
    world.before = NULL;
    world.choose = NULL;
    while (world.delayed_count > 0)
        world_deliver(&world, 0);
    /* With a store that works, one look each tells every node the truth. */
    for (int i = 0; i < NODES; i++) {
        _cleanup_(head_releasep) struct head h = { 0 };
        lease_resolve(&sides[i].lease, &h, NULL);
        check_belief(&sides[i]);
        side_close(&sides[i]);
        for (unsigned k = 0; k < 5; k++)
            unlinkat(sides[i].dir,
                     (const char *[]){ "journal.db", "journal.db-wal", "journal.db-shm", "dead.db", "dead.db-wal" }[k],
                     0);
        close(sides[i].dir);
    }
    world_release(&world);
}

static void the_promises_hold_whatever_happens(void **state)
{
    const char *one = getenv("AGBOX_SEED"), *many = getenv("AGBOX_SEEDS");
    loud = one != NULL;
    if (one)
        return run_seed(strtoull(one, NULL, 10));
    uint64_t count = many ? strtoull(many, NULL, 10) : SEEDS;
    for (uint64_t i = 1; i <= count; i++)
        run_seed(i);
    print_message(
        "%u heads, %u commits reported, %u times in doubt, %u lost, %u regained, %u killed, %u cloned, %u pruned\n",
        landed_total, reported_total, doubt_total, lost_total, regained_total, died_total, clone_total, pruned_total);
    /* A model in which nothing happens keeps every promise. */
    if (count >= SEEDS)
        assert_true(reported_total > SEEDS && doubt_total > SEEDS / 4 && lost_total > SEEDS / 4 && regained_total > 0 &&
                    pruned_total > 0);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    return remove(path);
}

int main(void)
{
    /* Thousands of durable transactions: in memory where that is possible. */
    snprintf(base_path, sizeof(base_path), "%s/test-lease-model.XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(base_path))
        return 1;
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_promises_hold_whatever_happens) };
    int r = cmocka_run_group_tests(tests, NULL, NULL);
    nftw(base_path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return r;
}
