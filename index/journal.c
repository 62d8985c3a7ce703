/* SPDX-License-Identifier: MIT */
#include "index/journal.h"

#include "index/base/crash.h"
#include "index/base/mem.h"
#include "index/sql.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOURNAL_VERSION 1
#define STAT_VERSION 1

struct journal {
    sqlite3 *db;
    sqlite3 *stat;
    pthread_mutex_t mutex; /* keeps journal_pack_add out of another thread's transaction, whose end could undo it */
};

static const char box_schema[] =
    "CREATE TABLE box(id INTEGER PRIMARY KEY CHECK(id = 1), state INTEGER NOT NULL, incarnation BLOB NOT NULL, "
    "base BLOB NOT NULL, committed BLOB NOT NULL, fork BLOB NOT NULL, writer BLOB NOT NULL, upper TEXT NOT NULL, "
    "path TEXT, aside TEXT, aside_ns INTEGER NOT NULL, full INTEGER NOT NULL);"
    "CREATE TABLE lease(id INTEGER PRIMARY KEY CHECK(id = 1), epoch INTEGER NOT NULL, seq INTEGER NOT NULL, "
    "own BLOB NOT NULL, freed INTEGER NOT NULL);"
    "CREATE TABLE pending(n INTEGER PRIMARY KEY, kind INTEGER NOT NULL, write_id BLOB NOT NULL, epoch INTEGER NOT "
    "NULL, "
    "seq INTEGER NOT NULL, root BLOB NOT NULL, frees INTEGER NOT NULL, next INTEGER NOT NULL);"
    "CREATE TABLE seen(id INTEGER PRIMARY KEY CHECK(id = 1), epoch INTEGER NOT NULL, seq INTEGER NOT NULL, "
    "write_id BLOB NOT NULL, top_epoch INTEGER NOT NULL, top_seq INTEGER NOT NULL);"
    "CREATE TABLE pack(name BLOB PRIMARY KEY, size INTEGER NOT NULL, metadata INTEGER NOT NULL) WITHOUT ROWID;";

static const char stat_schema[] =
    "CREATE TABLE stat(path BLOB PRIMARY KEY, dev INTEGER NOT NULL, ino INTEGER NOT NULL, size INTEGER NOT NULL, "
    "mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, record BLOB NOT NULL) WITHOUT ROWID;";

static const char *const state_names[BOX_STATE_COUNT] = {
    [BOX_NONE] = "none",           [BOX_TRACKING] = "tracking",       [BOX_ACQUIRED] = "acquired",
    [BOX_PREPARING] = "preparing", [BOX_FILLING] = "filling",         [BOX_FULL_HELD] = "full-held",
    [BOX_MOUNTED] = "mounted",     [BOX_PARKING] = "parking",         [BOX_MOVING] = "moving",
    [BOX_PARKED] = "parked",       [BOX_MOVED_ASIDE] = "moved-aside", [BOX_FENCED] = "fenced",
};

const char *box_state_name(enum box_state s)
{
    return (unsigned)s < BOX_STATE_COUNT ? state_names[s] : "unknown";
}

bool box_state_away(enum box_state s)
{
    return s == BOX_NONE || s == BOX_PARKED || s == BOX_MOVED_ASIDE;
}

void box_record_release(struct box_record *r)
{
    free(r->path);
    free(r->aside);
    free(r->writes);
    *r = (struct box_record){ 0 };
}

bool box_record_in_doubt(const struct box_record *r)
{
    for (size_t i = 0; i < r->write_count; i++)
        if (r->writes[i].kind != WRITE_RENEW && r->writes[i].kind != WRITE_PRUNE)
            return true;
    return false;
}

static int read_version(sqlite3 *db, int *ret, struct error *e)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *s = NULL;
    int r = sql_query(db, &s, e, "PRAGMA user_version", "");
    if (r == 0)
        r = sql_step(s, e);
    if (r > 0)
        *ret = sqlite3_column_int(s, 0);
    return r < 0 ? r : 0;
}

