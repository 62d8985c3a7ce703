/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * copies - the directory that a box sees read-only at /run/box/etc: what it needs of the host's configuration, as files
 * of its own, so that nothing of the host is bound that programs replace by rename.
 *
 *     empty                 what is shown over hidden files
 *     resolv/NAME           the host's resolver configuration, under the name that /etc/resolv.conf's link has
 *     gitconfig             git's system configuration: the host's (gitconfig.system), what an overlay needs (rule O9), and
 *                           the user's (gitconfig.user)
 *     tmux.conf             a status line that says where one is
 *     claude/CLAUDE.md, claude/settings.json
 *
 * No secrets are among them. Files that the host has not are not there. Each file is replaced whole.
 */

#include "sandbox/host.h"

/* In the directory etc, which is made if need be. */
int copies_make(const char *etc, const struct host *h, const char *name, const char *node, struct error *e);
