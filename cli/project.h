/* SPDX-License-Identifier: MIT */
#pragma once

/* project - may a path be a box's? The rules that track and up ask before anything is made (interface.md, design T1,
 * T3). */

#include "cli/stack.h"

/*
 * The directory for `track`: absolute, symlinks resolved, malloc'd. Refused (ERROR_USAGE, with the reason): missing,
 * not a directory, a mount point, mounts below it, one of our own directories or store, or above or below one.
 */
int project_resolve(struct stack *s, const char *dir, char **ret, struct error *e);
/* The directory that the project's .git only leads to, where that is none of the project's: malloc'd, else NULL. Without
 * links in it, as far as it is there; `..` stays where it is not. */
char *project_git_outside(const char *project);
/* -EINVAL ERROR_USAGE: path is one of our own directories (state, configuration, run, a store that is one), or above or
 * below one. It need not exist. */
int project_refuse_own(struct stack *s, const char *path, struct error *e);
/* -EEXIST ERROR_BUSY: path, or something above or below it, is in use by another box on this node, which is named. */
int project_claim(struct stack *s, const char *path, struct error *e);
/* Calls each for every box that has a directory here, in order of names. */
int project_each_box(struct stack *s, int (*each)(void *arg, const char *name, struct error *e), void *arg,
                     struct error *e);
/* HOME of the box, made for `track`: box/NAME/home with its mount points (sandbox/points). */
int project_make_home(struct stack *s, const char *path, struct error *e);
