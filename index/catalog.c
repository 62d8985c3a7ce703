/* SPDX-License-Identifier: MIT */
#include "index/catalog.h"

#include "index/base/mem.h"
#include "index/sql.h"

#include <errno.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>

#define SCHEMA_VERSION 1
#define PROOF_LEN 16

static const char schema[] =
    "CREATE TABLE pack(id INTEGER PRIMARY KEY, box TEXT NOT NULL, name BLOB NOT NULL, bytes INTEGER NOT NULL DEFAULT 0,"
    " UNIQUE(box, name));"
    "CREATE TABLE range(pack INTEGER NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL, used INTEGER NOT NULL,"
    " keep INTEGER NOT NULL, PRIMARY KEY(pack, start)) WITHOUT ROWID;"
    "CREATE INDEX range_used ON range(used) WHERE keep = 0;"
    "CREATE TRIGGER range_added AFTER INSERT ON range BEGIN"
    " UPDATE pack SET bytes = bytes + new.length WHERE id = new.pack; END;"
    "CREATE TRIGGER range_removed AFTER DELETE ON range BEGIN"
    " UPDATE pack SET bytes = bytes - old.length WHERE id = old.pack; END;"
    "CREATE TABLE known(box TEXT NOT NULL, hash BLOB NOT NULL, value BLOB NOT NULL, PRIMARY KEY(box, hash))"
    " WITHOUT ROWID;";

/* Made where it is missing: a catalog of this version may be older. */
static const char gone_schema[] =
    "CREATE TABLE IF NOT EXISTS gone(box TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TRIGGER IF NOT EXISTS range_gone AFTER DELETE ON range BEGIN"
    " INSERT OR IGNORE INTO gone SELECT box, 0 FROM pack WHERE id = old.pack;"
    " UPDATE gone SET bytes = bytes + old.length WHERE box = (SELECT box FROM pack WHERE id = old.pack); END;";

enum statement {
    FIND,
    PACK_ID,
    PACK_ADD,
    RANGE_RENEW,
    RANGE_REMOVE,
    RANGE_ADD,
    RANGE_BEFORE,
    RANGE_AFTER,
    PACK_REMOVE,
    OLDEST,
    BYTES_BOX,
    BYTES_ALL,
    USED_FIRST,
    BYTES_GONE,
    UNKEEP,
    KNOWN_ADD,
    KNOWN_FIND,
    KNOWN_CLEAR,
    STATEMENT_COUNT,
};

static const char *const statement_text[STATEMENT_COUNT] = {
    [FIND] = "SELECT 1 FROM pack JOIN range ON range.pack = pack.id WHERE box = ?1 AND name = ?2 AND start = ?3"
             " AND length = ?4",
    [PACK_ID] = "SELECT id FROM pack WHERE box = ?1 AND name = ?2",
    [PACK_ADD] = "INSERT OR IGNORE INTO pack(box, name) VALUES(?1, ?2)",
    [RANGE_RENEW] = "UPDATE range SET used = ?1, keep = max(keep, ?2) WHERE pack = ?3 AND start = ?4 AND length = ?5",
    [RANGE_REMOVE] = "DELETE FROM range WHERE pack = ?1 AND start = ?2",
    [RANGE_ADD] = "INSERT INTO range(pack, start, length, used, keep) VALUES(?1, ?2, ?3, ?4, ?5)",
    [RANGE_BEFORE] = "SELECT start + length FROM range WHERE pack = ?1 AND start < ?2 ORDER BY start DESC LIMIT 1",
    [RANGE_AFTER] = "SELECT start FROM range WHERE pack = ?1 AND start > ?2 ORDER BY start LIMIT 1",
    [PACK_REMOVE] = "DELETE FROM pack WHERE id = ?1",
    [OLDEST] = "SELECT box, name, start, length FROM range JOIN pack ON range.pack = pack.id WHERE keep = 0"
               " ORDER BY used LIMIT ?1",
    [BYTES_BOX] = "SELECT coalesce(sum(bytes), 0) FROM pack WHERE box = ?1",
    [BYTES_ALL] = "SELECT coalesce(sum(bytes), 0) FROM pack",
    [USED_FIRST] = "SELECT used FROM range WHERE keep = 0 ORDER BY used LIMIT 1",
    [BYTES_GONE] = "SELECT coalesce(sum(bytes), 0) FROM gone WHERE box = ?1",
    [UNKEEP] = "UPDATE range SET keep = 0 WHERE keep = 1 AND pack IN (SELECT id FROM pack WHERE box = ?1)",
    [KNOWN_ADD] = "INSERT OR REPLACE INTO known(box, hash, value) VALUES(?1, ?2, ?3)",
    [KNOWN_FIND] = "SELECT value FROM known WHERE box = ?1 AND hash = ?2",
    [KNOWN_CLEAR] = "DELETE FROM known WHERE box = ?1",
};

