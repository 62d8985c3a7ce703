/* SPDX-License-Identifier: MIT */
#include "tests/unit/twin.h"

#include "index/base/mem.h"

#include <stdio.h>

#define FILE_TIME (INT64_C(1600000000) * 1000000000)
#define PIECE (1024u * 1024)
#define FIRST_INODE 2

static void check(int r, const struct error *e)
{
    if (r == 0)
        return;
    fprintf(stderr, "twin: %s\n", e->text);
    abort();
}

static void put_extents(struct twin *t, const struct twin_file *f, size_t len, struct entry *n)
{
    const uint8_t *content = f->content;
    size_t piece = f->piece ? f->piece : PIECE;
    n->extents = mem_new(len / piece + 1, sizeof(*n->extents));
    for (size_t at = 0; at < len; at += piece) {
        size_t length = len - at < piece ? len - at : piece;
        struct extent *x = &n->extents[n->extent_count++];
        *x = (struct extent){ .start = at, .length = length };
        hash_bytes(&twin_key, content + at, length, &x->hash);
        x->frame = twin_add(t, FRAME_DATA, content + at, length);
    }
    if (n->extent_count <= ENTRY_EXTENTS_INLINE)
        return;

    _cleanup_(buf_release) struct buf list = { 0 };
    extents_encode(n->extents, n->extent_count, &list);
    n->list = mem_new(1, sizeof(*n->list));
    n->list[0] = twin_add(t, FRAME_EXTENTS, list.data, list.len);
    n->list_count = 1;
    free(mem_steal(n->extents));
    n->extent_count = 0;
}

static void make_entry(struct twin *t, const struct twin_file *f, uint32_t ino, struct entry *ret)
{
    struct entry n = {
        .type = f->type ? f->type : ENTRY_FILE,
        .mode = f->mode,
        .uid = f->uid,
        .gid = f->gid,
        .ino = ino,
        .mtime_ns = f->mtime_ns ? f->mtime_ns : FILE_TIME,
        .ctime_ns = f->mtime_ns ? f->mtime_ns : FILE_TIME,
        .major = f->major,
        .minor = f->minor,
        .target = (char *)f->target,
        .xattrs = (struct xattr *)f->xattrs,
        .xattr_count = f->xattr_count,
    };
    if (n.mode == 0)
        n.mode = n.type == ENTRY_DIRECTORY ? 0755 : 0644;
    if (n.type == ENTRY_SYMLINK)
        n.size = strlen(f->target);
    entry_copy(&n, ret);
    if (n.type != ENTRY_FILE)
        return;
    size_t len = f->content && f->len == 0 ? strlen(f->content) : f->len;
    ret->size = f->size > len ? f->size : len;
    if (len > 0)
        put_extents(t, f, len, ret);
}

struct named {
    struct buf key;
    struct twin_file file;
    char *path; /* owned: of a parent that was made */
    bool listed;
};

static void add_named(struct named **list, size_t *count, struct bytes path, const struct twin_file *f)
{
    if ((*count & (*count - 1)) == 0) /* a power of two: doubles */
        *list = mem_grow(*list, *count ? 2 * *count : 1, sizeof(**list));
    struct named *n = &(*list)[(*count)++];
    *n = (struct named){ .path = mem_copy(path.data, path.len), .listed = f != NULL };
    n->file = f ? *f : (struct twin_file){ .type = ENTRY_DIRECTORY };
    if (key_from_path(path, &n->key) < 0)
        abort();
}

/* In key order, of equal keys the listed one first. */
static int compare(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int r = bytes_compare(buf_bytes(&x->key), buf_bytes(&y->key));
    return r ? r : (int)y->listed - (int)x->listed;
}

struct tree_root twin_tree(struct twin *t, const struct twin_file *files, size_t count)
{
    struct named *list = NULL;
    size_t named = 0;
    for (size_t i = 0; i < count; i++) {
        struct bytes path = { (const uint8_t *)files[i].path, strlen(files[i].path) };
        add_named(&list, &named, path, &files[i]);
        for (size_t at = 1; at < path.len; at++)
            if (path.data[at] == '/')
                add_named(&list, &named, (struct bytes){ path.data, at }, NULL);
    }
    if (named > 0)
        qsort(list, named, sizeof(*list), compare);

    struct grow *g;
    struct error e = { 0 };
    check(grow_new(NULL, &twin_key, twin_emit, t, &g, &e), &e);
    uint32_t ino = FIRST_INODE;
    for (size_t i = 0; i < named; i++) {
        if (i > 0 && bytes_compare(buf_bytes(&list[i].key), buf_bytes(&list[i - 1].key)) == 0)
            continue;
        _cleanup_(entry_release) struct entry n = { 0 };
        make_entry(t, &list[i].file, ino++, &n);
        check(grow_put(g, buf_bytes(&list[i].key), &n, &e), &e);
    }
    struct tree_root root;
    check(grow_finish(g, &root, &e), &e);
    grow_free(g);
    for (size_t i = 0; i < named; i++) {
        buf_release(&list[i].key);
        free(list[i].path);
    }
    free(list);
    return root;
}

struct tree *twin_open(struct twin *t, const struct tree_root *root)
{
    struct tree *tree;
    struct error e = { 0 };
    check(tree_open(twin_source(t), root, 0, &tree, &e), &e);
    return tree;
}
