/* SPDX-License-Identifier: MIT */
#include "index/entry.h"

#include "index/base/mem.h"
#include "index/key.h"

#include <errno.h>
#include <sys/stat.h>

#define MODE_MAX 07777
#define OVERLAY "trusted.overlay."
#define LOCATOR_ENCODED_MIN 4
#define XATTR_ENCODED_MIN 3

void entry_release(struct entry *n)
{
    for (size_t i = 0; i < n->xattr_count; i++) {
        free(n->xattrs[i].name);
        free(n->xattrs[i].value);
    }
    free(n->xattrs);
    free(n->target);
    free(n->extents);
    free(n->list);
    *n = (struct entry){ 0 };
}

void entry_copy(const struct entry *from, struct entry *to)
{
    struct entry n = *from;
    n.target = from->target ? mem_strdup(from->target) : NULL;
    n.xattrs = from->xattr_count ? mem_new(from->xattr_count, sizeof(*n.xattrs)) : NULL;
    for (size_t i = 0; i < from->xattr_count; i++)
        n.xattrs[i] = (struct xattr){
            .name = mem_strdup(from->xattrs[i].name),
            .value = mem_copy(from->xattrs[i].value, from->xattrs[i].len),
            .len = from->xattrs[i].len,
        };
    n.extents = from->extent_count ? mem_copy(from->extents, from->extent_count * sizeof(*n.extents)) : NULL;
    n.list = from->list_count ? mem_copy(from->list, from->list_count * sizeof(*n.list)) : NULL;
    *to = n;
}

static void put_content(const struct entry *n, entry_pack_index index, void *arg, struct buf *to)
{
    wire_put_varint(to, n->size);
    wire_put_varint(to, n->list_count);
    for (size_t i = 0; i < n->list_count; i++)
        locator_put_short(to, &n->list[i], index(arg, &n->list[i].pack));
    if (n->list_count > 0)
        return;

    uint64_t end = 0;
    wire_put_varint(to, n->extent_count);
    for (size_t i = 0; i < n->extent_count; i++) {
        const struct extent *x = &n->extents[i];
        extent_put(to, x, end, index(arg, &x->frame.pack));
        end = x->start + x->length;
    }
}

void entry_encode(const struct entry *n, entry_pack_index index, void *arg, struct buf *to)
{
    wire_put_u8(to, (uint8_t)n->type);
    if (n->type == ENTRY_LINK) {
        wire_put_string(to, n->target, strlen(n->target));
        return;
    }
    wire_put_varint(to, n->mode);
    wire_put_varint(to, n->uid);
    wire_put_varint(to, n->gid);
    wire_put_varint(to, n->ino);
    wire_put_signed(to, n->mtime_ns);
    wire_put_signed(to, n->ctime_ns);
    wire_put_varint(to, n->xattr_count);
    for (size_t i = 0; i < n->xattr_count; i++) {
        wire_put_string(to, n->xattrs[i].name, strlen(n->xattrs[i].name));
        wire_put_string(to, n->xattrs[i].value, n->xattrs[i].len);
    }

    if (n->type == ENTRY_FILE) {
        put_content(n, index, arg, to);
    } else if (n->type == ENTRY_SYMLINK) {
        wire_put_string(to, n->target, strlen(n->target));
    } else if (n->type == ENTRY_CHARACTER || n->type == ENTRY_BLOCK) {
        wire_put_varint(to, n->major);
        wire_put_varint(to, n->minor);
    }
}

size_t entry_size_bound(const struct entry *n)
{
    size_t size = 128 + (n->target ? strlen(n->target) : 0);
    for (size_t i = 0; i < n->xattr_count; i++)
        size += 8 + strlen(n->xattrs[i].name) + n->xattrs[i].len;
    return size + n->extent_count * 2 * sizeof(struct extent) + n->list_count * 2 * sizeof(struct locator);
}

static char *get_text(struct wire *w, size_t max)
{
    struct bytes s = wire_string(w, max);
    if (s.len == 0 || memchr(s.data, '\0', s.len)) {
        w->bad = true;
        return NULL;
    }
    return mem_copy(s.data, s.len);
}

