/* SPDX-License-Identifier: MIT */
#include "index/fill.h"

#include "index/apply.h"
#include "index/base/crash.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/content.h"
#include "index/fill-place.h"
#include "index/key.h"
#include "index/prefetch.h"
#include "index/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <uthash.h>

/* A file made here of an inode whose first name lies elsewhere in the tree, or takes no more links. */
struct stand_in {
    char *first; /* that name */
    char *here;  /* beneath the target */
    UT_hash_handle hh;
};

struct fill {
    const struct fill_config *config;
    struct fill_stats stats;
    struct buf below; /* key prefix of what is written */
    size_t strip;     /* of a path in the tree to get one beneath the target */
    struct prefetch *prefetch;
    struct stand_in *stand_ins;
    int directory; /* the open one, and its path beneath the target */
    struct buf at;
    struct buf path; /* of the entry at hand, in the tree */
    uint64_t position;
    int file; /* being written */
    struct frame *frame;
    struct locator frame_at; /* of frame: neighbouring files share one */
};

static int check(struct fill *f, struct error *e)
{
    return f->config->check ? f->config->check(f->config->arg, &f->stats, e) : 0;
}

/* The directory of the entry at hand, from the one before if it is the same: a directory's entries come together. */
static int reach(struct fill *f, const char **ret_name, struct error *e)
{
    const char *path = buf_string(&f->path) + f->strip, *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    *ret_name = slash ? slash + 1 : path;
    if (f->directory >= 0 && f->at.len == len && memcmp(buf_string(&f->at), path, len) == 0)
        return 0;
    mem_closep(&f->directory);
    buf_clear(&f->at);
    buf_add(&f->at, path, len);
    f->directory = fd_open_beneath(f->config->to, len ? buf_string(&f->at) : ".", O_RDONLY | O_DIRECTORY, 0);
    return f->directory < 0 ? error_set(e, ERROR_FAILED, f->directory, "open its directory") : 0;
}

/* --- content */

static int get_frame(struct fill *f, const struct extent *x, struct error *e)
{
    if (f->frame && f->frame_at.offset == x->frame.offset && pack_equal(&f->frame_at.pack, &x->frame.pack))
        return 0;
    frame_drop(mem_steal(f->frame));
    int r = source_get(f->config->source, &x->frame, FRAME_DATA, &f->frame, e);
    f->frame_at = x->frame;
    return r;
}

static int write_extent(void *arg, const struct extent *x, struct error *e)
{
    struct fill *f = arg;
    prefetch_reached(f->prefetch, f->position, x->start);
    int r = get_frame(f, x, e);
    if (r < 0)
        return r;
    if (x->within > f->frame->len || x->length > f->frame->len - x->within)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "an extent that leaves its frame");
    r = fd_pwrite_all(f->file, f->frame->data + x->within, x->length, x->start, e);
    if (r < 0)
        return r;
    f->stats.bytes += x->length;
    return check(f, e);
}

static int write_file(struct fill *f, const char *name, const struct entry *n, struct error *e)
{
    _cleanup_close_ int fd =
        openat(f->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_LARGEFILE, 0600);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "create");
    uint64_t before = f->stats.bytes;
    f->file = fd;
    int r = ftruncate(fd, (off_t)n->size) < 0 ? error_set(e, ERROR_FAILED, -errno, "set the size") : 0;
    if (r == 0)
        r = content_each(n, f->config->source, write_extent, f, e);
    if (r == 0)
        r = apply_attributes(fd, "", n, e);
    if (r == 0 && close(mem_steal_fd(&fd)) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "close");
    if (r == 0)
        f->stats.bytes = before + n->size;
    crash_point("fill-file.after");
    return r;
}

/* --- entries */

static int asked(void *arg, struct error *e)
{
    return check(arg, e);
}

/* What is there may stay (1), is in the way and gone now (0). */
static int settle(struct fill *f, const char *name, const struct entry *n, struct error *e)
{
    if (!f->config->resume)
        return 0;
    const struct content_ask ask = { asked, f };
    int r = fill_place_matches(f->directory, name, n, f->config->source, f->config->key, &ask, e);
    if (r == 0)
        return remove_tree(f->directory, name, e);
    if (r > 0 && n->type == ENTRY_FILE) {
        f->stats.kept++;
        f->stats.bytes += n->size;
    }
    return r;
}

