/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * hold - box/<name>/hold/<state>-<rand>: "this snapshot is in use here" (rule S2). Packs lie under the writer that a
 * hold names.
 */

#include "index/snapshot.h"
#include "sync/node.h"
#include "sync/seal.h"

void hold_new_writer(const struct node *n, struct writer *ret);
int hold_put(struct store *s, const struct seal_context *c, const struct writer *w, const struct node *n,
             const struct snapshot_id *snapshot, struct error *e);
int hold_remove(struct store *s, const char *box, const struct writer *w, struct error *e); /* absent: 0 */