static void get_xattrs(struct wire *w, struct entry *n)
{
    size_t count = (size_t)wire_bounded(w, ENTRY_XATTRS_MAX);
    if (count > (size_t)(w->end - w->at) / XATTR_ENCODED_MIN)
        w->bad = true;
    if (w->bad || count == 0)
        return;

    n->xattrs = mem_new(count, sizeof(*n->xattrs));
    while (n->xattr_count < count && !w->bad) {
        char *name = get_text(w, NAME_LEN_MAX);
        struct bytes value = wire_string(w, ENTRY_XATTR_SIZE_MAX);
        const char *before = n->xattr_count > 0 ? n->xattrs[n->xattr_count - 1].name : NULL;
        if (!name || w->bad || strncmp(name, OVERLAY, strlen(OVERLAY)) == 0 || (before && strcmp(before, name) >= 0)) {
            free(name);
            w->bad = true;
            return;
        }
        n->xattrs[n->xattr_count++] = (struct xattr){ name, mem_copy(value.data, value.len), value.len };
    }
}

static void get_list(struct wire *w, const struct pack_name *packs, size_t pack_count, size_t count, struct entry *n)
{
    n->list = mem_new(count, sizeof(*n->list));
    n->list_count = count;
    for (size_t i = 0; i < count && !w->bad; i++)
        n->list[i] = locator_get_short(w, packs, pack_count);
}

static void get_content(struct wire *w, const struct pack_name *packs, size_t pack_count, struct entry *n)
{
    n->size = wire_bounded(w, INT64_MAX);
    size_t list_count = (size_t)wire_bounded(w, ENTRY_LIST_MAX);
    if (list_count > (size_t)(w->end - w->at) / LOCATOR_ENCODED_MIN)
        w->bad = true;
    if (w->bad)
        return;
    if (list_count > 0) {
        get_list(w, packs, pack_count, list_count, n);
        return;
    }

    size_t count = (size_t)wire_bounded(w, ENTRY_EXTENTS_INLINE);
    if (w->bad || count == 0)
        return;
    n->extents = mem_new(count, sizeof(*n->extents));
    uint64_t end = 0;
    while (n->extent_count < count && !w->bad) {
        struct extent x = extent_get(w, end, packs, pack_count);
        n->extents[n->extent_count++] = x;
        end = x.start + x.length;
    }
    if (end > n->size)
        w->bad = true;
}

/* A name that leads out of the tree must not come from here, though nothing but tree_find ever takes it. */
static void get_link(struct wire *w, struct entry *n)
{
    n->target = get_text(w, PATH_LEN_MAX);
    if (!n->target)
        return;
    _cleanup_(buf_release) struct buf key = { 0 };
    if (key_from_path((struct bytes){ (const uint8_t *)n->target, strlen(n->target) }, &key) < 0)
        w->bad = true;
}

static void get_special(struct wire *w, const struct pack_name *packs, size_t pack_count, struct entry *n)
{
    switch (n->type) {
    case ENTRY_FILE:
        get_content(w, packs, pack_count, n);
        break;
    case ENTRY_SYMLINK:
        n->target = get_text(w, PATH_LEN_MAX);
        n->size = n->target ? strlen(n->target) : 0;
        break;
    case ENTRY_CHARACTER:
    case ENTRY_BLOCK:
        n->major = (uint32_t)wire_bounded(w, UINT32_MAX);
        n->minor = (uint32_t)wire_bounded(w, UINT32_MAX);
        if (n->type == ENTRY_CHARACTER && n->major == 0 && n->minor == 0)
            w->bad = true;
        break;
    case ENTRY_DIRECTORY:
    case ENTRY_FIFO:
    case ENTRY_LINK:
        break;
    }
}