static int put_inode(struct fill *f, const char *name, const struct entry *n, struct error *e)
{
    int r = settle(f, name, n, e);
    if (r < 0)
        return r;
    if (n->type == ENTRY_DIRECTORY) { /* its attributes: when all is in it */
        f->stats.directories++;
        if (r > 0)
            return fill_place_open_up(f->directory, name, e);
        return mkdirat(f->directory, name, 0700) < 0 ? error_set(e, ERROR_FAILED, -errno, "make") : 0;
    }
    f->stats.files++;
    if (r > 0)
        return apply_attributes(f->directory, name, n, e);
    return n->type == ENTRY_FILE ? write_file(f, name, n, e) : apply_special(f->directory, name, n, e);
}

static int put_link(struct fill *f, const char *name, const char *first, struct error *e)
{
    _cleanup_close_ int parent = -1;
    const char *other;
    struct stat a, b;
    int r = reach_parent(f->config->to, first, &parent, &other);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "open the directory of %s", first);
    if (f->config->resume && fstatat(parent, other, &a, AT_SYMLINK_NOFOLLOW) == 0 &&
        fstatat(f->directory, name, &b, AT_SYMLINK_NOFOLLOW) == 0) {
        if (a.st_dev == b.st_dev && a.st_ino == b.st_ino) {
            f->stats.files++;
            return 0;
        }
        r = remove_tree(f->directory, name, e);
        if (r < 0)
            return r;
    }
    bool made = linkat(parent, other, f->directory, name, 0) == 0;
    if (!made && errno == ENOENT && f->config->lost)
        return error_say(e, ERROR_DAMAGED, -ENOENT, "it is one file with %s", first);
    if (!made)
        return error_set(e, ERROR_FAILED, -errno, "link to %s", first);
    f->stats.files++;
    return 0;
}

/* A link to what cannot be linked to: this name becomes the file that those after it are linked to. */
static int put_stand_in(struct fill *f, const char *name, const struct entry *link, struct error *e)
{
    struct stand_in *o;
    _cleanup_(entry_release) struct entry n = { 0 };
    entry_copy(link, &n);
    int r = tree_resolve(f->config->tree, &n, e);
    if (r == 0)
        r = put_inode(f, name, &n, e);
    if (r < 0)
        return r;
    HASH_FIND_STR(f->stand_ins, link->target, o);
    if (!o) {
        o = mem_new(1, sizeof(*o));
        o->first = mem_strdup(link->target);
        HASH_ADD_KEYPTR(hh, f->stand_ins, o->first, strlen(o->first), o);
    }
    free(o->here);
    o->here = mem_strdup(buf_string(&f->path) + f->strip);
    return 0;
}

static int put(struct fill *f, const char *name, const struct entry *n, struct error *e)
{
    if (n->type != ENTRY_LINK)
        return put_inode(f, name, n, e);
    const char *from = f->config->from;
    bool inside = f->strip == 0 || (strncmp(n->target, from, f->strip - 1) == 0 && n->target[f->strip - 1] == '/');
    struct stand_in *o;
    HASH_FIND_STR(f->stand_ins, n->target, o);
    if (!o && !inside)
        return put_stand_in(f, name, n, e);
    int r = put_link(f, name, o ? o->here : n->target + f->strip, e);
    if (r != -EMLINK)
        return r;
    error_clear(e);
    if (f->config->apart)
        f->config->apart(f->config->arg, buf_string(&f->path));
    return put_stand_in(f, name, n, e);
}

/* With the error of the entry at hand: whether the fill goes on without it. */
static bool leave_out(struct fill *f, const char *name, const struct entry *n, struct error *e)
{
    if (!f->config->lost || !e || e->kind != ERROR_DAMAGED || (n->type != ENTRY_FILE && n->type != ENTRY_LINK))
        return false;
    unlinkat(f->directory, name, 0);
    f->config->lost(f->config->arg, buf_string(&f->path), e);
    error_clear(e);
    return true;
}

