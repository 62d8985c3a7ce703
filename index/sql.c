/* SPDX-License-Identifier: MIT */
#include "index/sql.h"

#include "index/base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#define BUSY_MS 10000

int sql_error(sqlite3 *db, int rc, const char *what, struct error *e)
{
    const char *why = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);
    switch (rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "%s: %s", what, why);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_say(e, ERROR_BUSY, -EBUSY, "%s: %s", what, why);
    case SQLITE_FULL:
        return error_say(e, ERROR_FAILED, -ENOSPC, "%s: %s", what, why);
    case SQLITE_NOMEM:
        return error_set(e, ERROR_FAILED, -ENOMEM, "%s", what);
    case SQLITE_READONLY:
        return error_say(e, ERROR_FAILED, -EROFS, "%s: %s", what, why);
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR: /* its text does not tell a full disk from a broken one */
        if (db && sqlite3_system_errno(db) > 0)
            return error_set(e, ERROR_FAILED, -sqlite3_system_errno(db), "%s", what);
        __attribute__((fallthrough));
    default:
        return error_say(e, ERROR_FAILED, -EIO, "%s: %s", what, why);
    }
}

/* All that sqlite opens here has the methods of one file system layer. */
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static const sqlite3_io_methods *plain;
static sqlite3_io_methods guarded;

/* The holes get their blocks while that can still be refused; a kernel before 5.14 knows no such way (EINVAL). */
static int map_filled(sqlite3_file *file, int region, int size, int extend, void volatile **ret)
{
    int rc = plain->xShmMap(file, region, size, extend, ret);
    if (rc != SQLITE_OK || !*ret)
        return rc;
    if (madvise((void *)(uintptr_t)*ret, (size_t)size, MADV_POPULATE_WRITE) == 0 || errno != EFAULT)
        return SQLITE_OK;
    *ret = NULL;
    return SQLITE_FULL;
}

void sql_guard(sqlite3 *db)
{
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file || !file->pMethods)
        return;
    pthread_mutex_lock(&first);
    if (!plain) {
        plain = file->pMethods;
        guarded = *plain;
        guarded.xShmMap = map_filled;
    }
    pthread_mutex_unlock(&first);
    if (file->pMethods == plain)
        file->pMethods = &guarded;
}

int sql_open(const char *path, bool full, sqlite3 **ret, struct error *e)
{
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, NULL);
    int r = rc != SQLITE_OK ? sql_error(db, rc, path, e) : 0;
    if (r == 0) {
        sql_guard(db);
        sqlite3_busy_timeout(db, BUSY_MS);
        r = sql_script(db, "PRAGMA journal_mode=WAL", e);
    }
    if (r == 0)
        r = sql_script(db, full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", e);
    if (r < 0) {
        sqlite3_close(db);
        return r;
    }
    *ret = db;
    return 0;
}

void sql_close(sqlite3 *db)
{
    sqlite3_close(db);
}

int sql_script(sqlite3 *db, const char *script, struct error *e)
{
    int rc = sqlite3_exec(db, script, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : sql_error(db, rc, script, e);
}

static int bind_all(sqlite3_stmt *s, const char *types, va_list args)
{
    int rc = SQLITE_OK;
    for (int i = 1; rc == SQLITE_OK && types[i - 1]; i++) {
        switch (types[i - 1]) {
        case 'i':
            rc = sqlite3_bind_int64(s, i, va_arg(args, int64_t));
            break;
        case 't':
            rc = sqlite3_bind_text(s, i, va_arg(args, const char *), -1, SQLITE_TRANSIENT);
            break;
        case 'b': {
            const void *p = va_arg(args, const void *);
            size_t n = va_arg(args, size_t);
            rc = sqlite3_bind_blob64(s, i, n == 0 && p ? "" : p, n, SQLITE_TRANSIENT);
            break;
        }
        default:
            rc = SQLITE_MISUSE;
        }
    }
    return rc;
}

static int prepare(sqlite3 *db, sqlite3_stmt **ret, struct error *e, const char *statement, const char *types,
                   va_list args)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db, statement, -1, &s, NULL);
    if (rc == SQLITE_OK)
        rc = bind_all(s, types, args);
    if (rc != SQLITE_OK) {
        int r = sql_error(db, rc, statement, e);
        sqlite3_finalize(s);
        return r;
    }
    *ret = s;
    return 0;
}

int sql_query(sqlite3 *db, sqlite3_stmt **ret, struct error *e, const char *statement, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    int r = prepare(db, ret, e, statement, types, args);
    va_end(args);
    return r;
}

int sql_run(sqlite3 *db, struct error *e, const char *statement, const char *types, ...)
{
    _cleanup_(sql_finalizep) sqlite3_stmt *s = NULL;
    va_list args;
    va_start(args, types);
    int r = prepare(db, &s, e, statement, types, args);
    va_end(args);
    return r < 0 ? r : sql_step(s, e);
}

int sql_step(sqlite3_stmt *s, struct error *e)
{
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        return 1;
    return rc == SQLITE_DONE ? 0 : sql_error(sqlite3_db_handle(s), rc, sqlite3_sql(s), e);
}

void sql_finalizep(sqlite3_stmt **s)
{
    sqlite3_finalize(*s);
}

int sql_blob(sqlite3_stmt *s, int column, void *to, size_t n, struct error *e)
{
    const void *p = sqlite3_column_blob(s, column);
    if (!p || (size_t)sqlite3_column_bytes(s, column) != n)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "column %s holds %d bytes, not %zu",
                         sqlite3_column_name(s, column), sqlite3_column_bytes(s, column), n);
    memcpy(to, p, n);
    return 0;
}

char *sql_text(sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    return text ? mem_strdup(text) : NULL;
}

int sql_begin(sqlite3 *db, struct error *e)
{
    return sql_script(db, "BEGIN IMMEDIATE", e);
}

int sql_end(sqlite3 *db, int r, struct error *e)
{
    if (r == 0)
        r = sql_script(db, "COMMIT", e);
    if (r < 0)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return r;
}
