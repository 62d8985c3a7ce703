/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * exclude - which entries stay out of snapshots (rule T4): gitignore(5) syntax, `.auth-secret`, and the agents'
 * credentials.
 *
 * Rules and paths are bytes. The last rule that matches decides; "!" takes an exclusion back, a trailing "/" means
 * directories only, a "/" elsewhere anchors to the root, "*", "?", "[…]" and "**" as in gitignore(5); a rule that git
 * would ignore (blank, a comment, an unclosed bracket) matches nothing. What lies below an excluded directory is
 * excluded with it, whatever later rules say. An entry named `.auth-secret` is excluded at any depth, rules or not;
 * its other hard links are the walker's matter. So are credentials, which lie at fixed places in a box's HOME: rules
 * know no roots, but that "home:" before one makes it HOME's, and none of the project's. Immutable once made, so safe
 * from any thread; NULL is "no rules". Matching a path takes time in proportion to its length times the rules' lengths,
 * never more.
 */

#include "index/base/buf.h"
#include "index/base/error.h"

#include <stdbool.h>

#define EXCLUDE_AUTH_SECRET ".auth-secret"
#define EXCLUDE_RULES_MAX 1000
#define EXCLUDE_RULE_MAX 1024 /* bytes of one rule */

struct exclude;

/* ERROR_USAGE: too many rules, or one that is too long or holds NUL or newline. Rules are copied. */
int exclude_new(const struct bytes *rules, size_t count, struct exclude **ret, struct error *e);
void exclude_free(struct exclude *x);
/* The rules of HOME, without that word: a part of x. */
const struct exclude *exclude_home(const struct exclude *x);

/* Whether the entry at path ("src/main.o", relative, no "." or "..") is excluded, given that no directory above it is:
 * for walkers, which never go into an excluded directory. */
bool exclude_entry(const struct exclude *x, struct bytes path, bool directory);
/* Whether the entry or any directory above it is. */
bool exclude_path(const struct exclude *x, struct bytes path, bool directory);

/*
 * Whether no name of the file may enter a snapshot, whatever rules say: it is named `.auth-secret`, or is a credential:
 * in home/.claude, home/.codex or home/.grok, with `.credentials.json` or `auth.json` in its name. So backups and the
 * temporary files that are renamed over it are, too. path ("home/.codex/auth.json") starts with its root.
 */
bool exclude_secret(struct bytes path);

/*
 * Whether path is that of a copy that was not finished (index/copy), as a killed `up` leaves one of what it lays back.
 * No tree has an entry for it, nor does the stash get it: the whole is where it was copied from.
 */
bool exclude_cut_off(const char *path);

/*
 * Whether the symbolic link at path is one that each start of a box places in its HOME, to what the box is shown of its
 * host (sandbox/points): the node's, not the box's, so no tree has an entry for it. target: the link's.
 */
bool exclude_placed(const char *path, const char *target);
