/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * copy - an entry with all it has (rule F4) from one directory tree to another, made safe before it is called copied.
 *
 * Content with its holes is written, fsynced, and read again from both sides; owner, mode, xattrs (never
 * trusted.overlay.*) and times follow, a directory's own last. Sockets and whiteouts are passed over. Names of one
 * inode stay one, within everything one struct copy copies. Both trees are reached with openat2 beneath their roots
 * (rule T5), with few descriptors at any depth (index/reach). The entry comes into being in the directory
 * COPY_TEMPORARY beside its place and is renamed when it is complete, so after a crash it is there whole or not at all;
 * what a crash left under that name is removed first. One thread.
 */

#include "index/entry.h"
#include "index/reach.h"

#define COPY_TEMPORARY ".agbox-copying"

struct copy;

/* Both descriptors are borrowed. */
struct copy *copy_new(int from, int to);
void copy_free(struct copy *c); /* NULL is fine */
void copy_freep(struct copy **c);
/* Asked between pieces of a file: negative ends the copy, with what it set. */
void copy_ask(struct copy *c, int (*check)(void *arg, struct error *e), void *arg);

/*
 * from and to are paths beneath the two roots. -EEXIST: something is at `to` (no error text is set). -ENOENT, -ENOTDIR,
 * -ELOOP from the directory of `to` come as they are. The directory of `to` keeps its times, after a kill, too (but one
 * between a change in it and the system call that follows, which sets them back); it is fsynced.
 */
int copy_entry(struct copy *c, const char *from, const char *to, struct error *e);

/* Whether two files hold the same bytes. */
int copy_same_content(int a_directory, const char *a, int b_directory, const char *b, bool *ret, struct error *e);
/* Whether two entries are alike: type, attributes, xattrs, content; of directories their own attributes alone. */
int copy_alike(int a_directory, const char *a, int b_directory, const char *b, bool *ret, struct error *e);
