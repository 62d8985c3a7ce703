/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * digest - one SHA-256 over everything a directory tree is: the oracle of the tests, and of `ag-box digest`.
 *
 * It shares no code with the walkers that make snapshots. What is hashed is a text, one line an entry, ending in '\n',
 * the root first, then all entries in the bytewise order of their paths:
 *
 *     <path> directory <mode> <uid> <gid> <mtime>
 *     <path> file <mode> <uid> <gid> <mtime> <size> <SHA-256 of the content>
 *     <path> symlink <mode> <uid> <gid> <mtime> <target>
 *     <path> fifo <mode> <uid> <gid> <mtime>
 *     <path> character|block <mode> <uid> <gid> <mtime> <major>:<minor>
 *     <path> link <first path of the same inode in this order>
 *
 * and behind each line but "link", for every extended attribute in the bytewise order of their names (ACLs are there as
 * system.posix_acl_*; trusted.overlay.* is the overlay's own, trusted.SGI_ACL_* are XFS's form of ACLs: left out):
 *
 *     <space><name>=<value in lower-case hex>
 *
 * Fields are separated by one space. The root's path is ".", others are relative to it. In paths, targets and attribute
 * names every byte outside '!' to '~', and the backslash, is written \xNN. <mode> is four octal digits (07777), <mtime>
 * is seconds since 1970 (may be negative), '.', nine digits of nanoseconds. Not in it: ino, ctime, atime, allocation (a
 * hole is zeros), link counts, sockets, excluded entries with what lies below them, and `.auth-secret` with all its
 * other names inside the tree, wherever they stand.
 *
 * Works at any depth (paths may be longer than PATH_MAX) with a handful of descriptors; memory grows with the names of
 * the directories on the way down, the files of several names, and the paths. A tree that changes meanwhile gives an
 * error or the digest of a state that never was. Safe from any thread; a dump needs its FILE to itself.
 */

#include "index/base/error.h"
#include "index/exclude.h"

#include <stdint.h>
#include <stdio.h>

struct digest {
    uint8_t sha256[32];
    uint64_t entries; /* lines, the root's included */
    uint64_t bytes;   /* of content that was read, holes included */
    uint64_t sockets; /* left out */
};

/* path may be a symbolic link to a directory. x may be NULL; so may dump, which otherwise gets the text. */
int digest_directory(const char *path, const struct exclude *x, FILE *dump, struct digest *ret, struct error *e);
void digest_text(const struct digest *d, char to[65]);
