/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * snapshot - the sealed root object of one snapshot, box/<name>/snap/<id> (rules T1, F2): immutable, names its parent.
 *
 * Holds the box's meta, the tree's root and, inlined, the pages from the root down to the first own entries of project/
 * and home/, so that a mount needs one object before its first page (index/inline). Encoding in FORMAT.md. Owns its
 * pointers.
 */

#include "index/links.h"
#include "index/tree.h"

#define SNAPSHOT_ID_LEN 16
#define SNAPSHOT_ID_TEXT (2 * SNAPSHOT_ID_LEN + 1)
#define SNAPSHOT_MAX (8u * 1024 * 1024) /* bytes of the object, opened */
#define SNAPSHOT_META_MAX (1u * 1024 * 1024)
#define SNAPSHOT_INLINE_MAX (2u * 1024 * 1024) /* bytes of all inlined pages */
#define SNAPSHOT_PAGES_MAX 64
#define SNAPSHOT_PACKS_MAX 64
#define SNAPSHOT_FRAMES_MAX 64 /* frames of links, and of access */

struct snapshot_id {
    uint8_t b[SNAPSHOT_ID_LEN]; /* all zero: none */
};

struct snapshot_page { /* an inlined page: what the source would answer for frame */
    struct locator frame;
    struct buf bytes;
};

struct snapshot_pack { /* a pack that holds metadata of this tree */
    struct pack_name name;
    uint32_t size;
};

struct snapshot_frames { /* a string of bytes cut into frames (source_join); count 0: none */
    struct locator *frames;
    size_t count;
};

struct snapshot {
    struct snapshot_id id, parent;
    uint8_t incarnation[16]; /* of the box: a dropped and recreated box has another */
    char box[64], node[64];
    uint64_t epoch;                     /* of the lease it was written under */
    int64_t time_ns;                    /* wall clock of the writing node, for people */
    uint64_t files, directories, bytes; /* of the whole tree: names of files, directories; sizes, each inode once */
    uint64_t skipped_sockets;
    bool one_instant; /* false: files were read while others could write (rule V1) */
    char *meta;       /* JSON text, unknown keys kept (index/meta) */
    struct tree_root root;
    struct snapshot_page *pages;
    size_t page_count;
    struct snapshot_pack *packs; /* metadata packs, newest first, at most SNAPSHOT_PACKS_MAX */
    size_t pack_count;
    struct snapshot_frames links;  /* of index/links */
    struct snapshot_frames access; /* of index/access */
};

void snapshot_release(struct snapshot *s);
void snapshot_releasep(struct snapshot *s);
void snapshot_pages_free(struct snapshot_page *pages, size_t count);
/* box and node are names, meta is set, counts are within their limits; whoever stores it bounds the whole to
 * SNAPSHOT_MAX. */
void snapshot_encode(const struct snapshot *s, struct buf *to);
/* -EBADMSG ERROR_DAMAGED; -ENOTSUP ERROR_USAGE: written by a newer version. */
int snapshot_decode(struct bytes b, struct snapshot *ret, struct error *e);
void snapshot_id_text(const struct snapshot_id *id, char to[SNAPSHOT_ID_TEXT]);
bool snapshot_id_none(const struct snapshot_id *id);
bool snapshot_id_equal(const struct snapshot_id *a, const struct snapshot_id *b);