static int make_schema(sqlite3 *db, const char *schema, int version, struct error *e)
{
    int have = 0;
    char set[64];
    snprintf(set, sizeof(set), "PRAGMA user_version=%d", version);
    int r = sql_begin(db, e);
    if (r < 0)
        return r;
    r = read_version(db, &have, e); /* again: another process may have been faster */
    if (r == 0 && have == 0)
        r = sql_script(db, schema, e);
    if (r == 0 && have == 0)
        r = sql_script(db, set, e);
    return sql_end(db, r, e);
}

/*
 * Makes the schema of a new database; says no to one that a newer version made. Whoever only looks takes no write lock:
 * that of the stat cache is a save's for as long as it takes.
 */
static int check_schema(sqlite3 *db, const char *schema, int version, struct error *e)
{
    int have = 0;
    int r = read_version(db, &have, e);
    if (r == 0 && have == 0)
        r = make_schema(db, schema, version, e);
    if (r == 0 && have > version)
        r = error_say(e, ERROR_USAGE, -ENOTSUP, "its version is %d, this ag-box knows %d", have, version);
    return r;
}

static int check_pages(sqlite3 *db, struct error *e)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *s = NULL;
    int r = sql_query(db, &s, e, "PRAGMA quick_check(1)", "");
    if (r == 0)
        r = sql_step(s, e);
    if (r <= 0)
        return r;
    const char *text = (const char *)sqlite3_column_text(s, 0);
    if (text && strcmp(text, "ok") == 0)
        return 0;
    return error_say(e, ERROR_DAMAGED, -EBADMSG, "%s", text ? text : "no answer");
}

static int open_main(struct journal *j, int box_dir, const char *path, struct error *e)
{
    int r = sql_open(path, true, &j->db, e);
    if (r == 0)
        r = check_pages(j->db, e);
    if (r == 0)
        r = check_schema(j->db, box_schema, JOURNAL_VERSION, e);
    if (r == 0 && fsync(box_dir) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "fsync its directory");
    if (r == -EBADMSG)
        error_hint(e,
                   "the box's files are untouched: copy out what is below its directory before you remove the journal");
    return r;
}

static void remove_stat(int box_dir)
{
    unlinkat(box_dir, "stat.db", 0);
    unlinkat(box_dir, "stat.db-wal", 0);
    unlinkat(box_dir, "stat.db-shm", 0);
}

static int open_stat(struct journal *j, int box_dir, const char *path, struct error *e)
{
    for (int attempt = 0;; attempt++) {
        int r = sql_open(path, false, &j->stat, e);
        if (r == 0)
            r = check_schema(j->stat, stat_schema, STAT_VERSION, e);
        if (r != -EBADMSG && r != -ENOTSUP)
            return r;
        sql_close(j->stat);
        j->stat = NULL;
        if (attempt > 0)
            return r;
        remove_stat(box_dir);
    }
}

int journal_open(int box_dir, const char *box_path, bool create, struct journal **ret, struct error *e)
{
    if (!create && faccessat(box_dir, "journal.db", F_OK, 0) < 0)
        return errno == ENOENT ? error_say(e, ERROR_UNKNOWN, -ENOENT, "this node knows nothing of the box")
                               : error_set(e, ERROR_FAILED, -errno, "look for %s/journal.db", box_path);

    _cleanup_free_ char *main_path = mem_printf("%s/journal.db", box_path);
    _cleanup_free_ char *stat_path = mem_printf("%s/stat.db", box_path);
    _cleanup_(journal_closep) struct journal *j = mem_new(1, sizeof(*j));
    pthread_mutex_init(&j->mutex, NULL);
    int r = open_main(j, box_dir, main_path, e);
    if (r < 0) {
        error_prefix(e, "open journal %s", main_path);
        return r;
    }
    r = open_stat(j, box_dir, stat_path, e);
    if (r < 0) {
        error_prefix(e, "open stat cache %s", stat_path);
        return r;
    }
    *ret = mem_steal(j);
    return 0;
}

