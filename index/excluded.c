/* SPDX-License-Identifier: MIT */
#include "index/excluded.h"

#include "index/base/mem.h"
#include "index/names.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <uthash.h>

#define PROJECT "project/"

/* A file that rules cover under some name and that has others. */
struct suspect {
    struct {
        uint64_t device, inode;
    } id;
    uint64_t links, covered;
    bool secret, kept;
    char **paths; /* covered ones */
    UT_hash_handle hh;
};

struct passage {
    UT_hash_handle hh;
    char path[];
};

struct excluded {
    const struct exclude *rules;
    struct suspect *suspects;
    struct passage *passages;
};

/* One run over the names. */
struct search {
    struct excluded *x;
    const struct reach_root *root;
    bool live;
    bool everywhere; /* second run: look for names that no rule covers */
    struct buf path;
};

void excluded_free(struct excluded *x)
{
    if (!x)
        return;
    struct suspect *s, *next_suspect;
    HASH_ITER (hh, x->suspects, s, next_suspect) {
        HASH_DEL(x->suspects, s);
        for (uint64_t i = 0; i < s->covered; i++)
            free(s->paths[i]);
        free(s->paths);
        free(s);
    }
    struct passage *p, *next_passage;
    HASH_ITER (hh, x->passages, p, next_passage) {
        HASH_DEL(x->passages, p);
        free(p);
    }
    free(x);
}

void excluded_freep(struct excluded **x)
{
    excluded_free(*x);
}

static bool is_secret(const char *path)
{
    return exclude_secret((struct bytes){ (const uint8_t *)path, strlen(path) });
}

static bool by_rule(const struct excluded *x, const char *path, bool directory)
{
    const char *slash = strchr(path, '/');
    if (!slash)
        return false; /* the roots themselves */
    bool project = strncmp(path, PROJECT, strlen(PROJECT)) == 0;
    const struct exclude *rules = project ? x->rules : exclude_home(x->rules);
    return is_secret(path) || exclude_cut_off(path) ||
           exclude_entry(rules, (struct bytes){ (const uint8_t *)slash + 1, strlen(slash + 1) }, directory);
}

static struct suspect *find(const struct excluded *x, uint64_t device, uint64_t inode)
{
    struct suspect key = { .id = { device, inode } }, *s;
    HASH_FIND(hh, x->suspects, &key.id, sizeof(key.id), s);
    return s;
}

static void suspect(struct search *s, const struct attributes *a)
{
    struct suspect *found = find(s->x, a->device, a->inode);
    if (!found) {
        found = mem_new(1, sizeof(*found));
        found->id.device = a->device;
        found->id.inode = a->inode;
        HASH_ADD(hh, s->x->suspects, id, sizeof(found->id), found);
    }
    const char *path = buf_string(&s->path);
    found->links = a->links;
    found->secret |= is_secret(path);
    found->paths = mem_grow(found->paths, found->covered + 1, sizeof(*found->paths));
    found->paths[found->covered++] = mem_strdup(path);
}

static int look_at_file(struct search *s, int dir, const char *name, bool covered, struct error *e)
{
    if (!covered && !s->everywhere)
        return 0;
    struct attributes a;
    int r = attributes_stat(dir, name, &a, e);
    if (r < 0)
        return r;
    if (a.links > 1 && !a.whiteout && a.entry.type != ENTRY_DIRECTORY) {
        struct suspect *known = s->everywhere ? find(s->x, a.device, a.inode) : NULL;
        if (known)
            known->kept |= !covered;
        else if (!s->everywhere)
            suspect(s, &a);
    }
    return 0;
}

static int look_below(struct search *s, int fd, unsigned depth, bool covered, struct error *e);

static int look_at(struct search *s, int dir, const struct names *l, size_t i, unsigned depth, bool covered,
                   struct error *e)
{
    const char *name = names_get(l, i);
    bool directory = l->items[i].type == DT_DIR;
    ssize_t up = reach_down(&s->path, name, e);
    if (up < 0)
        return (int)up;
    covered = covered || by_rule(s->x, buf_string(&s->path), directory);
    int r = 0;
    if (directory) {
        int fd = reach_directory(s->root, dir, buf_string(&s->path), name);
        r = fd < 0 ? error_set(e, ERROR_FAILED, fd, "open") : look_below(s, fd, depth + 1, covered, e);
    } else {
        r = look_at_file(s, dir, name, covered, e);
    }
    if (s->live && reach_vanished(r))
        r = 0;
    reach_up(&s->path, up);
    return r;
}

