/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * fields - the small JSON objects of the store (heads, holds, forks): every value is bounded and checked where it is
 * read.
 *
 * Readers return 0, or -1 for a value that is absent, of another type, or out of bounds; the caller makes one error of
 * it.
 */

#include "index/base/buf.h"
#include "index/base/error.h"

#include <jansson.h>

#define FIELDS_NUMBER_MAX ((1ull << 53) - 1) /* what every JSON reader keeps exactly */

/* An object with a version `v` from 1 to version. -EBADMSG ERROR_DAMAGED · -ENOTSUP ERROR_USAGE: newer. json_decref it.
 */
int fields_open(struct bytes json, unsigned version, const char *what, json_t **ret, struct error *e);

int fields_text(const json_t *o, const char *key, char *to, size_t room); /* no NUL inside */
int fields_name(const json_t *o, const char *key, char to[64]);           /* a box or node name */
int fields_hex(const json_t *o, const char *key, void *to, size_t n);     /* exactly 2n lower-case digits */
int fields_number(const json_t *o, const char *key, uint64_t max, uint64_t *ret);
json_t *fields_put_hex(const void *p, size_t n); /* n <= 32 */
/* The text of o, without spaces, keys sorted; takes the reference. */
void fields_write(json_t *o, struct buf *to);
