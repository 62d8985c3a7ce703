/* SPDX-License-Identifier: MIT */
#include "sync/push.h"

#include "index/attributes.h"
#include "index/base/mem.h"
#include "sync/known.h"
#include "sync/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define FRAME_TARGET (64u * 1024) /* small content shares frames up to this size */
#define FRAME_CONTENTS 1024       /* and up to this number */
#define WINDOW (8u * 1024 * 1024)
#define LIST_EXTENTS (ENTRY_EXTENTS_MAX / ENTRY_LIST_MAX) /* in one FRAME_EXTENTS */

struct piece {
    uint64_t start;
    uint32_t length, within;
    struct hash hash;
    struct placement *where;
};

struct push_ticket {
    struct piece *pieces;
    size_t count, room;
};

struct push {
    struct push_config config;
    struct hash_key identity;
    struct chunker chunker;
    struct outbox *outbox;
    struct known *known;
    struct outbox_frame *open; /* what small files are gathered in; NULL: none */
    struct buf directory;      /* whose files these are */
    struct buf scratch;        /* a small run of bytes, or the window of a big one */
    bool as_it_is;             /* the file being read does not hold still: what went before it was read is zeros */
    struct push_stats stats;
};

int push_new(const struct push_config *c, struct push **ret, struct error *e)
{
    struct push *p = mem_new(1, sizeof(*p));
    struct hash_key chunking;
    p->config = *c;
    keys_identity(c->seal.keys, c->seal.box, &p->identity);
    keys_chunking(c->seal.keys, c->seal.box, &chunking);
    chunker_init(&p->chunker, &chunking);
    p->known = known_new(c->cache, &c->writer, c->avoid);
    int r = c->journal ? known_resume(p->known, c->journal, c->store, &c->seal, e) : 0;
    if (r == 0)
        r = outbox_new(&(struct outbox_config){ .store = c->store,
                                                .seal = c->seal,
                                                .cache = c->cache,
                                                .journal = c->journal,
                                                .writer = c->writer,
                                                .threads = c->threads },
                       &p->outbox, e);
    if (r < 0)
        push_free(p);
    else
        *ret = p;
    return r;
}

void push_free(struct push *p)
{
    if (!p)
        return;
    outbox_free(p->outbox);
    outbox_frame_free(p->open);
    known_free(p->known);
    buf_release(&p->directory);
    buf_release(&p->scratch);
    free(p);
}

void push_before(struct push *p, struct extent *x, size_t count)
{
    known_before(p->known, x, count);
}

void push_ticket_free(struct push_ticket *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->count; i++)
        placement_drop(t->pieces[i].where);
    free(t->pieces);
    free(t);
}

static void push_ticket_freep(struct push_ticket **t)
{
    push_ticket_free(*t);
}

/* Takes the reference of where. */
static void add_piece(struct push_ticket *t, uint64_t start, uint32_t length, const struct hash *h,
                      const struct known_place *at)
{
    if (t->count == t->room) {
        t->room = t->room ? t->room * 2 : 1;
        t->pieces = mem_grow(t->pieces, t->room, sizeof(*t->pieces));
    }
    t->pieces[t->count++] =
        (struct piece){ .start = start, .length = length, .within = at->within, .hash = *h, .where = at->where };
}

int push_close_frames(struct push *p, struct error *e)
{
    return p->open ? outbox_send(p->outbox, mem_steal(p->open), e) : outbox_check(p->outbox, e);
}

/* The shared frame of directory, with room for length more bytes. */
static int open_frame(struct push *p, struct bytes directory, size_t length, struct error *e)
{
    bool fits = p->open && p->open->raw.len + length <= FRAME_TARGET && p->open->count < FRAME_CONTENTS &&
                bytes_compare(buf_bytes(&p->directory), directory) == 0;
    if (fits)
        return 0;
    int r = push_close_frames(p, e);
    if (r < 0)
        return r;
    p->open = outbox_frame_new();
    buf_clear(&p->directory);
    buf_add(&p->directory, directory.data, directory.len);
    return 0;
}

/* Sends a run of content, unless it is known, and notes where it will lie. owned: data's buffer, which may be taken. */
static int add_content(struct push *p, struct push_ticket *t, uint64_t start, struct bytes data, struct buf *owned,
                       struct bytes directory, struct error *e)
{
    struct known_place at;
    struct hash h;
    uint32_t length = (uint32_t)data.len;
    hash_bytes(&p->identity, data.data, data.len, &h);
    if (known_find(p->known, &h, length, &at)) {
        add_piece(t, start, length, &h, &at);
        return 0;
    }