/* Takes fd. Files before directories, so that deep directories can be closed before going down. */
static int look_below(struct search *s, int fd, unsigned depth, bool covered, struct error *e)
{
    _cleanup_close_ int dir = fd;
    _cleanup_(names_release) struct names l = { 0 };
    int r = names_read(dir, &l, e);
    for (size_t i = 0; r == 0 && i < l.count; i++)
        if (l.items[i].type != DT_DIR)
            r = look_at(s, dir, &l, i, depth, covered, e);
    if (depth > REACH_OPEN_MAX)
        close(mem_steal_fd(&dir));
    for (size_t i = 0; r == 0 && i < l.count; i++)
        if (l.items[i].type == DT_DIR)
            r = look_at(s, dir, &l, i, depth, covered, e);
    return r;
}

static int look(struct excluded *x, const struct reach_root *roots, size_t count, bool live, bool everywhere,
                struct error *e)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        struct search s = { .x = x, .root = &roots[i], .live = live, .everywhere = everywhere };
        buf_printf(&s.path, "%s", roots[i].name);
        int fd = reach_directory(&roots[i], -1, roots[i].name, roots[i].name);
        r = fd < 0 ? error_set(e, ERROR_FAILED, fd, "open") : look_below(&s, fd, 0, false, e);
        if (r < 0)
            error_prefix(e, "look for excluded names at %s", buf_string(&s.path));
        buf_release(&s.path);
    }
    return r;
}

static void open_passages(struct excluded *x, const char *path)
{
    _cleanup_free_ char *above = mem_strdup(path);
    for (char *slash = strrchr(above, '/'); slash; slash = strrchr(above, '/')) {
        *slash = '\0';
        struct passage *p;
        HASH_FIND_STR(x->passages, above, p);
        if (p)
            return;
        size_t len = strlen(above);
        p = mem_new(1, sizeof(*p) + len + 1);
        memcpy(p->path, above, len);
        HASH_ADD_STR(x->passages, path, p);
    }
}

int excluded_new(const struct exclude *rules, const struct reach_root *roots, size_t count, bool live,
                 struct excluded **ret, struct error *e)
{
    _cleanup_(excluded_freep) struct excluded *x = mem_new(1, sizeof(*x));
    x->rules = rules;
    int r = look(x, roots, count, live, false, e);
    if (r < 0)
        return r;

    bool elsewhere = false;
    for (struct suspect *s = x->suspects; s; s = s->hh.next)
        elsewhere |= !s->secret && s->covered < s->links;
    r = elsewhere ? look(x, roots, count, live, true, e) : 0;
    if (r < 0)
        return r;

    for (struct suspect *s = x->suspects; s; s = s->hh.next)
        for (uint64_t i = 0; s->kept && !s->secret && i < s->covered; i++)
            open_passages(x, s->paths[i]);
    *ret = mem_steal(x);
    return 0;
}

enum verdict excluded_judge(const struct excluded *x, const char *path, bool directory, bool below)
{
    if (!below && !by_rule(x, path, directory))
        return VERDICT_KEPT;
    struct passage *p = NULL;
    if (directory)
        HASH_FIND_STR(x->passages, path, p);
    return p ? VERDICT_PASSAGE : VERDICT_EXCLUDED;
}

enum verdict excluded_ask(const struct excluded *x, const char *path, const struct attributes *a, bool below)
{
    bool directory = a->entry.type == ENTRY_DIRECTORY;
    struct suspect *s = !directory && a->links > 1 ? find(x, a->device, a->inode) : NULL;
    if (s)
        return s->kept && !s->secret ? VERDICT_KEPT : VERDICT_EXCLUDED;
    return excluded_judge(x, path, directory, below);
}

enum verdict excluded_directory(const struct excluded *x, const char *path)
{
    _cleanup_free_ char *above = mem_strdup(path);
    enum verdict v = VERDICT_KEPT;
    for (char *end = above; v != VERDICT_EXCLUDED && end; end = strchr(end + 1, '/')) {
        if (end == above)
            continue;
        *end = '\0';
        v = excluded_judge(x, above, true, v == VERDICT_PASSAGE);
        *end = '/';
    }
    return v == VERDICT_EXCLUDED ? v : excluded_judge(x, path, true, v == VERDICT_PASSAGE);
}
