/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * sql - sqlite with our errors: values are bound and read by a word of types, so that a statement is one line.
 *
 * Types: i int64_t · b pointer and size_t (a blob; a NULL pointer binds NULL) · t const char * (text or NULL). Blobs
 * and texts are copied. A database that sqlite calls corrupt is -EBADMSG ERROR_DAMAGED; one that stays locked for 10 s
 * -EBUSY ERROR_BUSY; all else ERROR_FAILED, with the system's code where sqlite tells it. Handles are
 * opened in sqlite's serialized mode: single sql_run calls are safe from many threads.
 */

#include "index/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

/* WAL; full: each commit is durable (synchronous=FULL), else consistent but perhaps older after a power cut (NORMAL).
 */
int sql_open(const char *path, bool full, sqlite3 **ret, struct error *e);
/*
 * Of a handle that was just opened: a full disk is SQLITE_FULL where it would be SIGBUS. sqlite writes to the index of
 * its log through a mapping of a file with holes, where the file system's blocks are smaller than its pages of 4 KiB.
 */
void sql_guard(sqlite3 *db);
void sql_close(sqlite3 *db); /* NULL is fine */
int sql_error(sqlite3 *db, int rc, const char *what, struct error *e);

/* All statements of a script, without values. */
int sql_script(sqlite3 *db, const char *script, struct error *e);
int sql_run(sqlite3 *db, struct error *e, const char *statement, const char *types, ...);
int sql_query(sqlite3 *db, sqlite3_stmt **ret, struct error *e, const char *statement, const char *types, ...);
int sql_step(sqlite3_stmt *s, struct error *e); /* 1: a row · 0: no more · -errno */
void sql_finalizep(sqlite3_stmt **s);

/* A blob column of exactly n bytes; anything else is -EBADMSG ERROR_DAMAGED. */
int sql_blob(sqlite3_stmt *s, int column, void *to, size_t n, struct error *e);
char *sql_text(sqlite3_stmt *s, int column); /* a copy; NULL for NULL */

int sql_begin(sqlite3 *db, struct error *e); /* takes the write lock at once */
/* Ends the transaction: COMMIT when r is 0, otherwise ROLLBACK. Returns r, or COMMIT's failure. */
int sql_end(sqlite3 *db, int r, struct error *e);
