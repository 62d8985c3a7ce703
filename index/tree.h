/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * tree - the search tree of one snapshot, read page by page from a source (rule F1).
 *
 * A prolly tree: leaves hold entries in key order, cut by content; inner pages hold references to pages, each with the
 * number of entries below it, so that an entry is found by key or by position (0 … tree_count - 1) in one descent.
 * Positions are what FUSE node ids are made of (rule O5). The tree is immutable and safe from many threads; it keeps a
 * bounded LRU of decoded pages. Every page was authenticated by the source; its structure (order, counts, depth) is
 * checked here again, so that a hostile store cannot make us loop or run out of memory: -EBADMSG ERROR_DAMAGED, naming
 * the page by its pack and offset. No lock is held while a page is fetched or a callback runs.
 */

#include "index/page.h"

#define TREE_DEPTH_MAX PAGE_LEVEL_MAX

/* What a snapshot object says about its tree. */
struct tree_root {
    struct page_ref page;
    uint8_t depth; /* 0: the root is a leaf */
    bool empty;    /* no page at all */
};

struct tree;

/* source must outlive the tree. page_room: how many bytes of decoded pages to keep (0: a default of 8 MiB). */
int tree_open(struct source *source, const struct tree_root *root, size_t page_room, struct tree **ret,
              struct error *e);
void tree_close(struct tree *t); /* NULL is fine */
void tree_closep(struct tree **t);
uint64_t tree_count(const struct tree *t);

/* -ENOENT (ERROR_UNKNOWN) if there is none. ret is owned by the caller; either output may be NULL. */
int tree_find(struct tree *t, struct bytes key, uint64_t *ret_position, struct entry *ret, struct error *e);
int tree_at(struct tree *t, uint64_t position, struct buf *ret_key, struct entry *ret, struct error *e);
/* Follows ENTRY_LINK to its first name once; a link to a link or to nothing is damage. */
int tree_resolve(struct tree *t, struct entry *n, struct error *e);

/*
 * Calls each for the entries whose key starts with prefix and is >= from (from may be empty), in order, until it
 * returns non-zero, which is then tree_scan's result too. key and n are borrowed. Not resolved: links come as
 * ENTRY_LINK.
 */
typedef int (*tree_each)(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e);
int tree_scan(struct tree *t, struct bytes prefix, struct bytes from, tree_each each, void *arg, struct error *e);

/*
 * Asks for all pages of the entries whose key starts with prefix at once, level by level, so that tree_scan over a
 * directory waits for one round trip and not for one a page. At most TREE_WARM_PAGES of a level. A hint: what goes
 * wrong here goes wrong again, and is said, where the page is read.
 */
#define TREE_WARM_PAGES 64
void tree_warm(struct tree *t, struct bytes prefix);

/*
 * Calls each for every page below and including the root, top down, level by level, parents before children; before the
 * pages of a level are told their frames are warmed in batches. For streaming all metadata, for prune's marking and for
 * fills. Leaves are told without being read: what their entries refer to comes through tree_scan. stay: where the cache
 * cannot take them it ends with what source's warm said; else they come when they are read.
 */
typedef int (*tree_each_page)(void *arg, const struct locator *page, uint8_t level, struct error *e);
int tree_pages(struct tree *t, bool stay, tree_each_page each, void *arg, struct error *e);

/* A page, and what its parents say of it: for grow, which goes along one level of pages. */
struct tree_spot {
    struct page_ref ref;
    uint8_t level;
    bool root;      /* nobody says what its last key is */
    uint64_t start; /* position of its first entry */
    size_t after_len, last_len;
    uint8_t after[KEY_LEN_MAX]; /* its keys are greater (empty: any) */
    uint8_t last[KEY_LEN_MAX];  /* its last key */
};

/* The page of a level (<= the root's) that holds position (< tree_count), or key: the last page if all keys are less.
 */
int tree_spot_at(struct tree *t, uint8_t level, uint64_t position, struct tree_spot *ret, struct error *e);
int tree_spot_of(struct tree *t, uint8_t level, struct bytes key, struct tree_spot *ret, struct error *e);
/* Reads the page and checks it against what is said of it. The caller drops it. */
int tree_spot_load(struct tree *t, const struct tree_spot *s, struct page **ret, struct error *e);
const struct tree_root *tree_get_root(const struct tree *t);
