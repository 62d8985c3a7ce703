/* SPDX-License-Identifier: MIT */
#include "tests/unit/scratch.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/upper.h"
#include "index/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define PIECE (64u * 1024)

static void need(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "scratch: %s: %s\n", what, strerror(errno));
    abort();
}

char *scratch_new(void)
{
    static bool alone;
    if (!alone) {
        need(unshare(CLONE_NEWNS) == 0, "unshare");
        need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "make mounts private");
        alone = true;
    }
    char path[] = "/tmp/test-scratch.XXXXXX";
    need(mkdtemp(path) != NULL, "mkdtemp");
    return mem_strdup(path);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    need(remove(path) == 0, path);
    return 0;
}

void scratch_remove_tree(const char *path)
{
    need(nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS) == 0, path);
}

void scratch_remove(char *path)
{
    scratch_remove_tree(path);
    free(path);
}

#define format_path(path, fmt)                                                                                         \
    char path[5000];                                                                                                   \
    do {                                                                                                               \
        va_list args;                                                                                                  \
        va_start(args, fmt);                                                                                           \
        vsnprintf(path, sizeof(path), fmt, args);                                                                      \
        va_end(args);                                                                                                  \
    } while (0)

int scratch_open(const char *fmt, ...)
{
    format_path(path, fmt);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    need(fd >= 0, path);
    return fd;
}

void scratch_mkdir(const char *fmt, ...)
{
    format_path(path, fmt);
    need(fd_make_directories(path, 0755, NULL) == 0, path);
}

void scratch_write(const char *content, const char *fmt, ...)
{
    format_path(path, fmt);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    need(fd >= 0, path);
    need(fd_write_all(fd, content, strlen(content), NULL) == 0, path);
    close(fd);
}

void scratch_mount(const char *scratch)
{
    static const char *const names[] = { "lower", "upper", "work", "merged" };
    for (size_t i = 0; i < 4; i++)
        scratch_mkdir("%s/%s", scratch, names[i]);
    int fd = open("/sys/module/overlay/parameters/redirect_max", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        need(write(fd, "4096", 4) == 4, "redirect_max"); /* rule O3 */
        close(fd);
    }
    char options[600], merged[200];
    snprintf(options, sizeof(options),
             "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work,index=off,redirect_dir=on,metacopy=on,xino=on",
             scratch, scratch, scratch);
    snprintf(merged, sizeof(merged), "%s/merged", scratch);
    need(mount("overlay", merged, "overlay", MS_NOSUID | MS_NODEV, options) == 0, options);
}

void scratch_unmount(const char *scratch)
{
    char merged[200];
    snprintf(merged, sizeof(merged), "%s/merged", scratch);
    need(umount2(merged, 0) == 0, merged);
}

struct scratch_save {
    struct twin *twin;
    struct grow *grow;
    struct buf last; /* key of the last change, and whether it was a prefix */
    unsigned changes;
};

static void check(int r, const struct error *e)
{
    if (r < 0)
        fprintf(stderr, "scratch: %s\n", e->text);
    need(r >= 0, "see above");
}

struct scratch_save *scratch_save_begin(struct twin *t, struct tree *base)
{
    struct error e = { 0 };
    struct scratch_save *s = mem_new(1, sizeof(*s));
    s->twin = t;
    check(grow_new(base, &twin_key, twin_emit, t, &s->grow, &e), &e);
    return s;
}

static void read_content(struct scratch_save *s, int fd, struct entry *n)
{
    static uint8_t piece[PIECE];
    free(n->extents);
    n->extents = mem_new(n->size / PIECE + 1, sizeof(*n->extents));
    n->extent_count = 0;
    for (uint64_t at = 0; at < n->size; at += PIECE) {
        size_t len = n->size - at < PIECE ? (size_t)(n->size - at) : PIECE;
        need(fd_pread_all(fd, piece, len, at, NULL) == 0, "read a file");
        struct extent *x = &n->extents[n->extent_count++];
        *x = (struct extent){ .start = at, .length = len, .frame = twin_add(s->twin, FRAME_DATA, piece, len) };
        hash_bytes(&twin_key, piece, len, &x->hash);
    }
    if (n->extent_count <= ENTRY_EXTENTS_INLINE)
        return;
    _cleanup_(buf_release) struct buf list = { 0 };
    extents_encode(n->extents, n->extent_count, &list);
    n->list = mem_new(1, sizeof(*n->list));
    n->list[0] = twin_add(s->twin, FRAME_EXTENTS, list.data, list.len);
    n->list_count = 1;
    n->extent_count = 0;
}

