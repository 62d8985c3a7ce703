/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * copies - the directory that a box sees read-only at /run/box/etc: what it needs of the user's configuration, as files
 * of its own, so that nothing of the host is bound that programs replace by rename.
 *
 *     empty                 what is shown over hidden files
 *     gitconfig.user        ~/.gitconfig
 *     tmux.conf             a status line that says where one is
 *     claude/CLAUDE.md, claude/settings.json
 *
 * And in its /etc (sandbox/etc) gitconfig, and a file in profile.d (sandbox/environment; none where that is a link).
 * gitconfig includes the host's (gitconfig.host beside it) and the user's, and says between them what an overlay needs
 * (rule O9), that it does not matter who owns a repository, and that worktrees which are not seen are not gone. Links
 * are not followed: they lead to the host's.
 *
 * /etc's shadow has a line for each user, and no password. No secrets are among them. Files that the host has not are
 * not there, nor is what is no file there. Each file is replaced whole.
 */

#include "sandbox/environment.h"
#include "sandbox/host.h"

#define COPIES_NAME "copies"

/* In the box's RUN, after etc_make. */
int copies_make(int run, const struct host *h, const struct environment *c, struct error *e);
