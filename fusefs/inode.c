/* SPDX-License-Identifier: MIT */
#include "fusefs/inode.h"

#include "index/base/mem.h"
#include "index/hash.h"

#include <errno.h>
#include <sys/sysmacros.h>

/* Of an inode with several names: its first one, by the hash of its key, so that no page is read to start a daemon. */
struct first_name {
    struct hash name;
    size_t names;
};

struct inode_map {
    struct tree *tree;
    struct guess *guess;
    struct first_name *firsts; /* by name */
    size_t first_count;
    bool apart;
};

static int compare_firsts(const void *a, const void *b)
{
    return memcmp(((const struct first_name *)a)->name.b, ((const struct first_name *)b)->name.b, HASH_LEN);
}

static int make_key(const char *path, struct buf *key, struct error *e)
{
    if (key_from_path((struct bytes){ (const uint8_t *)path, strlen(path) }, key) < 0)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "a name of a linked file is not a path");
    return 0;
}

static void hash_key(struct bytes key, struct hash *ret)
{
    static const struct hash_key any;
    hash_bytes(&any, key.data, key.len, ret);
}

int inode_map_new(struct tree *tree, const struct link_group *groups, size_t count, bool apart, struct inode_map **ret,
                  struct error *e)
{
    struct inode_map *i = mem_new(1, sizeof(*i));
    i->tree = tree;
    i->apart = apart;
    if (groups && count > 0)
        i->firsts = mem_new(count, sizeof(i->firsts[0]));
    for (size_t g = 0; groups && g < count; g++) {
        struct first_name *f = &i->firsts[i->first_count++];
        f->names = groups[g].count;
        _cleanup_(buf_release) struct buf key = { 0 };
        int r = make_key(groups[g].paths[0], &key, e);
        if (r < 0) {
            inode_map_free(i);
            return r;
        }
        hash_key(buf_bytes(&key), &f->name);
    }
    if (i->first_count > 0)
        qsort(i->firsts, i->first_count, sizeof(i->firsts[0]), compare_firsts);
    *ret = i;
    return 0;
}

void inode_map_free(struct inode_map *i)
{
    if (i)
        free(i->firsts);
    free(i);
}

struct tree *inode_map_tree(struct inode_map *i)
{
    return i->tree;
}

void inode_map_guess(struct inode_map *i, struct guess *g)
{
    i->guess = g;
}

void inode_release(struct inode *n)
{
    entry_release(&n->n);
}

static size_t count_names(const struct inode_map *i, struct bytes first)
{
    struct first_name wanted, *found = NULL;
    if (i->first_count == 0 || first.len == 0)
        return 1;
    hash_key(first, &wanted.name);
    found = bsearch(&wanted, i->firsts, i->first_count, sizeof(wanted), compare_firsts);
    return found ? found->names : 1;
}

/*
 * Allocated blocks are what the extents cover. Files with many extents keep them elsewhere and are not worth a fetch
 * here: they claim a block less than they may have, so that cp and tar, who take st_blocks as the sign of holes, ask
 * for them.
 */
static blkcnt_t count_blocks(const struct entry *n)
{
    uint64_t bytes = 0;
    if (n->list_count > 0)
        return (blkcnt_t)((n->size + 511) / 512 - 1);
    for (size_t x = 0; x < n->extent_count; x++)
        bytes += n->extents[x].length;
    return (blkcnt_t)((bytes + 511) / 512);
}

static struct timespec timespec_of(int64_t ns)
{
    int64_t s = ns / 1000000000, rest = ns % 1000000000;
    if (rest < 0) {
        s--;
        rest += 1000000000;
    }
    return (struct timespec){ s, rest };
}

/* first: key of the inode's first name; empty: it has no other. */
static void fill_stat(const struct inode_map *i, struct bytes first, struct inode *n)
{
    n->stat = (struct stat){
        .st_ino = n->n.ino,
        .st_mode = entry_mode_type(&n->n) | n->n.mode,
        .st_nlink = n->n.type == ENTRY_DIRECTORY ? 1 : count_names(i, first),
        .st_uid = n->n.uid,
        .st_gid = n->n.gid,
        .st_rdev = makedev(n->n.major, n->n.minor),
        .st_size = (off_t)n->n.size,
        .st_blocks = n->n.type == ENTRY_FILE ? count_blocks(&n->n) : 0,
        .st_blksize = 4096,
        .st_atim = timespec_of(n->n.mtime_ns),
        .st_mtim = timespec_of(n->n.mtime_ns),
        .st_ctim = timespec_of(n->n.ctime_ns),
    };
}

