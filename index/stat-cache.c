/* SPDX-License-Identifier: MIT */
#include "index/stat-cache.h"

#include "index/base/mem.h"
#include "index/packtable.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#define SECOND_NS 1000000000
#define TICK_NS (20 * 1000 * 1000)
#define COARSE_NS (2 * SECOND_NS + (int64_t)TICK_NS)

bool stat_cache_serves(int fd)
{
    struct statfs st;
    return fstatfs(fd, &st) == 0 && st.f_type != TMPFS_MAGIC && st.f_type != RAMFS_MAGIC;
}

bool stat_cache_settled(const struct entry *n, int64_t start_ns)
{
    return n->ctime_ns < start_ns - (n->ctime_ns % SECOND_NS ? TICK_NS : COARSE_NS);
}

/* A record is a table of packs and an entry that uses it, as in a page. */
static void encode(const struct entry *n, struct buf *record)
{
    _cleanup_(pack_table_release) struct pack_table table = { 0 };
    _cleanup_(buf_release) struct buf body = { 0 };
    entry_encode(n, pack_table_index, &table, &body);
    pack_table_put(&table, record);
    buf_add(record, body.data, body.len);
}

static int decode(const struct buf *record, struct entry *ret)
{
    struct wire w = wire_reader(record->data, record->len);
    size_t count = 0;
    const struct pack_name *packs = pack_table_get(&w, &count);
    entry_decode(&w, packs, count, ret);
    return wire_done(&w) ? 0 : -EBADMSG;
}

static struct stat_key key_of(uint64_t device, uint64_t inode, const struct entry *n)
{
    return (struct stat_key){ device, inode, n->size, n->mtime_ns, n->ctime_ns };
}

int stat_cache_find(struct journal *j, struct bytes path, uint64_t device, uint64_t inode, struct entry *n,
                    struct error *e)
{
    struct stat_key key = key_of(device, inode, n);
    _cleanup_(buf_release) struct buf record = { 0 };
    int r = journal_stat_find(j, path, &key, &record, e);
    if (r < 0)
        return r;

    _cleanup_(entry_release) struct entry known = { 0 };
    if (decode(&record, &known) < 0 || known.type != ENTRY_FILE || known.size != n->size)
        return -ENOENT; /* a cache: what cannot be read is not known */
    n->extents = mem_steal(known.extents);
    n->extent_count = known.extent_count;
    n->list = mem_steal(known.list);
    n->list_count = known.list_count;
    return 0;
}

int stat_cache_put(struct journal *j, struct bytes path, const struct change *c, const struct entry *n, struct error *e)
{
    if (!c->settled || n->type != ENTRY_FILE)
        return 0;
    struct stat_key key = key_of(c->device, c->inode, c->entry);
    _cleanup_(buf_release) struct buf record = { 0 };
    encode(n, &record);
    return journal_stat_put(j, path, &key, buf_bytes(&record), e);
}
