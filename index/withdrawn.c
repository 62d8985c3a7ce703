/* SPDX-License-Identifier: MIT */
#include "index/withdrawn.h"

#include "index/base/fd.h"
#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct withdrawn {
    change_each each;
    void *arg;
    struct buf *keys; /* rising */
    size_t count, at;
    struct buf gone; /* the last prefix that was deleted */
};

struct collecting {
    struct withdrawn *to;
    int upper;
    struct excluded *rules;
    withdrawn_tell tell;
    void *arg;
    struct buf path, directory;
    enum verdict above; /* on directory */
};

struct withdrawn *withdrawn_new(change_each each, void *arg)
{
    struct withdrawn *w = mem_new(1, sizeof(*w));
    w->each = each;
    w->arg = arg;
    return w;
}

void withdrawn_free(struct withdrawn *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->count; i++)
        buf_release(&w->keys[i]);
    free(w->keys);
    buf_release(&w->gone);
    free(w);
}

static int in_upper(const struct collecting *c, const char *path)
{
    int fd = fd_open_beneath(c->upper, path, O_PATH | O_NOFOLLOW, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? 1 : reach_vanished(fd) ? 0 : fd;
}

static void withdraw(struct withdrawn *w, struct bytes key)
{
    w->keys = mem_grow(w->keys, w->count + 1, sizeof(*w->keys));
    w->keys[w->count] = (struct buf){ 0 };
    buf_add(&w->keys[w->count++], key.data, key.len);
}

/* What the rules say about the directory of c->path; asked anew only when it is another one. */
static enum verdict verdict_above(struct collecting *c)
{
    const char *path = buf_string(&c->path), *slash = strrchr(path, '/');
    size_t len = slash ? (size_t)(slash - path) : 0;
    if (len == c->directory.len && (len == 0 || memcmp(path, c->directory.data, len) == 0))
        return c->above;
    buf_clear(&c->directory);
    buf_add(&c->directory, path, len);
    c->above = len ? excluded_directory(c->rules, buf_string(&c->directory)) : VERDICT_KEPT;
    return c->above;
}

static int collect(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    (void)position;
    struct collecting *c = arg;
    int r = key_to_path(key, &c->path);
    if (r < 0)
        return error_set(e, ERROR_DAMAGED, r, "a key of the base");
    const char *path = buf_string(&c->path);
    bool directory = n->type == ENTRY_DIRECTORY;
    enum verdict above = verdict_above(c);
    if (above != VERDICT_EXCLUDED &&
        excluded_judge(c->rules, path, directory, above == VERDICT_PASSAGE) != VERDICT_EXCLUDED)
        return 0;
    r = in_upper(c, path);
    if (r != 0)
        return r < 0 ? error_set(e, ERROR_FAILED, r, "look for %s in the upper layer", path) : 0;
    withdraw(c->to, key);
    return above != VERDICT_EXCLUDED && c->tell ? c->tell(c->arg, path, directory, e) : 0;
}

int withdrawn_collect(struct withdrawn *w, struct tree *base, int upper, struct excluded *rules, withdrawn_tell tell,
                      void *arg, struct error *e)
{
    struct collecting c = { .to = w, .upper = upper, .rules = rules, .tell = tell, .arg = arg };
    int r = tree_scan(base, (struct bytes){ 0 }, (struct bytes){ 0 }, collect, &c, e);
    buf_release(&c.path);
    buf_release(&c.directory);
    return r;
}

static bool starts_with(struct bytes b, const struct buf *prefix)
{
    return prefix->len > 0 && b.len >= prefix->len && memcmp(b.data, prefix->data, prefix->len) == 0;
}

/* Passes on what comes before next (empty: all). */
static int flush(struct withdrawn *w, struct bytes next, struct error *e)
{
    for (; w->at < w->count; w->at++) {
        struct bytes key = buf_bytes(&w->keys[w->at]);
        int order = next.len ? bytes_compare(key, next) : -1;
        if (order > 0)
            return 0;
        if (order == 0 || starts_with(key, &w->gone))
            continue;
        struct change c = { .kind = CHANGE_DELETE, .key = key, .fd = -1 };
        int r = w->each(w->arg, &c, e);
        if (r < 0)
            return r;
    }
    return 0;
}

int withdrawn_change(void *withdrawn, const struct change *c, struct error *e)
{
    struct withdrawn *w = withdrawn;
    int r = flush(w, c->key, e);
    if (r < 0)
        return r;
    if (c->kind == CHANGE_DELETE_PREFIX) {
        buf_clear(&w->gone);
        buf_add(&w->gone, c->key.data, c->key.len);
    }
    return w->each(w->arg, c, e);
}

int withdrawn_finish(struct withdrawn *w, struct error *e)
{
    return flush(w, (struct bytes){ 0 }, e);
}
