/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * attributes - what a walker sees of one name: the entry without its content, and what overlayfs wrote beside it.
 *
 * Reads with statx(2), llistxattr(2), lgetxattr(2) and readlinkat(2), never following a symbolic link, one component
 * below a directory that the caller holds open (rule T5). Kept are xattrs of user.* (user.overlay.* too), security.*,
 * trusted.* and system.posix_acl_*; trusted.overlay.* never becomes part of the entry (rule O6) but is read into the
 * fields below: Documentation/filesystems/overlayfs.rst, the forms without "userxattr".
 */

#include "index/entry.h"

struct attributes {
    struct entry entry; /* no content; ino 0 (index/census gives it); type 0 where no entry can be made of it */
    uint64_t device, inode, mount;
    uint32_t links;
    bool socket;   /* rule F4: skipped and counted */
    bool whiteout; /* character device 0:0, or an empty file with trusted.overlay.whiteout */
    bool opaque; /* trusted.overlay.opaque=y: nothing of the lower shows through ("x" only tells of whiteouts as xattrs)
                  */
    bool metacopy;  /* the data is the lower's */
    bool origin;    /* it was copied up: an inode of the lower's */
    char *redirect; /* trusted.overlay.redirect: "/from/the/root" or a name in the same lower directory; NULL: none */
};

/* name: one component, or "" for the directory itself. -ENOENT when it is gone. ret is the caller's to release. */
int attributes_read(int directory, const char *name, struct attributes *ret, struct error *e);
/* As above without xattrs and symbolic link targets: redirect, opaque, metacopy, origin and the xattr form of whiteouts
 * stay unset. */
int attributes_stat(int directory, const char *name, struct attributes *ret, struct error *e);
/* Opens the file that a is about, for reading (index/reach). -ENOENT ERROR_BUSY: another one has its name by now. */
int attributes_open(int directory, const char *name, const struct attributes *a, struct error *e);
void attributes_release(struct attributes *a);