void journal_close(struct journal *j)
{
    if (!j)
        return;
    sql_close(j->stat);
    sql_close(j->db);
    pthread_mutex_destroy(&j->mutex);
    free(j);
}

void journal_closep(struct journal **j)
{
    journal_close(*j);
}

static int begin(struct journal *j, struct error *e)
{
    pthread_mutex_lock(&j->mutex);
    int r = sql_begin(j->db, e);
    if (r < 0)
        pthread_mutex_unlock(&j->mutex);
    return r;
}

static int end(struct journal *j, int r, struct error *e)
{
    r = sql_end(j->db, r, e);
    pthread_mutex_unlock(&j->mutex);
    return r;
}

static int read_box(sqlite3_stmt *s, struct box_record *r, struct error *e)
{
    int64_t state = sqlite3_column_int64(s, 0);
    if (state < 0 || state >= BOX_STATE_COUNT)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "journal: state %lld", (long long)state);
    r->state = (enum box_state)state;
    int rc = sql_blob(s, 1, r->incarnation, sizeof(r->incarnation), e);
    if (rc == 0)
        rc = sql_blob(s, 2, &r->base, sizeof(r->base), e);
    if (rc == 0)
        rc = sql_blob(s, 3, &r->committed, sizeof(r->committed), e);
    if (rc == 0)
        rc = sql_blob(s, 4, &r->fork, sizeof(r->fork), e);
    if (rc == 0)
        rc = sql_blob(s, 5, &r->writer, sizeof(r->writer), e);
    if (rc < 0)
        return rc;
    const char *upper = (const char *)sqlite3_column_text(s, 6);
    if (!upper || strlen(upper) >= sizeof(r->upper) || strchr(upper, '/'))
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "journal: impossible name of an upper directory");
    snprintf(r->upper, sizeof(r->upper), "%s", upper);
    r->path = sql_text(s, 7);
    r->aside = sql_text(s, 8);
    r->aside_ns = sqlite3_column_int64(s, 9);
    r->full = sqlite3_column_int(s, 10) != 0;
    return 0;
}

static int load_box(struct journal *j, struct box_record *r, struct error *e)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *s = NULL;
    int rc = sql_query(j->db, &s, e,
                       "SELECT state, incarnation, base, committed, fork, writer, upper, path, aside, aside_ns, full "
                       "FROM box",
                       "");
    if (rc == 0)
        rc = sql_step(s, e);
    return rc <= 0 ? rc : read_box(s, r, e);
}

static int read_write(sqlite3_stmt *s, struct journal_write *w, struct error *e)
{
    int64_t kind = sqlite3_column_int64(s, 0), then = sqlite3_column_int64(s, 6);
    if (kind < WRITE_CREATE || kind > WRITE_DROP || then < 0 || then > BOX_STATE_COUNT)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "journal: impossible pending write");
    w->kind = (enum journal_write_kind)kind;
    w->then = (enum box_state)then;
    w->epoch = (uint64_t)sqlite3_column_int64(s, 2);
    w->seq = (uint64_t)sqlite3_column_int64(s, 3);
    w->frees = sqlite3_column_int(s, 5) != 0;
    int r = sql_blob(s, 1, w->write_id, sizeof(w->write_id), e);
    return r < 0 ? r : sql_blob(s, 4, &w->root, sizeof(w->root), e);
}

static int load_pending(struct journal *j, struct box_record *r, struct error *e)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *s = NULL;
    int rc =
        sql_query(j->db, &s, e, "SELECT kind, write_id, epoch, seq, root, frees, next FROM pending ORDER BY n", "");
    while (rc == 0 && (rc = sql_step(s, e)) > 0) {
        if (r->write_count >= JOURNAL_WRITES_MAX)
            return error_say(e, ERROR_DAMAGED, -EBADMSG, "journal: too many pending writes");
        r->writes = mem_grow(r->writes, r->write_count + 1, sizeof(*r->writes));
        r->writes[r->write_count] = (struct journal_write){ 0 };
        rc = read_write(s, &r->writes[r->write_count], e);
        r->write_count++;
    }
    return rc;
}

