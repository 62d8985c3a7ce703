/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * config - this node's settings: $AGBOX_CONFIG_DIR/env under the process environment, and the three directories.
 *
 * The env file holds KEY=VALUE lines: # comments, quotes literal, no expansion. An unknown key or a bad value is an
 * error that names file and line. Files that others can read or write are refused (they hold secrets). Values from the
 * process environment win. Strings live as long as the config.
 */

#include "index/base/buf.h"
#include "index/base/error.h"
#include "sync/store.h"

#include <stdbool.h>
#include <stdint.h>

struct config {
    char *config_dir, *state_dir, *run_dir;
    bool default_dirs; /* all three are the built-in ones */
    char *node;        /* BOX_NODE, or the host name */
    char *store;       /* BOX_STORE, or s3://$BOX_BUCKET; NULL: not configured */
    char *password;    /* BOX_PASSWORD, else RESTIC_PASSWORD; NULL */
    char *restic_password;
    char *endpoint, *region, *access_key, *secret_key, *bucket, *globals_role;
    uint64_t memory_max, cache_max; /* bytes; 0: default (cache: 20 GiB) */
    bool insecure; /* plain http to an endpoint elsewhere */
    bool hydrate;
    uint64_t fetch_timeout_s; /* 0: none */
    uint64_t lease_ttl_s;
};

const char *config_home(void); /* of the user that runs us: $HOME, or /root where that says nothing */
int config_load(struct config **ret, struct error *e);
void config_free(struct config *c);
/* A file of the configuration directory, whole; absent: no bytes. ERROR_USAGE: others can read or write it, it is too
 * long, or holds a NUL. */
int config_read(const char *directory, const char *name, struct buf *ret, struct error *e);
/* -EINVAL ERROR_USAGE when a setting that every store needs is missing; the hint says where to put it. */
int config_store(const struct config *c, struct store_config *ret, struct error *e);
