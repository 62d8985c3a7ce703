/* SPDX-License-Identifier: MIT */
#include "cli/globals.h"

#include "cli/interrupt.h"
#include "cli/place.h"
#include "index/base/crash.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/base/text.h"
#include "index/copy.h"
#include "index/names.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#define KEPT_S (30 * 24 * 3600)
#define KEPT_MAX 100
#define LEFT_SHOWN 8

/* Below HOME. */
static const struct {
    const char *path;
    bool directory; /* all of it is one whole: what a push no longer has goes */
} places[] = {
    { ".claude/CLAUDE.md", false }, { ".claude/settings.json", false }, { ".claude/output-styles", true },
    { ".claude/skills", true },     { ".claude/plugins", true },        { ".gitconfig", false },
    { ".config/gh", true },         { ".codex/config.toml", false },    { ".grok/config.toml", false },
};
#define PLACES (sizeof(places) / sizeof(places[0]))

struct running {
    struct stack *stack;
    const char *phase;
    json_t *kept;
    const char *becomes; /* of what is left for its type */
    char *left[LEFT_SHOWN];
    size_t left_count;
};

static void running_release(struct running *r)
{
    for (size_t i = 0; i < r->left_count; i++)
        free(r->left[i]);
}

static int open_in(struct stack *s, const char *name, int *ret, struct error *e)
{
    *ret = openat(s->box_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *ret < 0 ? error_set(e, ERROR_FAILED, -errno, "open %s/globals/%s", s->config->state_dir, name) : 0;
}

bool globals_have(struct stack *s, const char *directory)
{
    struct stat st;
    return fstatat(s->box_dir, directory, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

int globals_make(struct stack *s, const char *directory, struct error *e)
{
    if (mkdirat(s->box_dir, directory, 0700) == 0 ? fsync(s->box_dir) == 0 : errno == EEXIST)
        return 0;
    return error_set(e, ERROR_FAILED, -errno, "make %s/globals/%s", s->config->state_dir, directory);
}

static int check(void *arg, const struct mirror_stats *so_far, struct error *e)
{
    struct running *r = arg;
    ui_progress(r->stack->ui, r->phase, so_far->entries, so_far->bytes, 0);
    return interrupt_check(e);
}

static void on_kept(void *arg, const char *path)
{
    struct running *r = arg;
    json_t *one = json_object();
    ui_path_into(one, "path", path, strlen(path));
    json_array_append_new(r->kept, one);
}

static void on_left(void *arg, const char *path, const char *type)
{
    struct running *r = arg;
    for (size_t i = 0; i < r->left_count; i++)
        if (strcmp(r->left[i], path) == 0)
            return;
    if (r->left_count == LEFT_SHOWN)
        return;
    r->left[r->left_count++] = mem_strdup(path);
    ui_warn(r->stack->ui, "~/%s is %s: %s", path, type, r->becomes);
    if (r->left_count == LEFT_SHOWN)
        ui_warn(r->stack->ui, "others are not told of");
}

/* Of a place that is gone: the directories above places are no configuration. */
static void remove_empty(int dir)
{
    for (size_t i = 0; i < PLACES; i++) {
        _cleanup_free_ char *above = mem_strdup(places[i].path);
        char *slash = strrchr(above, '/');
        if (slash) {
            *slash = '\0';
            unlinkat(dir, above, AT_REMOVEDIR);
        }
    }
}

/* --- out of HOME */

/* A link that leads nowhere, to a place or at it: as to a disk that is not mounted. */
static bool has_broken_link(const char *place)
{
    _cleanup_free_ char *at = mem_strdup(place);
    struct stat st;
    while (lstat(at, &st) < 0) {
        char *slash = strrchr(at, '/');
        if (slash == at)
            return false;
        *slash = '\0';
    }
    return S_ISLNK(st.st_mode) && stat(at, &st) < 0;
}

/* One place, wherever links lead; one that is not there is none in `to`, too. */
static int collect(struct mirror_config *c, const char *path, struct mirror_stats *stats, struct error *e)
{
    _cleanup_free_ char *place = mem_printf("%s/%s", config_home(), path), *real = realpath(place, NULL);
    _cleanup_close_ int above = -1;
    const char *name = "";
    if (real) {
        char *slash = strrchr(real, '/');
        *slash = '\0';
        name = slash + 1;
        above = open(slash == real ? "/" : real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (above < 0)
            return error_set(e, ERROR_FAILED, -errno, "open the directory of %s", place);
    } else if (errno != ENOENT && errno != ENOTDIR) {
        return error_set(e, ERROR_FAILED, -errno, "%s", place);
    } else if (has_broken_link(place)) { /* nobody has removed it, but all nodes would */
        error_say(e, ERROR_FAILED, -ENOENT, "~/%s: a link there leads nowhere", path);
        return error_hint(e, "mount what it leads to, or remove the link"), -ENOENT;
    }
    c->from = above;
    int r = mirror_run(c, name, path, stats, e);
    if (r < 0)
        error_prefix(e, "read ~/%s", path);
    return r;
}

int globals_collect(struct stack *s, struct mirror_stats *ret, struct error *e)
{
    _cleanup_(running_release) struct running running = {
        .stack = s, .phase = "looking", .becomes = "it is passed over, only files, directories and links are pushed"
    };
    _cleanup_close_ int home = -1;
    int r = globals_make(s, "home", e);
    if (r == 0)
        r = open_in(s, "home", &home, e);
    struct mirror_config c = { .to = home, .last = -1, .kept = -1, .left = on_left, .check = check, .arg = &running };
    for (size_t i = 0; r == 0 && i < PLACES; i++)
        r = collect(&c, places[i].path, ret, e);
    remove_empty(home);
    ui_progress_end(s->ui);
    crash_point("globals-collected.after");
    return r;
}

int globals_agree(struct stack *s, struct error *e)
{
    _cleanup_close_ int home = -1, last = -1;
    int r = globals_make(s, "last", e);
    if (r == 0)
        r = open_in(s, "home", &home, e);
    if (r == 0)
        r = open_in(s, "last", &last, e);
    struct mirror_config c = { .from = home, .to = last, .last = -1, .kept = -1 };
    struct mirror_stats stats = { 0 };
    for (size_t i = 0; r == 0 && i < PLACES; i++)
        r = mirror_run(&c, places[i].path, places[i].path, &stats, e);
    remove_empty(last);
    return r;
}

/* --- into HOME */

static bool has(int dir, const char *path)
{
    struct stat st;
    return dir >= 0 && fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Those of earlier versions, which were named by their time alone, come before: digits sort before letters. */
#define KEPT_NAME "pull-"

/* The order of what is kept is its numbers', never a clock's, which may have been set back. */
static int read_kept(int all, struct names *ret, unsigned *ret_next, struct error *e)
{
    int r = names_read(all, ret, e);
    const char *last = r == 0 && ret->count ? names_get(ret, ret->count - 1) : "";
    size_t n = strlen(KEPT_NAME);
    *ret_next = strncmp(last, KEPT_NAME, n) == 0 ? (unsigned)strtoul(last + n, NULL, 10) + 1 : 1;
    return r;
}

static void sweep_half(const char *path)
{
    char *const roots[] = { (char *)(uintptr_t)path, NULL };
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
    FTSENT *at;
    while (walk && (at = fts_read(walk))) {
        if (at->fts_info == FTS_DP || strcmp(at->fts_name, COPY_TEMPORARY) != 0)
            continue;
        _cleanup_free_ char *above = mem_copy(at->fts_path, at->fts_pathlen - at->fts_namelen);
        _cleanup_close_ int dir = open(above, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        fts_set(walk, at, FTS_SKIP);
        remove_tree(dir, COPY_TEMPORARY, NULL);
    }
    if (walk)
        fts_close(walk);
}

void globals_sweep(struct stack *s)
{
    _cleanup_close_ int all = -1;
    _cleanup_(names_release) struct names l = { 0 };
    if (!globals_have(s, "kept") || open_in(s, "kept", &all, NULL) < 0 || names_read(all, &l, NULL) < 0 || !l.count)
        return;
    _cleanup_free_ char *path = mem_printf("%s/globals/kept/%s", s->config->state_dir, names_get(&l, l.count - 1));
    sweep_half(path);
}

/* A directory of its own for each pull: what an earlier one kept is not overwritten. */
static int make_kept(struct stack *s, int all, int64_t now_ns, char to[64], int *ret, struct error *e)
{
    _cleanup_(names_release) struct names l = { 0 };
    unsigned number;
    char stamp[32];
    time_t now = now_ns / 1000000000;
    struct tm tm;
    int r = read_kept(all, &l, &number, e);
    if (r < 0)
        return r;
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
    snprintf(to, 64, KEPT_NAME "%08u-%s", number, stamp);
    if (mkdirat(all, to, 0700) == 0 && fsync(all) == 0)
        *ret = openat(all, to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *ret < 0 ? error_set(e, ERROR_FAILED, -errno, "make %s/globals/kept/%s", s->config->state_dir, to) : 0;
}

/* Also by number: what programs here go on writing is kept every hour. Whatever a clock says, the last one stays. */
static void sweep_kept(int all, int64_t now_ns)
{
    _cleanup_(names_release) struct names l = { 0 };
    if (names_read(all, &l, NULL) < 0)
        return;
    for (size_t i = 0; i + 1 < l.count; i++) {
        struct stat st;
        const char *name = names_get(&l, i);
        bool old = fstatat(all, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && now_ns / 1000000000 - st.st_mtime > KEPT_S;
        if (old || i + KEPT_MAX < l.count)
            remove_tree(all, name, NULL);
    }
}

/* What a push has left out stays here, unless it was of an earlier one, and is a whole. */
static int apply_all(struct stack *s, struct mirror_config *c, struct mirror_stats *stats, struct error *e)
{
    struct error why = { 0 }, first = { 0 };
    for (size_t i = 0; i < PLACES; i++) {
        const char *path = places[i].path;
        if (!has(c->from, path) && !(places[i].directory && has(c->last, path)))
            continue;
        int r = mirror_run(c, path, path, stats, &why);
        if (r == 0)
            continue;
        error_prefix(&why, "~/%s", path);
        if (first.code == 0 || why.kind == ERROR_INTERRUPTED)
            first = why;
        else
            ui_warn(s->ui, "%s", why.text);
        if (why.kind == ERROR_INTERRUPTED)
            break;
    }
    if (first.code == 0)
        return 0;
    return error_pass(e, &first);
}

int globals_apply(struct stack *s, const char *from, int64_t now_ns, struct mirror_stats *ret, json_t *ret_kept,
                  char **ret_where, struct error *e)
{
    _cleanup_(running_release) struct running running = {
        .stack = s, .phase = "writing", .kept = ret_kept, .becomes = "it stays, and what was pushed is not put there"
    };
    _cleanup_close_ int source = -1, last = -1, home = -1, all = -1, kept = -1;
    char name[64];
    int r = globals_make(s, "kept", e);
    if (r == 0)
        r = open_in(s, from, &source, e);
    if (r == 0 && globals_have(s, "last"))
        r = open_in(s, "last", &last, e);
    if (r == 0)
        r = open_in(s, "kept", &all, e);
    if (r == 0)
        r = make_kept(s, all, now_ns, name, &kept, e);
    if (r == 0 && (home = open(config_home(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "open %s", config_home());
    if (r < 0)
        return r;
    struct mirror_config c = { .from = source,
                               .to = home,
                               .last = last,
                               .kept = kept,
                               .told = on_kept,
                               .left = on_left,
                               .check = check,
                               .arg = &running };
    r = apply_all(s, &c, ret, e);
    futimens(kept, (struct timespec[]){ { .tv_nsec = UTIME_OMIT }, { .tv_sec = now_ns / 1000000000 } });
    ui_progress_end(s->ui);
    if (ret->kept > 0)
        *ret_where = mem_printf("%s/globals/kept/%s", s->config->state_dir, name);
    else
        remove_tree(all, name, NULL); /* directories of what could not be copied may be there */
    sweep_kept(all, now_ns);
    return r;
}

int globals_begin(struct stack *s, struct error *e)
{
    int fd = -1, r = remove_tree(s->box_dir, "next", e);
    if (r == 0)
        r = globals_make(s, "next", e);
    if (r == 0)
        r = open_in(s, "next", &fd, e);
    return r < 0 ? r : fd;
}

int globals_finish(struct stack *s, struct error *e)
{
    int r = globals_make(s, "last", e);
    if (r == 0 && renameat2(s->box_dir, "next", s->box_dir, "last", RENAME_EXCHANGE) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "rename %s/globals/next", s->config->state_dir);
    if (r == 0 && fsync(s->box_dir) < 0)
        r = error_set(e, ERROR_FAILED, -errno, "fsync %s/globals", s->config->state_dir);
    crash_point("globals-exchanged.after");
    return r < 0 ? r : remove_tree(s->box_dir, "next", e);
}
