/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * flake - the tools of a box whose setting `nix` is true: the environment that nix makes of the flake FLAKE_PLACE on
 * this node. The same flake.nix and flake.lock make the same tools on every node.
 *
 *     $AGBOX_STATE_DIR/box/NAME/flake -> /nix/store/…     what the box has its tools from
 *
 * The link is a root of nix's garbage collector. It is there as long as the box is up here, and changes only while the
 * box is stopped. Whatever fails, the box starts: with the tools that the link leads to, else with this node's own.
 */

#include "cli/stack.h"
#include "index/meta.h"

#define FLAKE_PLACE "/etc/base-flake"
#define FLAKE_FEATURES "nix-command flakes"
#define FLAKE_BUILD "nix --extra-experimental-features '" FLAKE_FEATURES "' build path:" FLAKE_PLACE /* for people */

/* What there must be before anything can be made: nix, and a flake. -ENOENT ERROR_USAGE, with a hint. ret_nix: the
 * program's path, malloc'd; may be NULL. */
int flake_check(char **ret_nix, struct error *e);

/*
 * Before the box starts, with its meta. Without `nix` in it the link goes; else nix is asked, for at most ten minutes,
 * and what fails is a warning, as are tools that are others than those of the box's last snapshot. -EINTR
 * ERROR_INTERRUPTED: Ctrl-C meanwhile; of a command that was interrupted before, the link stays as it is.
 */
int flake_make(struct stack *s, const struct meta *m, struct error *e);
/* Which tools the box has from nix, into the meta of a snapshot; none: what was said stays. */
void flake_record(const struct stack *s, struct meta *m);
/* The directory in nix's store whose bin/ holds the box's tools, malloc'd; NULL: it has this node's own. */
char *flake_tools(const struct config *c, const char *name);
/* The box is up here no more: nix may collect its tools. */
void flake_leave(const struct stack *s);