int scratch_save_change(void *save, const struct change *c, struct error *e)
{
    struct scratch_save *s = save;
    if (s->changes++ > 0 && bytes_compare(c->key, buf_bytes(&s->last)) <= 0)
        return error_say(e, ERROR_FAILED, -EINVAL, "changes are not in order");
    buf_clear(&s->last);
    buf_add(&s->last, c->key.data, c->key.len);
    if (c->kind == CHANGE_DELETE)
        return grow_delete(s->grow, c->key, e);
    if (c->kind == CHANGE_DELETE_PREFIX)
        return grow_delete_prefix(s->grow, c->key, e);

    _cleanup_(entry_release) struct entry n = { 0 };
    entry_copy(c->entry, &n);
    if (n.type == ENTRY_FILE && !c->content_known)
        read_content(s, c->fd, &n);
    if (n.type != ENTRY_LINK && n.ino == 0)
        return error_say(e, ERROR_FAILED, -EINVAL, "an entry without ino");
    return grow_put(s->grow, c->key, &n, e);
}

int scratch_print(void *text, const struct change *c, struct error *e)
{
    (void)e;
    _cleanup_(buf_release) struct buf path = { 0 }, key = { 0 };
    buf_add(&key, c->key.data, c->key.len);
    if (c->kind == CHANGE_DELETE_PREFIX)
        buf_add(&key, "\x01*", 2);
    need(key_to_path(buf_bytes(&key), &path) == 0, "a key");
    buf_printf(text, "%s%s%s%s %s", c->kind == CHANGE_PUT ? "put" : "delete", c->base ? " over" : "",
               c->base_link ? " link" : "", c->fd >= 0 ? " open" : "", buf_string(&path));
    if (c->kind == CHANGE_PUT && c->entry->type == ENTRY_LINK)
        buf_printf(text, " -> %s", c->entry->target);
    buf_printf(text, "%s%s\n", c->moved_from ? " was " : "", c->moved_from ? c->moved_from : "");
    return 0;
}

struct tree_root scratch_save_finish(struct scratch_save *s, unsigned *ret_changes)
{
    struct error e = { 0 };
    struct tree_root root = { 0 };
    check(grow_finish(s->grow, &root, &e), &e);
    if (ret_changes)
        *ret_changes = s->changes;
    grow_free(s->grow);
    buf_release(&s->last);
    free(s);
    return root;
}

struct tree_root scratch_snapshot(struct twin *t, int project, int home, const struct exclude *rules)
{
    struct error e = { 0 };
    struct entry empty = { .type = ENTRY_DIRECTORY, .mode = 0700, .ino = 77 };
    struct walk_config c = { .project = project, .home = home, .home_entry = &empty, .rules = rules };
    struct walk_stats stats;
    struct scratch_save *s = scratch_save_begin(t, NULL);
    check(walk_run(&c, scratch_save_change, s, &stats, &e), &e);
    return scratch_save_finish(s, NULL);
}

/* The base's tree with names of one inode, which the lower directory must not have. */
static struct tree_root with_groups(struct twin *t, const struct tree_root *root, const char *const *const *groups)
{
    struct error e = { 0 };
    struct tree *tree = twin_open(t, root);
    struct buf keys[64] = { 0 };
    const char *firsts[64];
    size_t count = 0;
    for (size_t g = 0; groups && groups[g]; g++) {
        for (size_t i = 1; groups[g][i]; i++) {
            const char *path = groups[g][i];
            check(key_from_path((struct bytes){ (const uint8_t *)path, strlen(path) }, &keys[count]), &e);
            firsts[count++] = groups[g][0];
        }
    }
    for (size_t i = 0; i < count; i++) { /* few: a plain sort */
        for (size_t k = i + 1; k < count; k++) {
            if (bytes_compare(buf_bytes(&keys[k]), buf_bytes(&keys[i])) < 0) {
                struct buf key = keys[i];
                const char *first = firsts[i];
                keys[i] = keys[k], firsts[i] = firsts[k];
                keys[k] = key, firsts[k] = first;
            }
        }
    }
    struct grow *g = NULL;
    check(grow_new(tree, &twin_key, twin_emit, t, &g, &e), &e);
    for (size_t i = 0; i < count; i++) {
        struct entry n = { .type = ENTRY_LINK, .target = (char *)firsts[i] };
        check(grow_put(g, buf_bytes(&keys[i]), &n, &e), &e);
        buf_release(&keys[i]);
    }
    struct tree_root ret = { 0 };
    check(grow_finish(g, &ret, &e), &e);
    grow_free(g);
    tree_close(tree);
    return ret;
}

static void times_of(const char *path, struct timespec times[2])
{
    struct stat st;
    need(lstat(path, &st) == 0, path);
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
}

/* As `up` does it: rule O2. */
static void join(const char *scratch, const char *first, const char *other)
{
    char from[600], to[600], directory[600], temporary[700];
    snprintf(from, sizeof(from), "%s/merged/%s", scratch, first);
    snprintf(to, sizeof(to), "%s/merged/%s", scratch, other);
    snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(to, '/') - to), to);
    snprintf(temporary, sizeof(temporary), "%s/.joining", directory);
    struct stat st;
    struct timespec times[2];
    times_of(directory, times);
    need(lstat(from, &st) == 0, from);
    need(lchown(from, st.st_uid, st.st_gid) == 0, from);
    need(link(from, temporary) == 0, temporary);
    need(rename(temporary, to) == 0, to);
    need(utimensat(AT_FDCWD, directory, times, 0) == 0, directory);
}