/* n is a link: replaces it by what it stands for. */
static int follow_link(struct inode_map *i, struct entry *n, struct buf *key, uint64_t *ret_position, struct error *e)
{
    _cleanup_free_ char *first = mem_steal(n->target);
    entry_release(n);
    int r = make_key(first, key, e);
    if (r < 0)
        return r;
    struct error why = { 0 };
    r = tree_find(i->tree, buf_bytes(key), ret_position, n, &why);
    if (r == -ENOENT && why.kind == ERROR_UNKNOWN)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the first name of a linked file, %s, is not there", first);
    if (r < 0)
        error_pass(e, &why);
    if (r == 0 && n->type == ENTRY_LINK)
        r = error_say(e, ERROR_DAMAGED, -EBADMSG, "%s is a link to a link", first);
    return r;
}

int inode_adopt(struct inode_map *i, uint64_t position, struct entry *n, struct inode *ret, struct error *e)
{
    _cleanup_(buf_release) struct buf first = { 0 };
    struct inode found = { .n = *n };
    uint64_t first_at = position;
    int r = 0;
    *n = (struct entry){ 0 };
    if (found.n.type == ENTRY_LINK)
        r = follow_link(i, &found.n, &first, &first_at, e);
    else if (found.n.type != ENTRY_DIRECTORY && i->first_count > 0)
        r = tree_at(i->tree, position, &first, NULL, e);
    if (r < 0) {
        entry_release(&found.n);
        return r;
    }
    if (i->first_count > 0 && !i->apart)
        position = first_at;
    found.id = position + 2;
    fill_stat(i, buf_bytes(&first), &found);
    *ret = found;
    return 0;
}

static void make_root(struct inode *ret)
{
    *ret = (struct inode){
        .id = INODE_ROOT,
        .n = { .type = ENTRY_DIRECTORY, .mode = 0755, .ino = INODE_ROOT_INO },
        .stat = { .st_ino = INODE_ROOT_INO, .st_mode = S_IFDIR | 0755, .st_nlink = 1, .st_blksize = 4096 },
    };
}

static int check_id(struct inode_map *i, uint64_t id, struct error *e)
{
    if (id >= 2 && id - 2 < tree_count(i->tree))
        return 0;
    return error_say(e, ERROR_FAILED, -ESTALE, "no node %llu", (unsigned long long)id);
}

int inode_get(struct inode_map *i, uint64_t id, struct inode *ret, struct error *e)
{
    if (id == INODE_ROOT) {
        make_root(ret);
        return 0;
    }
    struct entry n = { 0 };
    int r = check_id(i, id, e);
    if (r == 0)
        r = tree_at(i->tree, id - 2, NULL, &n, e);
    if (r == 0)
        r = inode_adopt(i, id - 2, &n, ret, e);
    return r;
}

int inode_path(struct inode_map *i, uint64_t id, struct buf *path, struct error *e)
{
    buf_clear(path);
    buf_string(path);
    if (id == INODE_ROOT)
        return 0;
    _cleanup_(buf_release) struct buf key = { 0 };
    int r = check_id(i, id, e);
    if (r == 0)
        r = tree_at(i->tree, id - 2, &key, NULL, e);
    if (r == 0 && key_to_path(buf_bytes(&key), path) < 0)
        r = error_say(e, ERROR_DAMAGED, -EBADMSG, "the key of node %llu is not a path", (unsigned long long)id);
    return r;
}

int inode_lookup(struct inode_map *i, uint64_t parent, const char *name, struct inode *ret, struct error *e)
{
    size_t len = strlen(name);
    if (len > NAME_LEN_MAX)
        return error_say(e, ERROR_FAILED, -ENAMETOOLONG, "a name of %zu bytes", len);
    _cleanup_(buf_release) struct buf path = { 0 }, key = { 0 };
    int r = inode_path(i, parent, &path, e);
    if (r < 0)
        return r;
    if (i->guess)
        guess_directory(i->guess, buf_bytes(&path), name);
    if (key_directory_prefix(buf_bytes(&path), &key) < 0)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the path of node %llu", (unsigned long long)parent);
    buf_add(&key, name, len);

    uint64_t position;
    struct entry n = { 0 };
    r = tree_find(i->tree, buf_bytes(&key), &position, &n, e);
    if (r == 0)
        r = inode_adopt(i, position, &n, ret, e);
    return r;
}