struct catalog {
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENT_COUNT];
};

static int failed(struct catalog *c, int code, const char *what, struct error *e)
{
    int r = sql_error(c->db, code, what, e);
    error_prefix(e, "cache catalog");
    return r;
}

static int run_text(struct catalog *c, const char *sql, struct error *e)
{
    int code = sqlite3_exec(c->db, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? 0 : failed(c, code, sql, e);
}

static int read_version(struct catalog *c, int *ret, struct error *e)
{
    sqlite3_stmt *s = NULL;
    int code = sqlite3_prepare_v2(c->db, "PRAGMA user_version", -1, &s, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(s);
    if (code == SQLITE_ROW)
        *ret = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return code == SQLITE_ROW ? 0 : failed(c, code, "read the version", e);
}

static int create_tables(struct catalog *c, struct error *e)
{
    int r = catalog_begin(c, e), version = 0;
    if (r < 0)
        return r;
    r = read_version(c, &version, e); /* again: another process may have been faster */
    if (r == 0 && version == 0) {
        char set[64];
        snprintf(set, sizeof(set), "PRAGMA user_version = %d", SCHEMA_VERSION);
        r = run_text(c, schema, e);
        if (r == 0)
            r = run_text(c, set, e);
    }
    return catalog_end(c, r, e);
}

static int prepare_all(struct catalog *c, struct error *e)
{
    for (int i = 0; i < STATEMENT_COUNT; i++) {
        int code = sqlite3_prepare_v3(c->db, statement_text[i], -1, SQLITE_PREPARE_PERSISTENT, &c->statements[i], NULL);
        if (code != SQLITE_OK)
            return failed(c, code, statement_text[i], e);
    }
    return 0;
}

static int set_up(struct catalog *c, const char *path, struct error *e)
{
    int version = 0;
    int code = sqlite3_open_v2(path, &c->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK)
        return failed(c, code, "open", e);
    sql_guard(c->db);
    sqlite3_extended_result_codes(c->db, 1);
    sqlite3_busy_timeout(c->db, 10000);
    int r = run_text(c, "PRAGMA journal_mode = WAL", e);
    if (r == 0)
        r = run_text(c, "PRAGMA synchronous = NORMAL", e);
    if (r == 0)
        r = read_version(c, &version, e);
    if (r == 0 && version == 0)
        r = create_tables(c, e);
    else if (r == 0 && version != SCHEMA_VERSION)
        r = error_say(e, ERROR_DAMAGED, -EBADMSG, "cache catalog: of version %d", version);
    if (r == 0)
        r = run_text(c, gone_schema, e);
    return r < 0 ? r : prepare_all(c, e);
}

int catalog_open(const char *path, struct catalog **ret, struct error *e)
{
    struct catalog *c = mem_new(1, sizeof(*c));
    int r = set_up(c, path, e);
    if (r < 0) {
        catalog_close(c);
        return r;
    }
    *ret = c;
    return 0;
}

void catalog_close(struct catalog *c)
{
    if (!c)
        return;
    for (int i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(c->statements[i]);
    sqlite3_close(c->db);
    free(c);
}

int catalog_begin(struct catalog *c, struct error *e)
{
    return run_text(c, "BEGIN IMMEDIATE", e);
}

int catalog_end(struct catalog *c, int r, struct error *e)
{
    if (r == 0)
        r = run_text(c, "COMMIT", e);
    if (r < 0 && !sqlite3_get_autocommit(c->db))
        sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

static void reset(sqlite3_stmt **s)
{
    sqlite3_reset(*s);
    sqlite3_clear_bindings(*s);
}
#define _cleanup_reset_ _cleanup_(reset)

static void bind_box(sqlite3_stmt *s, const char *box)
{
    sqlite3_bind_text(s, 1, box, -1, SQLITE_STATIC);
}

static void bind_blob(sqlite3_stmt *s, int at, const void *p, size_t n)
{
    sqlite3_bind_blob(s, at, p, (int)n, SQLITE_STATIC);
}

/* One statement that changes rows. */
static int change(struct catalog *c, sqlite3_stmt *s, const char *what, struct error *e)
{
    int code = sqlite3_step(s);
    return code == SQLITE_DONE ? 0 : failed(c, code, what, e);
}

/* 0: the statement stands on a row. */
static int row(struct catalog *c, sqlite3_stmt *s, const char *what, struct error *e)
{
    int code = sqlite3_step(s);
    if (code == SQLITE_ROW)
        return 0;
    return code == SQLITE_DONE ? -ENOENT : failed(c, code, what, e);
}

int catalog_find(struct catalog *c, const char *box, const struct locator *l, struct error *e)
{
    _cleanup_reset_ sqlite3_stmt *s = c->statements[FIND];
    bind_box(s, box);
    bind_blob(s, 2, &l->pack, sizeof(l->pack));
    sqlite3_bind_int64(s, 3, l->offset);
    sqlite3_bind_int64(s, 4, l->sealed);
    return row(c, s, "find a range", e);
}

static int pack_id(struct catalog *c, const char *box, const struct pack_name *p, int64_t *ret, struct error *e)
{
    _cleanup_reset_ sqlite3_stmt *s = c->statements[PACK_ID];
    bind_box(s, box);
    bind_blob(s, 2, p, sizeof(*p));
    int r = row(c, s, "find a pack", e);
    if (r == 0)
        *ret = sqlite3_column_int64(s, 0);
    return r;
}

static int pack_id_or_new(struct catalog *c, const char *box, const struct pack_name *p, int64_t *ret, struct error *e)
{
    int r = pack_id(c, box, p, ret, e);
    if (r != -ENOENT)
        return r;
    _cleanup_reset_ sqlite3_stmt *s = c->statements[PACK_ADD];
    bind_box(s, box);
    bind_blob(s, 2, p, sizeof(*p));
    r = change(c, s, "add a pack", e);
    return r < 0 ? r : pack_id(c, box, p, ret, e);
}

static int renew(struct catalog *c, int64_t pack, const struct locator *l, int64_t used, bool keep, struct error *e)
{
    _cleanup_reset_ sqlite3_stmt *s = c->statements[RANGE_RENEW];
    sqlite3_bind_int64(s, 1, used);
    sqlite3_bind_int(s, 2, keep);
    sqlite3_bind_int64(s, 3, pack);
    sqlite3_bind_int64(s, 4, l->offset);
    sqlite3_bind_int64(s, 5, l->sealed);
    int r = change(c, s, "renew a range", e);
    return r < 0 ? r : sqlite3_changes(c->db) > 0;
}

static int remove_row(struct catalog *c, int64_t pack, uint32_t start, struct error *e)
{
    _cleanup_reset_ sqlite3_stmt *s = c->statements[RANGE_REMOVE];
    sqlite3_bind_int64(s, 1, pack);
    sqlite3_bind_int64(s, 2, start);
    return change(c, s, "remove a range", e);
}

int catalog_add(struct catalog *c, const char *box, const struct locator *l, int64_t used, bool keep, struct error *e)
{
    int64_t pack = 0;
    int r = pack_id_or_new(c, box, &l->pack, &pack, e);
    if (r < 0)
        return r;
    r = renew(c, pack, l, used, keep, e);
    if (r != 0)
        return r < 0 ? r : 0;
    r = remove_row(c, pack, l->offset, e); /* one of another length cannot be true */
    if (r < 0)
        return r;
    _cleanup_reset_ sqlite3_stmt *s = c->statements[RANGE_ADD];
    sqlite3_bind_int64(s, 1, pack);
    sqlite3_bind_int64(s, 2, l->offset);
    sqlite3_bind_int64(s, 3, l->sealed);
    sqlite3_bind_int64(s, 4, used);
    sqlite3_bind_int(s, 5, keep);
    return change(c, s, "add a range", e);
}

int catalog_touch(struct catalog *c, const char *box, const struct locator *l, int64_t used, bool keep, struct error *e)
{
    int64_t pack = 0;
    int r = pack_id(c, box, &l->pack, &pack, e);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    r = renew(c, pack, l, used, keep, e);
    return r < 0 ? r : 0;
}

/* Where the neighbour of start begins or ends; fallback when there is none. */
static int neighbour(struct catalog *c, enum statement which, int64_t pack, uint32_t start, uint64_t fallback,
                     uint64_t *ret, struct error *e)
{
    _cleanup_reset_ sqlite3_stmt *s = c->statements[which];
    sqlite3_bind_int64(s, 1, pack);
    sqlite3_bind_int64(s, 2, start);
    int r = row(c, s, "find a neighbour", e);
    if (r < 0 && r != -ENOENT)
        return r;
    *ret = r == 0 ? (uint64_t)sqlite3_column_int64(s, 0) : fallback;
    return 0;
}

int catalog_remove(struct catalog *c, const struct catalog_range *r, struct catalog_gap *ret, struct error *e)
{
    int64_t pack = 0;
    struct catalog_gap gap = { 0 };
    int code = pack_id(c, r->box, &r->pack, &pack, e);
    if (code == -ENOENT) {
        *ret = (struct catalog_gap){ .to = UINT64_MAX, .pack_empty = true };
        return 0;
    }
    if (code == 0)
        code = remove_row(c, pack, r->start, e);
    if (code == 0)
        code = neighbour(c, RANGE_BEFORE, pack, r->start, 0, &gap.from, e);
    if (code == 0)
        code = neighbour(c, RANGE_AFTER, pack, r->start, UINT64_MAX, &gap.to, e);
    if (code == 0 && gap.from == 0 && gap.to == UINT64_MAX) {
        _cleanup_reset_ sqlite3_stmt *s = c->statements[PACK_REMOVE];
        sqlite3_bind_int64(s, 1, pack);
        gap.pack_empty = true;
        code = change(c, s, "remove a pack", e);
    }
    if (code == 0)
        *ret = gap;
    return code;
}

int catalog_oldest(struct catalog *c, struct catalog_range *ret, size_t room, size_t *ret_count, struct error *e)
{
    _cleanup_reset_ sqlite3_stmt *s = c->statements[OLDEST];
    sqlite3_bind_int64(s, 1, (int64_t)room);
    size_t n = 0;
    int r = 0;
    while (n < room && (r = row(c, s, "find the oldest", e)) == 0) {
        const unsigned char *box = sqlite3_column_text(s, 0);
        if (!box || sqlite3_column_bytes(s, 1) != sizeof(ret->pack))
            return error_say(e, ERROR_DAMAGED, -EBADMSG, "cache catalog: a pack without a name");
        snprintf(ret[n].box, sizeof(ret[n].box), "%s", (const char *)box);
        memcpy(&ret[n].pack, sqlite3_column_blob(s, 1), sizeof(ret->pack));
        ret[n].start = (uint32_t)sqlite3_column_int64(s, 2);
        ret[n].length = (uint32_t)sqlite3_column_int64(s, 3);
        n++;
    }
    if (r < 0 && r != -ENOENT)
        return r;
    *ret_count = n;
    return 0;
}

static int count_bytes(struct catalog *c, enum statement which, const char *box, uint64_t *ret, struct error *e)
{
    _cleanup_reset_ sqlite3_stmt *s = c->statements[which];
    if (box)
        bind_box(s, box);
    int r = row(c, s, "count bytes", e);
    if (r == 0)
        *ret = (uint64_t)sqlite3_column_int64(s, 0);
    return r;
}

int catalog_bytes(struct catalog *c, const char *box, uint64_t *ret, struct error *e)
{
    return count_bytes(c, box ? BYTES_BOX : BYTES_ALL, box, ret, e);
}

int catalog_used_first(struct catalog *c, int64_t *ret, struct error *e)
{
    _cleanup_reset_ sqlite3_stmt *s = c->statements[USED_FIRST];
    int r = row(c, s, "find the oldest", e);
    if (r == 0)
        *ret = sqlite3_column_int64(s, 0);
    return r;
}

int catalog_gone(struct catalog *c, const char *box, uint64_t *ret, struct error *e)
{
    return count_bytes(c, BYTES_GONE, box, ret, e);
}

int catalog_unkeep(struct catalog *c, const char *box, struct error *e)
{
    _cleanup_reset_ sqlite3_stmt *s = c->statements[UNKEEP];
    bind_box(s, box);
    return change(c, s, "unkeep", e);
}

/* Proof of a known row: not secret, it only tells a rotten one. */
static void prove(const char *box, const struct hash *h, const void *value, size_t n, uint8_t ret[PROOF_LEN])
{
    crypto_generichash_state g;
    crypto_generichash_init(&g, NULL, 0, PROOF_LEN);
    crypto_generichash_update(&g, (const uint8_t *)box, strlen(box) + 1);
    crypto_generichash_update(&g, h->b, HASH_LEN);
    crypto_generichash_update(&g, value, n);
    crypto_generichash_final(&g, ret, PROOF_LEN);
}

int catalog_known_add(struct catalog *c, const char *box, const struct known_extent *x, struct error *e)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    uint8_t proof[PROOF_LEN];
    wire_put_varint(&b, x->length);
    wire_put_varint(&b, x->within);
    locator_put(&b, &x->frame);
    prove(box, &x->hash, b.data, b.len, proof);
    buf_add(&b, proof, sizeof(proof));

    _cleanup_reset_ sqlite3_stmt *s = c->statements[KNOWN_ADD];
    bind_box(s, box);
    bind_blob(s, 2, x->hash.b, HASH_LEN);
    bind_blob(s, 3, b.data, b.len);
    return change(c, s, "add known content", e);
}

int catalog_known_find(struct catalog *c, const char *box, const struct hash *h, struct known_extent *ret,
                       struct error *e)
{
    _cleanup_reset_ sqlite3_stmt *s = c->statements[KNOWN_FIND];
    bind_box(s, box);
    bind_blob(s, 2, h->b, HASH_LEN);
    int r = row(c, s, "find known content", e);
    if (r < 0)
        return r;
    const uint8_t *value = sqlite3_column_blob(s, 0);
    size_t n = (size_t)sqlite3_column_bytes(s, 0);
    if (!value || n <= PROOF_LEN)
        return -ENOENT;
    uint8_t proof[PROOF_LEN];
    prove(box, h, value, n - PROOF_LEN, proof);
    if (memcmp(proof, value + n - PROOF_LEN, PROOF_LEN) != 0)
        return -ENOENT;
    struct wire w = wire_reader(value, n - PROOF_LEN);
    struct known_extent x = { .hash = *h, .length = wire_varint(&w) };
    x.within = (uint32_t)wire_bounded(&w, FRAME_RAW_MAX);
    x.frame = locator_get(&w);
    if (!wire_done(&w))
        return -ENOENT;
    *ret = x;
    return 0;
}

static int clear(struct catalog *c, const char *box, struct error *e)
{
    _cleanup_reset_ sqlite3_stmt *s = c->statements[KNOWN_CLEAR];
    bind_box(s, box);
    return change(c, s, "clear known content", e);
}

/* What a power cut brought back would be referred to, and may be gone from the store. */
int catalog_known_clear(struct catalog *c, const char *box, struct error *e)
{
    int r = run_text(c, "PRAGMA synchronous = FULL", e);
    if (r == 0)
        r = clear(c, box, e);
    int again = run_text(c, "PRAGMA synchronous = NORMAL", r < 0 ? NULL : e);
    return r < 0 ? r : again;
}
