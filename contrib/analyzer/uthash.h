/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * uthash, as gcc's -fanalyzer is shown it (meson's option `analyze`): the same macros, each a call of which nothing is
 * known. The real ones are long enough to keep the analyzer busy for minutes a file, and to have it see leaks of what a
 * table holds. Nothing that is built with this is ever run.
 */

#include <stddef.h>

typedef struct UT_hash_handle {
    void *prev, *next;
} UT_hash_handle;

void *analyzer_table_find(const void *table, const void *key, size_t len);
void *analyzer_table_add(void *table, const void *key, void *added); /* the table then */
void *analyzer_table_delete(void *table, void *deleted);             /* the table then */
unsigned analyzer_table_count(const void *table);

#define HASH_FIND(hh, table, key, len, out) ((out) = analyzer_table_find(table, key, len))
#define HASH_FIND_STR(table, key, out) ((out) = analyzer_table_find(table, key, 0))
#define HASH_ADD(hh, table, field, len, added) ((table) = analyzer_table_add(table, &(added)->field, added))
#define HASH_ADD_KEYPTR(hh, table, key, len, added) ((table) = analyzer_table_add(table, key, added))
#define HASH_ADD_STR(table, field, added) ((table) = analyzer_table_add(table, (added)->field, added))
#define HASH_DEL(table, deleted) ((table) = analyzer_table_delete(table, deleted))
#define HASH_CLEAR(hh, table) ((table) = analyzer_table_delete(table, NULL))
#define HASH_COUNT(table) analyzer_table_count(table)
#define HASH_ITER(hh, table, at, after)                                                                                \
    for ((at) = (table), (after) = (at) ? (at)->hh.next : NULL; at;                                                    \
         (at) = (after), (after) = (at) ? (at)->hh.next : NULL)
