/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * place - where the things of a box lie on this node. Every function returns a malloc'd absolute path.
 *
 *     $AGBOX_STATE_DIR/box/NAME/journal.db, command, head    journal and locks
 *                              /dropped                      an empty mark: see stack_mark
 *                              /listed                       snapshots and forks, for completion
 *                              /base                         the sealed snapshot object of the mounted base
 *                              /<upper>/{upper,work}         the overlay's layers
 *                              /stash                        excluded entries between park and up
 *                              /access                       first touches of the running session
 *                              /flake                        tools that nix has made (cli/flake)
 *     $AGBOX_STATE_DIR/globals/...                           of TEXT_GLOBALS: see cli/globals.h
 *     $AGBOX_STATE_DIR/keys/HASH/config, key                of the store: its config as last seen, the unwrapped key
 *     $AGBOX_RUN_DIR/NAME/lower, tree, socket                mounts of the lower and the overlay, the daemon's socket
 *                        /touched                            what this session touched first (fusefs/touches)
 */

#include "cli/config.h"

char *place_box(const struct config *c, const char *name);
char *place_in_box(const struct config *c, const char *name, const char *what);
char *place_run(const struct config *c, const char *name);
char *place_in_run(const struct config *c, const char *name, const char *what);
/* PARENT/.NAME.agbox-<id> of a project's path, NAME cut to what a name may have (rules T2, T3). */
char *place_aside(const char *path, const char *id);
/* One directory a store, so that a changed BOX_STORE does not meet another store's key. */
char *place_keys(const struct config *c);
