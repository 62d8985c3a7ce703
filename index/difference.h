/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * difference - changes as people read them: one letter and one path each, in the tree's order.
 *
 *     A  only the working tree has it        D  only the base has it
 *     M  content or attributes differ        T  it is of another type
 *     R  it was moved here, and is gone from where it was (which is then no D of its own)
 *
 * A moved directory is one R; what lies in it unchanged is not told. A directory that differs in its mtime alone is
 * told only where nothing else is, with a letter of its own: it says that something in it changed, which is told, or
 * was changed back. Another name of a file counts as what the file is. Where all but the content is known to be equal,
 * the file is read and its hashes compared (index/content). Memory is that of the paths told. One thread.
 */

#include "index/change.h"
#include "index/source.h"
#include "index/tree.h"

struct difference;

#define DIFFERENCE_TIME 'm'

/* source: of base; key: the store's content key. */
struct difference *difference_new(struct tree *base, struct source *source, const struct hash_key *key);
/* Asked before each change, and between pieces of a file that is read. */
void difference_ask(struct difference *d, int (*check)(void *arg, struct error *e), void *arg);
void difference_free(struct difference *d); /* NULL is fine */
void difference_freep(struct difference **d);
int difference_change(void *difference, const struct change *c, struct error *e); /* a change_each */
/* After the last change. path is NUL-terminated and as in the tree: "project/src/main.c". */
int difference_tell(struct difference *d, int (*tell)(void *arg, char letter, const char *path, struct error *e),
                    void *arg, struct error *e);
