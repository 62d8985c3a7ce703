/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * entry - everything a file has (rule F4), as one record of the search tree.
 *
 * An inode with several names is a full record at its first name (in key order); at every other name stands ENTRY_LINK
 * with the first name's path as target. Content is a list of extents in rising, non-overlapping order; gaps up to
 * `size` are holes. More than ENTRY_EXTENTS_INLINE extents go into frames of their own (FRAME_EXTENTS), named by
 * `list`. ino is an attribute below 2^32, unique among the inodes of a snapshot (rule O9); ENTRY_LINK records have
 * none. An entry owns its pointers (entry_release); entry_decode bounds every count before it allocates.
 */

#include "index/extent.h"

#include <stdbool.h>

#define ENTRY_EXTENTS_INLINE 8
#define ENTRY_XATTRS_MAX 256                           /* per file */
#define ENTRY_XATTR_SIZE_MAX (64u * 1024)              /* the kernel's XATTR_SIZE_MAX */
#define ENTRY_EXTENTS_MAX (1u << 24)                   /* per file */
#define ENTRY_LIST_MAX 4096                            /* frames of one file's list */
#define ENTRY_RECORD_MAX (FRAME_RAW_MAX - 512u * 1024) /* encoded bytes; the rest is room for its page's own */

enum entry_type {
    ENTRY_FILE = 1,
    ENTRY_DIRECTORY,
    ENTRY_SYMLINK,
    ENTRY_FIFO,
    ENTRY_CHARACTER, /* never 0:0: that is the overlay's whiteout (rule O6) */
    ENTRY_BLOCK,
    ENTRY_LINK, /* another name of the inode whose first name is target */
};

struct xattr {
    char *name; /* NUL-terminated, at most 255 bytes; never trusted.overlay.* */
    void *value;
    size_t len;
};

struct entry {
    enum entry_type type;
    uint32_t mode; /* 07777 bits */
    uint32_t uid, gid;
    uint32_t ino;
    int64_t mtime_ns, ctime_ns; /* since 1970 */
    uint64_t size;              /* of a file; of a symlink its target's length */
    uint32_t major, minor;      /* of a device */
    char *target;               /* symlink's target or ENTRY_LINK's first name; NUL-terminated, <= PATH_LEN_MAX */
    struct xattr *xattrs;       /* sorted by name; ACLs are here as system.posix_acl_* */
    size_t xattr_count;
    struct extent *extents; /* when list_count is 0 */
    size_t extent_count;
    struct locator *list; /* frames of FRAME_EXTENTS, in order */
    size_t list_count;
};

void entry_release(struct entry *n); /* frees what it owns and zeroes it */
void entry_copy(const struct entry *from, struct entry *to);

/*
 * Appends the record's bytes. `index` gives a pack's place in the table of packs around it (index/packtable). Of an
 * ENTRY_LINK only type and target are kept; a symlink's size is its target's length. The caller refuses what may be
 * more than ENTRY_RECORD_MAX.
 */
typedef uint64_t (*entry_pack_index)(void *arg, const struct pack_name *p);
void entry_encode(const struct entry *n, entry_pack_index index, void *arg, struct buf *to);
/* Reads one record; anything implausible makes w bad and leaves an entry that entry_release can take. */
void entry_decode(struct wire *w, const struct pack_name *packs, size_t pack_count, struct entry *ret);

size_t entry_size_bound(const struct entry *n); /* entry_encode and the table's new packs take at most this */

/* The record with its own table of packs in front: to keep one outside a page. Equal bytes: equal in everything. */
void entry_pack(const struct entry *n, struct buf *to);
int entry_unpack(struct bytes b, struct entry *ret, struct error *e); /* -EBADMSG ERROR_DAMAGED */

/* Same inode attributes, xattrs and content (by extent hashes and places; locators may differ; ino and ctime do not
 * count). */
bool entry_same(const struct entry *a, const struct entry *b);
/* Extended attributes that are another file system's own: trusted.overlay.*, and what XFS lists beside the
 * system.posix_acl_* of which it is another form. What an earlier version recorded of the latter is shown to nobody. */
bool entry_xattr_left_out(const char *name);
uint32_t entry_mode_type(const struct entry *n); /* S_IFREG … for stat; ENTRY_LINK: 0 */
