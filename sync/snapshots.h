/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * snapshots - the snapshot objects of a box in the store, box/<name>/snap/<id>, sealed, and their names.
 *
 * The sealed bytes may also be kept as a local file (the mounted base's): snapshots_open reads those.
 */

#include "index/snapshot.h"
#include "sync/seal.h"

void snapshots_key(const char *box, const struct snapshot_id *id, char to[STORE_KEY_MAX]);
void snapshots_new_id(struct snapshot_id *ret);                    /* random */
int snapshots_parse_id(const char *text, struct snapshot_id *ret); /* all 32 digits; -EINVAL */

void snapshots_seal(const struct snapshot *s, const struct seal_context *c, struct buf *ret);
/* -EBADMSG ERROR_DAMAGED also when the object is of another box or id than asked for. */
int snapshots_open(struct bytes sealed, const struct seal_context *c, const struct snapshot_id *id,
                   struct snapshot *ret, struct error *e);
/* GET of the sealed bytes; -ENOENT ERROR_UNKNOWN names the snapshot. */
int snapshots_fetch(struct store *s, const char *box, const struct snapshot_id *id, struct buf *ret, struct error *e);
int snapshots_get(struct store *s, const struct seal_context *c, const struct snapshot_id *id, struct snapshot *ret,
                  struct error *e);

/* All ids of the box with their sizes, in no useful order; ret is malloc'd. */
int snapshots_list(struct store *s, const char *box, struct snapshot_id **ret, size_t *ret_count, struct error *e);
/* A unique prefix of at least 8 hex digits. -ENOENT ERROR_UNKNOWN none, -EEXIST ERROR_USAGE several, -EINVAL
 * ERROR_USAGE. */
int snapshots_find(struct store *s, const char *box, const char *prefix, struct snapshot_id *ret, struct error *e);