static int load_lease(struct journal *j, struct box_record *r, struct error *e)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *s = NULL;
    int rc = sql_query(j->db, &s, e, "SELECT epoch, seq, own, freed FROM lease", "");
    if (rc == 0 && (rc = sql_step(s, e)) > 0) {
        r->epoch = (uint64_t)sqlite3_column_int64(s, 0);
        r->seq = (uint64_t)sqlite3_column_int64(s, 1);
        r->freed = sqlite3_column_int(s, 3) != 0;
        rc = sql_blob(s, 2, r->own, sizeof(r->own), e);
    }
    if (rc < 0)
        return rc;

    _cleanup_(sql_finalizep) sqlite3_stmt *seen = NULL;
    rc = sql_query(j->db, &seen, e, "SELECT top_epoch, top_seq FROM seen", "");
    if (rc == 0 && (rc = sql_step(seen, e)) > 0) {
        r->seen_epoch = (uint64_t)sqlite3_column_int64(seen, 0);
        r->seen_seq = (uint64_t)sqlite3_column_int64(seen, 1);
    }
    return rc < 0 ? rc : load_pending(j, r, e);
}

/* One read transaction, so that the parts belong together. */
static int load(struct journal *j, bool box, struct box_record *r, struct error *e)
{
    pthread_mutex_lock(&j->mutex);
    int rc = sql_script(j->db, "BEGIN", e);
    if (rc == 0 && box)
        rc = load_box(j, r, e);
    if (rc == 0)
        rc = load_lease(j, r, e);
    rc = end(j, rc, e);
    if (rc < 0)
        error_prefix(e, "read the journal");
    return rc;
}

int journal_load(struct journal *j, struct box_record *ret, struct error *e)
{
    struct box_record r = { 0 };
    int rc = load(j, true, &r, e);
    if (rc < 0) {
        box_record_release(&r);
        return rc;
    }
    box_record_release(ret);
    *ret = r;
    return 0;
}

int journal_load_lease(struct journal *j, struct box_record *r, struct error *e)
{
    struct box_record got = { 0 };
    int rc = load(j, false, &got, e);
    if (rc < 0) {
        box_record_release(&got);
        return rc;
    }
    free(r->writes);
    r->epoch = got.epoch;
    r->seq = got.seq;
    memcpy(r->own, got.own, sizeof(r->own));
    r->freed = got.freed;
    r->writes = got.writes;
    r->write_count = got.write_count;
    r->seen_epoch = got.seen_epoch;
    r->seen_seq = got.seen_seq;
    return 0;
}

static int store_box(struct journal *j, const struct box_record *r, struct error *e)
{
    return sql_run(j->db, e, "INSERT OR REPLACE INTO box VALUES(1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "ibbbbbtttii",
                   (int64_t)r->state, r->incarnation, sizeof(r->incarnation), &r->base, sizeof(r->base), &r->committed,
                   sizeof(r->committed), &r->fork, sizeof(r->fork), &r->writer, sizeof(r->writer), r->upper, r->path,
                   r->aside, r->aside_ns, (int64_t)r->full);
}

static int store_lease(struct journal *j, const struct box_record *r, struct error *e)
{
    int rc = sql_run(j->db, e, "INSERT OR REPLACE INTO lease VALUES(1, ?, ?, ?, ?)", "iibi", (int64_t)r->epoch,
                     (int64_t)r->seq, r->own, sizeof(r->own), (int64_t)r->freed);
    if (rc == 0)
        rc = sql_script(j->db, "DELETE FROM pending", e);
    for (size_t i = 0; rc == 0 && i < r->write_count; i++) {
        const struct journal_write *w = &r->writes[i];
        rc = sql_run(j->db, e, "INSERT INTO pending VALUES(?, ?, ?, ?, ?, ?, ?, ?)", "iibiibii", (int64_t)i,
                     (int64_t)w->kind, w->write_id, sizeof(w->write_id), (int64_t)w->epoch, (int64_t)w->seq, &w->root,
                     sizeof(w->root), (int64_t)w->frees, (int64_t)w->then);
    }
    return rc;
}