void entry_decode(struct wire *w, const struct pack_name *packs, size_t pack_count, struct entry *ret)
{
    *ret = (struct entry){ 0 };
    uint8_t type = wire_u8(w);
    if (type < ENTRY_FILE || type > ENTRY_LINK)
        w->bad = true;
    if (w->bad)
        return;

    ret->type = type;
    if (ret->type == ENTRY_LINK) {
        get_link(w, ret);
        return;
    }
    ret->mode = (uint32_t)wire_bounded(w, MODE_MAX);
    ret->uid = (uint32_t)wire_bounded(w, UINT32_MAX);
    ret->gid = (uint32_t)wire_bounded(w, UINT32_MAX);
    ret->ino = (uint32_t)wire_bounded(w, UINT32_MAX);
    ret->mtime_ns = wire_signed(w);
    ret->ctime_ns = wire_signed(w);
    get_xattrs(w, ret);
    if (!w->bad)
        get_special(w, packs, pack_count, ret);
}

void entry_pack(const struct entry *n, struct buf *to)
{
    _cleanup_(pack_table_release) struct pack_table packs = { 0 };
    _cleanup_(buf_release) struct buf body = { 0 };
    entry_encode(n, pack_table_index, &packs, &body);
    pack_table_put(&packs, to);
    buf_add(to, body.data, body.len);
}

int entry_unpack(struct bytes b, struct entry *ret, struct error *e)
{
    struct wire w = wire_reader(b.data, b.len);
    size_t pack_count;
    const struct pack_name *packs = pack_table_get(&w, &pack_count);
    struct entry n;
    entry_decode(&w, packs, pack_count, &n);
    if (!wire_done(&w)) {
        entry_release(&n);
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the entry's record is not one");
    }
    *ret = n;
    return 0;
}

static bool same_xattrs(const struct entry *a, const struct entry *b)
{
    if (a->xattr_count != b->xattr_count)
        return false;
    for (size_t i = 0; i < a->xattr_count; i++) {
        const struct xattr *x = &a->xattrs[i], *y = &b->xattrs[i];
        if (strcmp(x->name, y->name) != 0 || x->len != y->len || (x->len && memcmp(x->value, y->value, x->len) != 0))
            return false;
    }
    return true;
}

static bool same_content(const struct entry *a, const struct entry *b)
{
    if (a->size != b->size || a->list_count != b->list_count || a->extent_count != b->extent_count)
        return false;
    if (a->list_count && memcmp(a->list, b->list, a->list_count * sizeof(*a->list)) != 0)
        return false;
    for (size_t i = 0; i < a->extent_count; i++) {
        const struct extent *x = &a->extents[i], *y = &b->extents[i];
        if (x->start != y->start || x->length != y->length || !hash_equal(&x->hash, &y->hash))
            return false;
    }
    return true;
}

bool entry_xattr_left_out(const char *name)
{
    return strncmp(name, OVERLAY, strlen(OVERLAY)) == 0 || strcmp(name, "trusted.SGI_ACL_FILE") == 0 ||
           strcmp(name, "trusted.SGI_ACL_DEFAULT") == 0;
}

bool entry_same(const struct entry *a, const struct entry *b)
{
    if (a->type != b->type || !a->target != !b->target || (a->target && strcmp(a->target, b->target) != 0))
        return false;
    if (a->type == ENTRY_LINK)
        return true;
    if (a->mode != b->mode || a->uid != b->uid || a->gid != b->gid || a->mtime_ns != b->mtime_ns)
        return false;
    if (a->type == ENTRY_FILE && !same_content(a, b))
        return false;
    return a->major == b->major && a->minor == b->minor && same_xattrs(a, b);
}

uint32_t entry_mode_type(const struct entry *n)
{
    switch (n->type) {
    case ENTRY_FILE:
        return S_IFREG;
    case ENTRY_DIRECTORY:
        return S_IFDIR;
    case ENTRY_SYMLINK:
        return S_IFLNK;
    case ENTRY_FIFO:
        return S_IFIFO;
    case ENTRY_CHARACTER:
        return S_IFCHR;
    case ENTRY_BLOCK:
        return S_IFBLK;
    case ENTRY_LINK:
        return 0;
    }
    return 0;
}
