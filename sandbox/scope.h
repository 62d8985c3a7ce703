/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * scope - abstract unix sockets of others are out of reach: they have no file that could be hidden, and a box shares
 * the host's network (Landlock, linux/landlock.h).
 */

/*
 * The calling process, which is privileged, and all its children from here on. Among themselves they go on using such
 * sockets, and others reach theirs. Nothing else is restricted. 0 also where the kernel cannot do it: before Linux
 * 6.12, or without Landlock; -errno. It may be a forked process: no memory is allocated.
 */
int scope_enter(void);