static int store(struct journal *j, const struct box_record *r, bool box, bool lease, struct error *e)
{
    crash_point("journal.before");
    int rc = begin(j, e);
    if (rc == 0) {
        if (box)
            rc = store_box(j, r, e);
        if (rc == 0 && lease)
            rc = store_lease(j, r, e);
        rc = end(j, rc, e);
    }
    if (rc < 0) {
        error_prefix(e, "write the journal");
        return rc;
    }
    crash_point("journal.after");
    return 0;
}

int journal_store(struct journal *j, const struct box_record *r, struct error *e)
{
    return store(j, r, true, false, e);
}

int journal_store_lease(struct journal *j, const struct box_record *r, struct error *e)
{
    return store(j, r, false, true, e);
}

int journal_store_both(struct journal *j, const struct box_record *r, struct error *e)
{
    return store(j, r, true, true, e);
}

struct seen {
    uint64_t epoch, seq, top_epoch, top_seq;
    uint8_t write_id[WRITE_ID_LEN];
    bool any;
};

static int load_seen(struct journal *j, struct seen *ret, struct error *e)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *s = NULL;
    int r = sql_query(j->db, &s, e, "SELECT epoch, seq, write_id, top_epoch, top_seq FROM seen", "");
    if (r == 0)
        r = sql_step(s, e);
    if (r <= 0)
        return r;
    ret->any = true;
    ret->epoch = (uint64_t)sqlite3_column_int64(s, 0);
    ret->seq = (uint64_t)sqlite3_column_int64(s, 1);
    ret->top_epoch = (uint64_t)sqlite3_column_int64(s, 3);
    ret->top_seq = (uint64_t)sqlite3_column_int64(s, 4);
    return sql_blob(s, 2, ret->write_id, sizeof(ret->write_id), e);
}

static bool rolled_back(const struct seen *was, const struct seen *now)
{
    if (!was->any)
        return false;
    if (now->epoch != was->epoch)
        return now->epoch < was->epoch;
    if (now->seq != was->seq)
        return now->seq < was->seq;
    return memcmp(now->write_id, was->write_id, WRITE_ID_LEN) != 0;
}

static int raise_seen(struct journal *j, struct seen *now, bool accept, struct error *e)
{
    struct seen was = { 0 };
    int r = load_seen(j, &was, e);
    if (r < 0)
        return r;
    if (!accept && rolled_back(&was, now)) {
        error_say(e, ERROR_DAMAGED, -ESTALE,
                  "the store went back: its head is epoch %llu, number %llu; this node saw %llu, %llu",
                  (unsigned long long)now->epoch, (unsigned long long)now->seq, (unsigned long long)was.epoch,
                  (unsigned long long)was.seq);
        return error_hint(e, "if the store was restored from a copy on purpose: up --accept-rollback"), -ESTALE;
    }
    if (was.any && was.epoch == now->epoch && was.seq == now->seq &&
        memcmp(was.write_id, now->write_id, WRITE_ID_LEN) == 0)
        return 0;
    now->top_epoch = now->epoch > was.top_epoch ? now->epoch : was.top_epoch;
    now->top_seq = now->seq > was.top_seq ? now->seq : was.top_seq;
    return sql_run(j->db, e, "INSERT OR REPLACE INTO seen VALUES(1, ?, ?, ?, ?, ?)", "iibii", (int64_t)now->epoch,
                   (int64_t)now->seq, now->write_id, sizeof(now->write_id), (int64_t)now->top_epoch,
                   (int64_t)now->top_seq);
}

