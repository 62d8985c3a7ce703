/* SPDX-License-Identifier: MIT */
#pragma once

/* text - small conversions between bytes and what people read. Pure functions; no errors but -EINVAL / -ERANGE. */

#include "index/base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

void text_hex(char *to, const void *p, size_t n);               /* 2n lower-case digits and a NUL */
int text_unhex(const char *s, size_t len, void *to, size_t n);  /* exactly 2n digits, lower case only */
int text_parse_u64(const char *s, uint64_t max, uint64_t *ret); /* decimal digits only, whole string */
int text_parse_size(const char *s, uint64_t *ret);              /* 123, 4K, 1500M, 2G, 1T (powers of 1024) */
int text_parse_duration(const char *s, uint64_t *ret_seconds);  /* 90, 90s, 15m, 2h, 7d */
void text_time(char to[32], int64_t unix_ns);                   /* RFC 3339 UTC, whole seconds: 2026-07-16T08:00:00Z */
int64_t text_parse_time(const char *s);      /* the same, with fractions or +00:00: ns since 1970; or -1 */
void text_size(char to[16], uint64_t bytes); /* 17B, 1.2K, 3.4M … at most four digits and a unit */
/* "1 file", "2 files", "0 boxes", "3 directories": to, which TEXT_COUNT makes in the caller's block. */
const char *text_count(char to[64], uint64_t n, const char *noun);
#define TEXT_COUNT(n, noun) text_count((char[64]){ 0 }, n, noun)
void text_duration(char to[16], uint64_t ms); /* 12 ms, 1.34 s, 2 min 5 s */
bool text_is_utf8(const void *p, size_t n);
void text_escape(struct buf *to, const void *p, size_t n); /* C escapes for control bytes and non-UTF-8: \n, \xff */
/* s for a shell: as it is if nothing in it means anything there, else in single quotes. Malloc'd. */
char *text_word(const char *s);
bool text_is_name(const char *s); /* a box or node name as interface.md has it */
#define TEXT_GLOBALS "globals"    /* what stands for a box's name where the users' configuration is kept (FORMAT.md) */
bool text_is_box(const char *s);  /* a box's name, or TEXT_GLOBALS */
int text_base64(const void *p, size_t n, struct buf *to);
