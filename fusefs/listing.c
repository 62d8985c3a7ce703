/* SPDX-License-Identifier: MIT */
#include "fusefs/listing.h"

#include "index/base/mem.h"

#include <errno.h>

#define SMALLEST 160u /* bytes of an entry with attributes and the shortest name */
#define BATCH 512u    /* entries that are held in memory at a time */

struct found {
    uint64_t position;
    char name[NAME_LEN_MAX + 1];
    struct entry n;
};

struct batch {
    struct found *found;
    size_t count, room;
};

void listing_param(const struct inode *n, struct fuse_entry_param *ret)
{
    *ret = (struct fuse_entry_param){
        .ino = n->id,
        .generation = 1,
        .attr = n->stat,
        .attr_timeout = LISTING_FOREVER,
        .entry_timeout = LISTING_FOREVER,
    };
}

static void batch_release(struct batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        entry_release(&b->found[i].n);
    free(b->found);
}

static int collect(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    struct batch *b = arg;
    struct bytes name = key_name(key);
    if (!key_name_valid(name))
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "an entry whose name is none");
    struct found *f = &b->found[b->count++];
    f->position = position;
    memcpy(f->name, name.data, name.len);
    f->name[name.len] = '\0';
    entry_copy(n, &f->n);
    return b->count == b->room;
}

/* Node id 0 stands for an entry without attributes, which is how the kernel wants these two. */
static size_t add_dot(struct inode_map *i, fuse_req_t req, uint64_t id, const char *name, uint64_t offset, char *to,
                      size_t size)
{
    struct inode n = { 0 };
    struct fuse_entry_param p = { 0 };
    if (inode_get(i, id, &n, NULL) == 0)
        p.attr = n.stat;
    inode_release(&n);
    return fuse_add_direntry_plus(req, to, size, name, &p, (off_t)offset);
}

static uint64_t parent_of(struct inode_map *i, struct bytes path)
{
    const uint8_t *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;
    if (!slash)
        return INODE_ROOT;
    _cleanup_(buf_release) struct buf key = { 0 };
    uint64_t position;
    if (key_from_path((struct bytes){ path.data, (size_t)(slash - path.data) }, &key) < 0 ||
        tree_find(inode_map_tree(i), buf_bytes(&key), &position, NULL, NULL) < 0)
        return INODE_ROOT;
    return position + 2;
}

static size_t add_dots(struct inode_map *i, fuse_req_t req, uint64_t id, struct bytes path, uint64_t offset, char *to,
                       size_t size)
{
    size_t used = 0, n;
    if (offset < 1) {
        n = add_dot(i, req, id, ".", 1, to, size);
        if (n > size)
            return used;
        used += n;
    }
    n = add_dot(i, req, parent_of(i, path), "..", 2, to + used, size - used);
    return n > size - used ? used : used + n;
}

/* The key that a scan goes on from: what follows the entry at offset - 3. Empty: from the first. */
static int find_start(struct inode_map *i, uint64_t offset, struct buf *from, struct error *e)
{
    if (offset < 3)
        return 0;
    if (offset - 3 >= tree_count(inode_map_tree(i)))
        return error_say(e, ERROR_FAILED, -EINVAL, "a directory offset that was never given");
    int r = tree_at(inode_map_tree(i), offset - 3, from, NULL, e);
    if (r == 0)
        buf_add(from, "\0", 1); /* the least key behind it */
    return r;
}

/* Adds what fits; *full when something did not. */
static int add_batch(struct inode_map *i, fuse_req_t req, struct batch *b, char *to, size_t size, size_t *used,
                     bool *full, struct error *e)
{
    for (size_t k = 0; k < b->count && !*full; k++) {
        struct found *f = &b->found[k];
        struct inode n;
        int r = inode_adopt(i, f->position, &f->n, &n, e);
        if (r < 0)
            return r;
        struct fuse_entry_param p;
        listing_param(&n, &p);
        inode_release(&n);
        size_t len = fuse_add_direntry_plus(req, to + *used, size - *used, f->name, &p, (off_t)(f->position + 3));
        if (len > size - *used)
            *full = true;
        else
            *used += len;
    }
    return 0;
}

int listing_read(struct inode_map *i, fuse_req_t req, uint64_t directory, uint64_t offset, char *to, size_t size,
                 size_t *ret_len, struct error *e)
{
    _cleanup_(buf_release) struct buf path = { 0 }, prefix = { 0 }, from = { 0 };
    int r = inode_path(i, directory, &path, e);
    if (r == 0 && key_directory_prefix(buf_bytes(&path), &prefix) < 0)
        r = error_say(e, ERROR_DAMAGED, -EBADMSG, "the path of a directory");
    if (r == 0)
        r = find_start(i, offset, &from, e);
    if (r < 0)
        return r;

    if (offset == 0)
        tree_warm(inode_map_tree(i), buf_bytes(&prefix));
    size_t used = offset < 2 ? add_dots(i, req, directory, buf_bytes(&path), offset, to, size) : 0;
    bool full = false, end = false;
    while (!full && !end) {
        size_t room = (size - used) / SMALLEST + 1;
        _cleanup_(batch_release) struct batch b = { .room = room < BATCH ? room : BATCH };
        b.found = mem_new(b.room, sizeof(b.found[0]));
        r = tree_scan(inode_map_tree(i), buf_bytes(&prefix), buf_bytes(&from), collect, &b, e);
        if (r < 0)
            return r;
        end = b.count < b.room;
        uint64_t last = b.count ? b.found[b.count - 1].position : 0;
        r = add_batch(i, req, &b, to, size, &used, &full, e);
        if (r == 0 && !full && !end) {
            buf_clear(&from);
            r = find_start(i, last + 3, &from, e);
        }
        if (r < 0)
            return r;
    }
    *ret_len = used;
    return 0;
}