int journal_saw(struct journal *j, uint64_t epoch, uint64_t seq, const uint8_t write_id[WRITE_ID_LEN], bool accept,
                struct error *e)
{
    struct seen now = { .epoch = epoch, .seq = seq, .any = true };
    memcpy(now.write_id, write_id, sizeof(now.write_id));
    crash_point("journal-saw.before");
    int r = begin(j, e);
    if (r == 0)
        r = end(j, raise_seen(j, &now, accept, e), e);
    crash_point("journal-saw.after");
    return r;
}

int journal_pack_add(struct journal *j, const struct pack_name *p, uint32_t size, bool metadata, struct error *e)
{
    crash_point("journal.before");
    pthread_mutex_lock(&j->mutex);
    int r = sql_run(j->db, e, "INSERT OR REPLACE INTO pack VALUES(?, ?, ?)", "bii", p, sizeof(*p), (int64_t)size,
                    (int64_t)metadata);
    pthread_mutex_unlock(&j->mutex);
    if (r == 0)
        crash_point("journal.after");
    return r;
}

int journal_packs(struct journal *j,
                  int (*each)(void *arg, const struct pack_name *p, uint32_t size, bool metadata, struct error *e),
                  void *arg, struct error *e)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *s = NULL;
    int r = sql_query(j->db, &s, e, "SELECT name, size, metadata FROM pack ORDER BY name", "");
    while (r == 0 && (r = sql_step(s, e)) > 0) {
        struct pack_name p;
        int64_t size = sqlite3_column_int64(s, 1);
        r = sql_blob(s, 0, &p, sizeof(p), e);
        if (r == 0 && (size <= 0 || size > PACK_MAX))
            r = error_say(e, ERROR_DAMAGED, -EBADMSG, "journal: a pack of %lld bytes", (long long)size);
        if (r == 0)
            r = each(arg, &p, (uint32_t)size, sqlite3_column_int(s, 2) != 0, e);
    }
    return r;
}

int journal_packs_clear(struct journal *j, struct error *e)
{
    crash_point("journal.before");
    int r = sql_run(j->db, e, "DELETE FROM pack", "");
    crash_point("journal.after");
    return r;
}

int journal_stat_find(struct journal *j, struct bytes path, const struct stat_key *k, struct buf *ret_record,
                      struct error *e)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *s = NULL;
    int r = sql_query(
        j->stat, &s, e,
        "SELECT record FROM stat WHERE path = ? AND dev = ? AND ino = ? AND size = ? AND mtime_ns = ? AND "
        "ctime_ns = ?",
        "biiiii", path.data, path.len, (int64_t)k->dev, (int64_t)k->ino, (int64_t)k->size, k->mtime_ns, k->ctime_ns);
    if (r == 0)
        r = sql_step(s, e);
    if (r <= 0)
        return r < 0 && r != -EBADMSG ? r : -ENOENT; /* a damaged cache knows nothing */
    buf_clear(ret_record);
    buf_add(ret_record, sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0));
    return 0;
}

int journal_stat_put(struct journal *j, struct bytes path, const struct stat_key *k, struct bytes record,
                     struct error *e)
{
    return sql_run(j->stat, e, "INSERT OR REPLACE INTO stat VALUES(?, ?, ?, ?, ?, ?, ?)", "biiiiib", path.data,
                   path.len, (int64_t)k->dev, (int64_t)k->ino, (int64_t)k->size, k->mtime_ns, k->ctime_ns, record.data,
                   record.len);
}

int journal_stat_begin(struct journal *j, struct error *e)
{
    return sql_begin(j->stat, e);
}

int journal_stat_end(struct journal *j, int r, struct error *e)
{
    return sql_end(j->stat, r, e);
}

int journal_stat_clear(struct journal *j, struct error *e)
{
    int r = sql_script(j->stat, "PRAGMA synchronous=FULL", e); /* a power cut brings nothing back */
    if (r == 0)
        r = sql_run(j->stat, e, "DELETE FROM stat", "");
    int again = sql_script(j->stat, "PRAGMA synchronous=NORMAL", r < 0 ? NULL : e);
    return r < 0 ? r : again;
}