static int put_entry(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    struct fill *f = arg;
    const char *name;
    struct fill_stats before = f->stats;
    int r = key_to_path(key, &f->path);
    if (r < 0)
        return error_set(e, ERROR_DAMAGED, r, "a key of the tree");
    f->position = position;
    prefetch_reached(f->prefetch, position, 0);
    r = reach(f, &name, e);
    if (r == 0)
        r = put(f, name, n, e);
    if (r < 0 && leave_out(f, name, n, e)) {
        f->stats = before;
        r = 0;
    }
    if (r == 0)
        r = check(f, e);
    return r < 0 ? error_prefix(e, "%s", buf_string(&f->path)), r : 0;
}

static int finish_directory(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    (void)position;
    struct fill *f = arg;
    const char *name;
    if (n->type != ENTRY_DIRECTORY)
        return 0;
    int r = key_to_path(key, &f->path);
    if (r < 0)
        return error_set(e, ERROR_DAMAGED, r, "a key of the tree");
    r = reach(f, &name, e);
    if (r == 0)
        r = apply_attributes(f->directory, name, n, e);
    return r < 0 ? error_prefix(e, "%s", buf_string(&f->path)), r : 0;
}

/* --- the whole */

static int page_is_here(void *arg, const struct locator *page, uint8_t level, struct error *e)
{
    (void)page;
    (void)level;
    return check(arg, e);
}

static bool content_wanted(void *arg, struct bytes key, const struct entry *n)
{
    struct fill *f = arg;
    _cleanup_(buf_release) struct buf path = { 0 };
    _cleanup_close_ int parent = -1;
    const char *name;
    return key_to_path(key, &path) < 0 || path.len < f->strip ||
           reach_parent(f->config->to, buf_string(&path) + f->strip, &parent, &name) < 0 ||
           !fill_place_looks_like(parent, name, n);
}

static int start(struct fill *f, struct error *e)
{
    const struct fill_config *c = f->config;
    size_t len = strlen(c->from);
    int r = key_subtree_prefix((struct bytes){ (const uint8_t *)c->from, len }, &f->below);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "%s: no directory of a tree", c->from);
    f->strip = len ? len + 1 : 0;
    r = fill_place_open_up(c->to, ".", e);
    if (r == 0)
        r = tree_pages(c->tree, false, page_is_here, f, e);
    if (r < 0)
        return r;
    struct prefetch_config p = { .tree = c->tree,
                                 .source = c->source,
                                 .below = buf_bytes(&f->below),
                                 .wanted = c->resume ? content_wanted : NULL,
                                 .arg = f };
    return prefetch_start(&p, &f->prefetch, e);
}

/* The target itself, which has an entry unless it stands for the root. */
static int finish_target(struct fill *f, struct error *e)
{
    const struct fill_config *c = f->config;
    _cleanup_(buf_release) struct buf key = { 0 };
    _cleanup_(entry_release) struct entry n = { 0 };
    if (f->strip == 0)
        return 0;
    int r = key_from_path((struct bytes){ (const uint8_t *)c->from, f->strip - 1 }, &key);
    if (r == 0)
        r = tree_find(c->tree, buf_bytes(&key), NULL, &n, e);
    if (r == 0)
        (void)fremovexattr(c->to, "system.posix_acl_access");
    return r == 0 ? apply_attributes(c->to, "", &n, e) : r;
}

static void release(struct fill *f)
{
    struct stand_in *o, *next;
    HASH_ITER (hh, f->stand_ins, o, next) {
        HASH_DEL(f->stand_ins, o);
        free(o->first);
        free(o->here);
        free(o);
    }
    prefetch_stop(f->prefetch);
    frame_drop(f->frame);
    mem_closep(&f->directory);
    buf_release(&f->below);
    buf_release(&f->at);
    buf_release(&f->path);
}

int fill_run(const struct fill_config *c, struct fill_stats *ret, struct error *e)
{
    struct fill f = { .config = c, .directory = -1, .file = -1 };
    int r = start(&f, e);
    if (r == 0)
        r = tree_scan(c->tree, buf_bytes(&f.below), (struct bytes){ 0 }, put_entry, &f, e);
    crash_point("fill-entries.after");
    if (r == 0)
        r = tree_scan(c->tree, buf_bytes(&f.below), (struct bytes){ 0 }, finish_directory, &f, e);
    if (r == 0)
        r = finish_target(&f, e);
    if (r == 0 && syncfs(c->to) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "syncfs");
    crash_point("fill-sync.after");
    release(&f);
    if (r == 0 && ret)
        *ret = f.stats;
    return r;
}
