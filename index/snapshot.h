/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * snapshot - the sealed root object of one snapshot, box/<name>/snap/<id> (rules T1, F2): immutable, names its parent.
 *
 * Holds the box's meta, the tree's root and, inlined, the pages from the root down to the first own entries of project/
 * and home/, so that a mount needs one object before its first page. Encoding in FORMAT.md. Owns its pointers.
 */

#include "index/tree.h"

#define SNAPSHOT_ID_LEN  16
#define SNAPSHOT_ID_TEXT (2 * SNAPSHOT_ID_LEN + 1)
#define SNAPSHOT_MAX     (8u * 1024 * 1024) /* bytes of the object, opened */
#define SNAPSHOT_META_MAX (1u * 1024 * 1024)

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

struct snapshot {
    struct snapshot_id id, parent;
    uint8_t incarnation[16]; /* of the box: a dropped and recreated box has another */
    char box[64], node[64];
    uint64_t epoch;          /* of the lease it was written under */
    int64_t time_ns;         /* wall clock of the writing node, for people */
    uint64_t files, directories, bytes; /* of the whole tree: names of files, directories, sum of sizes (each inode once) */
    uint64_t skipped_sockets;
    bool one_instant;        /* false: files were read while others could write (rule V1) */
    char *meta;              /* JSON text, unknown keys kept (index/meta) */
    struct tree_root root;
    struct snapshot_page *pages;
    size_t page_count;
    struct snapshot_pack *packs; /* metadata packs, newest first, at most SNAPSHOT_PACKS_MAX */
    size_t pack_count;
    struct locator *links, *access; /* NULL: none */
};
#define SNAPSHOT_PACKS_MAX 64

void snapshot_release(struct snapshot *s);
void snapshot_releasep(struct snapshot *s);
void snapshot_encode(const struct snapshot *s, struct buf *to);
int snapshot_decode(struct bytes b, struct snapshot *ret, struct error *e); /* -EBADMSG ERROR_DAMAGED */
void snapshot_id_text(const struct snapshot_id *id, char to[SNAPSHOT_ID_TEXT]);
bool snapshot_id_none(const struct snapshot_id *id);

/* A source that answers the snapshot's inlined pages itself and passes everything else on. The snapshot must outlive it. */
struct snapshot_source;
int snapshot_source_new(const struct snapshot *s, struct source *below, struct snapshot_source **ret, struct error *e);
struct source *snapshot_source_get(struct snapshot_source *s);
void snapshot_source_free(struct snapshot_source *s);

/* Link groups (FRAME_LINKS): for each inode with several names, all its paths in key order, first name first. */
struct link_group {
    char **paths;
    size_t count;
};
void links_encode(const struct link_group *g, size_t count, struct buf *to);
int links_decode(struct bytes b, struct link_group **ret, size_t *ret_count, struct error *e);
void links_free(struct link_group *g, size_t count);
