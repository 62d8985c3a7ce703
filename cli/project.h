/* SPDX-License-Identifier: MIT */
#pragma once

/* project - may a path be a box's? The rules that track and up ask before anything is made (interface.md, design T1,
 * T3). */

#include "cli/stack.h"

/*
 * The directory for `track`: absolute, symlinks resolved, malloc'd. Refused (ERROR_USAGE, with the reason): missing,
 * not a directory, the closed mount point of a parked box, a mount point, mounts below it, one of our own directories
 * or store, or above or below one.
 */
int project_resolve(struct stack *s, const char *dir, char **ret, struct error *e);
/* A directory outside of the project that git needs for it: what its .git leads to, or where it borrows objects.
 * Malloc'd, links resolved; NULL: none. */
char *project_git_outside(const char *project);
/* -EINVAL ERROR_USAGE: path is the system's (/usr, /etc, ...), or one of our own directories (state, configuration,
 * run, a store that is one), or above or below one. It need not exist. */
int project_refuse_own(struct stack *s, const char *path, struct error *e);
/* -EEXIST ERROR_BUSY: path, or something above or below it, is in use by another box on this node, which is named. */
int project_claim(struct stack *s, const char *path, struct error *e);
/* Calls each for every box that has a directory here, in order of names. */
int project_each_box(struct stack *s, int (*each)(void *arg, const char *name, struct error *e), void *arg,
                     struct error *e);
/* HOME of the box, made for `track`: box/NAME/home with its mount points (sandbox/points). */
int project_make_home(struct stack *s, const char *path, struct error *e);