void scratch_box_mount(struct scratch_box *b, char *scratch, const char *const *const *groups)
{
    *b = (struct scratch_box){ .scratch = scratch, .twin = twin_new() };
    scratch_mkdir("%s/lower/project", scratch);
    scratch_mkdir("%s/lower/home", scratch);
    int project = scratch_open("%s/lower/project", scratch), home = scratch_open("%s/lower/home", scratch);
    struct tree_root plain = scratch_snapshot(b->twin, project, home, NULL);
    close(project);
    close(home);
    b->base = with_groups(b->twin, &plain, groups);
    scratch_mount(scratch);
    for (size_t g = 0; groups && groups[g]; g++)
        for (size_t i = 1; groups[g][i]; i++)
            join(scratch, groups[g][0], groups[g][i]);
}

void scratch_box_remove(struct scratch_box *b)
{
    scratch_unmount(b->scratch);
    scratch_remove(b->scratch);
    twin_free(b->twin);
}

int scratch_box_run(struct scratch_box *b, struct upper_config c, change_each each, void *arg, struct walk_stats *ret,
                    struct error *e)
{
    c.base = twin_open(b->twin, &b->base);
    c.upper = scratch_open("%s/upper", b->scratch);
    c.merged = scratch_open("%s/merged", b->scratch);
    int r = upper_run(&c, each, arg, ret, e);
    tree_close(c.base);
    close(c.upper);
    close(c.merged);
    return r;
}

struct tree_root scratch_box_changed(struct scratch_box *b, const struct exclude *rules, bool rules_changed,
                                     unsigned *ret_changes)
{
    struct error e = { 0 };
    struct walk_stats stats;
    struct tree *base = twin_open(b->twin, &b->base);
    struct scratch_save *s = scratch_save_begin(b->twin, base);
    struct upper_config c = { .rules = rules, .rules_changed = rules_changed };
    check(scratch_box_run(b, c, scratch_save_change, s, &stats, &e), &e);
    struct tree_root ret = scratch_save_finish(s, ret_changes);
    tree_close(base);
    return ret;
}

struct tree_root scratch_box_walked(struct scratch_box *b, const struct exclude *rules)
{
    int project = scratch_open("%s/merged/project", b->scratch), home = scratch_open("%s/merged/home", b->scratch);
    struct tree_root ret = scratch_snapshot(b->twin, project, home, rules);
    close(project);
    close(home);
    return ret;
}

struct writing {
    struct twin *twin;
    struct buf text;
};

static void write_extents(struct writing *w, const struct entry *n)
{
    struct extent *x = NULL;
    size_t count = 0;
    for (size_t i = 0; i < n->list_count; i++)
        need(extents_decode(twin_bytes(w->twin, &n->list[i]), &x, &count, NULL) == 0, "decode extents");
    const struct extent *all = n->list_count ? x : n->extents;
    count = n->list_count ? count : n->extent_count;
    for (size_t i = 0; i < count; i++) {
        char hash[2 * HASH_LEN + 1];
        text_hex(hash, all[i].hash.b, HASH_LEN);
        hash[12] = '\0';
        buf_printf(&w->text, " %" PRIu64 "+%" PRIu64 ":%s", all[i].start, all[i].length, hash);
    }
    free(x);
}

static int write_entry(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    (void)position;
    (void)e;
    struct writing *w = arg;
    _cleanup_(buf_release) struct buf path = { 0 };
    need(key_to_path(key, &path) == 0, "a key");
    text_escape(&w->text, path.data, path.len);
    buf_printf(&w->text, " type %d mode %o owner %u:%u mtime %" PRId64 " size %" PRIu64 " device %u:%u -> %s", n->type,
               n->mode, n->uid, n->gid, n->mtime_ns, n->size, n->major, n->minor, n->target ? n->target : "");
    for (size_t i = 0; i < n->xattr_count; i++) {
        buf_printf(&w->text, " %s=", n->xattrs[i].name);
        text_escape(&w->text, n->xattrs[i].value, n->xattrs[i].len);
    }
    write_extents(w, n);
    buf_printf(&w->text, "\n");
    return 0;
}

char *scratch_text(struct twin *t, const struct tree_root *root)
{
    struct error e = { 0 };
    struct writing w = { .twin = t };
    struct tree *tree = twin_open(t, root);
    check(tree_scan(tree, (struct bytes){ 0 }, (struct bytes){ 0 }, write_entry, &w, &e), &e);
    tree_close(tree);
    buf_string(&w.text);
    return (char *)w.text.data;
}

struct exclude *scratch_rules(const char *one, const char *two)
{
    struct error e = { 0 };
    struct bytes rules[2] = { { (const uint8_t *)one, one ? strlen(one) : 0 },
                              { (const uint8_t *)two, two ? strlen(two) : 0 } };
    struct exclude *x = NULL;
    check(exclude_new(rules, one ? two ? 2 : 1 : 0, &x, &e), &e);
    return x;
}
