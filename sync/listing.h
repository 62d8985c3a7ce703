/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * listing - one page of ListObjectsV2 (expat). The XML comes from outside: document types, and with them entities, are
 * refused; depth, text and the number of entries are bounded. A page that is cut off, says nothing of IsTruncated, or
 * goes on without a token is damage, never a shorter list.
 */

#include "index/base/buf.h"
#include "index/base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define LISTING_XML_MAX (8u << 20)
#define LISTING_TEXT_MAX 2048 /* of a key or token; S3 keys have at most 1024 bytes */
#define LISTING_COUNT_MAX 10000

struct listing_entry {
    char *key; /* owned */
    uint64_t size;
    int64_t modified_ns;
};

struct listing {
    struct listing_entry *entries;
    size_t count, room;
    char **prefixes; /* CommonPrefixes: what a list with a delimiter puts together; owned */
    size_t prefix_count, prefix_room;
    char *token; /* of the next page; NULL: this is the last */
};

void listing_release(struct listing *l);
/* -EBADMSG ERROR_DAMAGED. ret is to be released by the caller. */
int listing_parse(struct bytes xml, struct listing *ret, struct error *e);
