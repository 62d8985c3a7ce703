/* SPDX-License-Identifier: MIT */
#pragma once

/* list - ListObjectsV2: prefix, delimiter=/, start-after, max-keys, continuation-token, encoding-type=url,
 * fetch-owner. */

#include "tests/fault/objects.h"
#include "tests/fault/request.h"

/* page: most keys in one answer; 0: 1000 */
void list_handle(const struct objects *o, const struct request *q, const char *bucket, unsigned page, struct answer *a);