    bool alone = length >= FRAME_TARGET;
    int r = alone ? 0 : open_frame(p, directory, length, e);
    if (r < 0)
        return r;
    struct outbox_frame *f = alone ? outbox_frame_new() : p->open;
    at = (struct known_place){ placement_hold(f->where), (uint32_t)f->raw.len };
    add_piece(t, start, length, &h, &at);
    known_add(p->known, &h, length, f->where, at.within);
    outbox_frame_add(f, &h, length);
    p->stats.new_bytes += length;
    if (owned && alone)
        f->raw = *owned, *owned = (struct buf){ 0 };
    else
        buf_add(&f->raw, data.data, data.len);
    return alone ? outbox_send(p->outbox, f, e) : 0;
}

static int changed(struct error *e)
{
    return error_say(e, ERROR_BUSY, -EAGAIN, "changed while it was read");
}

/* Exactly n bytes at offset; -EAGAIN if the file ends before and is not taken as it is. */
static int read_run(const struct push *p, int fd, uint8_t *to, size_t n, uint64_t offset, struct error *e)
{
    while (n > 0) {
        ssize_t got = pread(fd, to, n, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(e, ERROR_FAILED, -errno, "read");
        if (got == 0 && !p->as_it_is)
            return changed(e);
        if (got == 0) {
            memset(to, 0, n);
            return 0;
        }
        to += got;
        n -= (size_t)got;
        offset += (size_t)got;
    }
    return 0;
}

static int push_whole(struct push *p, struct push_ticket *t, int fd, uint64_t from, size_t n, struct bytes directory,
                      struct error *e)
{
    _cleanup_(buf_release) struct buf own = { 0 };
    struct buf *to = n >= FRAME_TARGET ? &own : &p->scratch;
    buf_clear(to);
    buf_reserve(to, n);
    int r = read_run(p, fd, to->data, n, from, e);
    if (r < 0)
        return r;
    to->len = n;
    return add_content(p, t, from, buf_bytes(to), to == &own ? to : NULL, directory, e);
}

static int progress(struct push *p, struct error *e)
{
    const struct push_config *c = &p->config;
    if (c->progress && c->progress(c->progress_arg, p->stats.files, p->stats.bytes, outbox_bytes(p->outbox)) != 0)
        return error_say(e, ERROR_INTERRUPTED, -ECANCELED, "interrupted");
    return 0;
}

/* [from, to) of a big file, cut by content out of a window that is refilled when less than a chunk is left in it. */
static int push_chunks(struct push *p, struct push_ticket *t, int fd, uint64_t from, uint64_t to,
                       struct bytes directory, struct error *e)
{
    buf_clear(&p->scratch);
    buf_reserve(&p->scratch, WINDOW);
    uint8_t *window = p->scratch.data;
    size_t first = 0, held = 0;
    for (uint64_t read = from; read < to || held > 0;) {
        if (held < CHUNK_MAX && read < to) {
            size_t n = to - read < WINDOW - held ? to - read : WINDOW - held;
            memmove(window, window + first, held);
            int r = read_run(p, fd, window + held, n, read, e);
            if (r < 0)
                return r;
            first = 0;
            held += n;
            read += n;
            p->stats.bytes += n;
            r = progress(p, e);
            if (r < 0)
                return r;
        }
        size_t n = chunker_cut(&p->chunker, window + first, held, read == to);
        int r = add_content(p, t, read - held, (struct bytes){ window + first, n }, NULL, directory, e);
        if (r < 0)
            return r;
        first += n;
        held -= n;
    }
    return 0;
}

/* Where the next data at or behind from lies, by the file system's word; holes are not stored. size: nothing follows.
 */
static int find_data(const struct push *p, int fd, uint64_t from, uint64_t size, uint64_t *ret_from, uint64_t *ret_to,
                     struct error *e)
{
    off_t data = lseek(fd, (off_t)from, SEEK_DATA);
    if (data < 0 && errno == ENXIO)
        data = (off_t)size;
    if (data < 0 && errno != EINVAL)
        return error_set(e, ERROR_FAILED, -errno, "look for holes");
    off_t hole = data < 0 ? -1 : (uint64_t)data < size ? lseek(fd, data, SEEK_HOLE) : data;
    if (data < 0)
        data = (off_t)from; /* the file system knows nothing about holes */
    *ret_from = (uint64_t)data < size ? (uint64_t)data : size;
    *ret_to = hole < 0 || (uint64_t)hole > size ? size : (uint64_t)hole;
    bool shrank = *ret_to < *ret_from || (*ret_to == *ret_from && *ret_from < size);
    if (shrank && p->as_it_is)
        *ret_from = *ret_to = size;
    return shrank && !p->as_it_is ? changed(e) : 0;
}

static int push_data(struct push *p, struct push_ticket *t, int fd, uint64_t size, bool holes, struct bytes directory,
                     struct error *e)
{
    for (uint64_t at = 0, to = size; at < size; at = to) {
        int r = holes ? find_data(p, fd, at, size, &at, &to, e) : 0;
        if (r == 0 && t->count >= ENTRY_EXTENTS_MAX)
            r = error_say(e, ERROR_FAILED, -EFBIG, "it has more than %u extents", ENTRY_EXTENTS_MAX);
        if (r == 0 && to - at > CHUNK_WHOLE) {
            r = push_chunks(p, t, fd, at, to, directory, e);
        } else if (r == 0 && to > at) {
            p->stats.bytes += to - at;
            r = push_whole(p, t, fd, at, (size_t)(to - at), directory, e);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int look_at(int fd, struct stat *ret, struct error *e)
{
    return fstat(fd, ret) < 0 ? error_set(e, ERROR_FAILED, -errno, "stat") : 0;
}

/* All of a file of this size. 1: it did not hold still. */
static int push_file(struct push *p, struct push_ticket *t, int fd, uint64_t size, const struct stat *before,
                     struct bytes directory, struct error *e)
{
    struct stat after;
    bool big = size > CHUNK_WHOLE;
    if (big)
        posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    /* Fewer blocks than bytes: there may be holes. A big file is always asked, because it may have blocks to spare. */
    bool holes = big || (uint64_t)before->st_blocks * 512 < size;
    int r = push_data(p, t, fd, size, holes, directory, e);
    if (r == 0)
        r = look_at(fd, &after, e);
    return r < 0 ? r : !same_file(before, &after);
}

static int count_file(struct push *p, struct push_ticket **t, struct push_ticket **ret, struct error *e)
{
    p->stats.files++;
    int r = progress(p, e);
    if (r == 0)
        *ret = mem_steal(*t);
    return r;
}

int push_content(struct push *p, int fd, const struct entry *n, struct bytes directory, struct push_ticket **ret,
                 struct error *e)
{
    _cleanup_(push_ticket_freep) struct push_ticket *t = mem_new(1, sizeof(*t));
    struct stat before;
    int r = outbox_check(p->outbox, e);
    if (r == 0 && n->size > 0) {
        r = look_at(fd, &before, e);
        if (r == 0)
            r = (uint64_t)before.st_size < n->size ? 1 : push_file(p, t, fd, n->size, &before, directory, e);
    }
    if (r > 0)
        return changed(e);
    return r < 0 ? r : count_file(p, &t, ret, e);
}

int push_as_it_is(struct push *p, int fd, struct entry *n, struct bytes directory, struct push_ticket **ret,
                  bool *ret_torn, struct error *e)
{
    _cleanup_(push_ticket_freep) struct push_ticket *t = mem_new(1, sizeof(*t));
    _cleanup_(attributes_release) struct attributes a = { 0 };
    struct stat now;
    int r = outbox_check(p->outbox, e);
    if (r == 0)
        r = attributes_stat(fd, "", &a, e);
    if (r == 0)
        r = look_at(fd, &now, e);
    if (r < 0)
        return r;
    p->as_it_is = true;
    r = push_file(p, t, fd, (uint64_t)now.st_size, &now, directory, e);
    p->as_it_is = false;
    bool torn = r > 0;
    if (r >= 0)
        r = count_file(p, &t, ret, e);
    if (r < 0)
        return r;
    n->size = (uint64_t)now.st_size;
    n->mtime_ns = a.entry.mtime_ns;
    n->ctime_ns = a.entry.ctime_ns;
    *ret_torn = torn;
    return 0;
}

bool push_ticket_ready(const struct push_ticket *t)
{
    /* Frames are placed in about the order in which they were sent, so the last ones tell soonest. */
    for (size_t i = t->count; i-- > 0;)
        if (!atomic_load_explicit(&t->pieces[i].where->placed, memory_order_acquire))
            return false;
    return true;
}

/* More extents than a record holds go into frames of their own. */
static int list_extents(struct push *p, const struct extent *x, size_t count, struct entry *n, struct error *e)
{
    size_t frames = (count + LIST_EXTENTS - 1) / LIST_EXTENTS;
    _cleanup_free_ struct locator *list = mem_new(frames, sizeof(*list));
    for (size_t i = 0; i < frames; i++) {
        _cleanup_(buf_release) struct buf raw = { 0 };
        size_t first = i * LIST_EXTENTS, more = count - first;
        extents_encode(x + first, more < LIST_EXTENTS ? more : LIST_EXTENTS, &raw);
        int r = push_meta(p, FRAME_EXTENTS, buf_bytes(&raw), &list[i], e);
        if (r < 0)
            return r;
    }
    n->list = mem_steal(list);
    n->list_count = frames;
    return 0;
}

int push_extents(struct push *p, struct entry *n, struct error *e)
{
    if (n->extent_count <= ENTRY_EXTENTS_INLINE)
        return 0;
    _cleanup_free_ struct extent *x = mem_steal(n->extents);
    size_t count = n->extent_count;
    n->extent_count = 0;
    return list_extents(p, x, count, n, e);
}

static int wait_for(struct push *p, const struct push_ticket *t, struct error *e)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct placement *w = t->pieces[i].where;
        int r = p->open && p->open->where == w ? push_close_frames(p, e) : 0;
        if (r == 0)
            r = outbox_wait(p->outbox, w, e);
        if (r < 0)
            return r;
    }
    return 0;
}

int push_ticket_redeem(struct push *p, struct push_ticket *t, struct entry *n, struct error *e)
{
    _cleanup_(push_ticket_freep) struct push_ticket *ticket = t;
    int r = wait_for(p, t, e);
    if (r < 0)
        return r;

    _cleanup_free_ struct extent *x = mem_new(t->count + 1, sizeof(*x));
    for (size_t i = 0; i < t->count; i++)
        x[i] = (struct extent){ .start = t->pieces[i].start,
                                .length = t->pieces[i].length,
                                .hash = t->pieces[i].hash,
                                .frame = t->pieces[i].where->at,
                                .within = t->pieces[i].within };
    free(n->extents);
    free(n->list);
    n->extents = NULL;
    n->list = NULL;
    n->extent_count = n->list_count = 0;
    if (t->count > ENTRY_EXTENTS_INLINE)
        return list_extents(p, x, t->count, n, e);
    n->extent_count = t->count;
    n->extents = t->count ? mem_steal(x) : NULL;
    return 0;
}

bool push_rely(struct push *p, const struct pack_name *pack, bool metadata)
{
    return known_count_on(p->known, pack, 0, metadata);
}

int push_meta(struct push *p, enum frame_kind kind, struct bytes raw, struct locator *ret, struct error *e)
{
    /* Hashed twice, with the kind: a file whose bytes are those of a page must not be taken for it, nor the reverse. */
    uint8_t named[HASH_LEN + 1] = { [HASH_LEN] = (uint8_t)kind };
    struct known_place at;
    struct hash h;
    if (raw.len == 0 || raw.len > FRAME_RAW_MAX)
        return error_say(e, ERROR_FAILED, -EMSGSIZE, "a metadata frame of %zu bytes", raw.len);
    hash_bytes(&p->identity, raw.data, raw.len, &h);
    memcpy(named, h.b, HASH_LEN);
    hash_bytes(&p->identity, named, sizeof(named), &h);
    if (known_find(p->known, &h, (uint32_t)raw.len, &at)) {
        *ret = at.where->at;
        placement_drop(at.where);
        known_count_on(p->known, &ret->pack, 0, true);
        return outbox_check(p->outbox, e);
    }

    int r = outbox_send_meta(p->outbox, kind, raw, &h, ret, e);
    if (r < 0)
        return r;
    struct placement *w = placement_new(ret);
    known_add(p->known, &h, (uint32_t)raw.len, w, 0);
    placement_drop(w);
    return 0;
}

int push_finish(struct push *p, struct snapshot_pack **ret_packs, size_t *ret_count, struct push_stats *ret,
                struct error *e)
{
    struct outbox_sent sent;
    int r = push_close_frames(p, e);
    if (r == 0)
        r = outbox_flush(p->outbox, e);
    if (r < 0)
        return r;
    while (outbox_sent(p->outbox, &sent)) {
        known_count_on(p->known, &sent.name, sent.size, sent.metadata);
        p->stats.sent_bytes += sent.size;
        p->stats.packs++;
    }
    r = known_verify(p->known, p->config.store, p->config.seal.box, ret_packs, ret_count, e);
    if (r == 0 && ret)
        *ret = p->stats;
    return r;
}
