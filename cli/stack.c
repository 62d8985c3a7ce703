/* SPDX-License-Identifier: MIT */
#include "cli/stack.h"

#include "cli/interrupt.h"
#include "cli/place.h"
#include "index/base/fd.h"
#include "index/base/lock.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "sync/head.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define COMMAND_WAIT_MS 10000
#define CONFIG_WAIT_MS 10000
#define BACKGROUND_THREADS 4

void stack_use(struct stack *s, const struct config *c, struct ui *ui)
{
    s->config = c;
    s->ui = ui;
    s->seal = (struct seal_context){ &s->keys, s->name };
}

int stack_open(struct stack *s, const struct config *c, struct ui *ui, struct error *e)
{
    stack_use(s, c, ui);
    if (s->state_dir >= 0)
        return 0;
    int r = fd_make_directories(c->state_dir, 0700, e);
    if (r < 0)
        return r;
    s->state_dir = open(c->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    if (s->state_dir < 0 || fstat(s->state_dir, &st) < 0)
        return error_set(e, ERROR_FAILED, -errno, "open %s", c->state_dir);
    if (st.st_mode & 022) {
        error_say(e, ERROR_USAGE, -EPERM, "%s: others can write it (mode %04o)", c->state_dir,
                  (unsigned)st.st_mode & 07777);
        _cleanup_free_ char *word = text_word(c->state_dir);
        return error_hint(e, "chmod 700 %s", word);
    }
    return node_open(s->state_dir, c->node, NULL, &s->node, e);
}

static int open_key_directory(struct stack *s, struct error *e)
{
    _cleanup_free_ char *path = place_keys(s->config);
    int r = fd_make_directories(path, 0700, e);
    if (r < 0)
        return r;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? error_set(e, ERROR_FAILED, -errno, "open %s", path) : fd;
}

bool stack_knows_store(const struct config *c)
{
    _cleanup_free_ char *path = place_keys(c);
    _cleanup_free_ char *config = mem_printf("%s/" KEYS_OBJECT, path);
    return access(config, F_OK) == 0;
}

int stack_no_config(const struct config *c, int r, struct error *e)
{
    bool known = stack_knows_store(c);
    if (r == -ENOENT && known) {
        error_say(e, ERROR_DAMAGED, r, "%s was opened here before, and its config is gone", c->store);
        return error_hint(e, STACK_RECOVERY), r;
    }
    if (r == -ENOENT) {
        error_say(e, ERROR_USAGE, r, "%s is not initialised", c->store);
        return error_hint(e, "ag-box init creates it, once, on one node"), r;
    }
    if (r == -EHOSTUNREACH && !known && strncmp(c->store, "file://", 7) == 0)
        error_hint(e, "mount what holds the store, or make a new one with `ag-box init`");
    return r;
}

static int open_cached(struct stack *s, struct bytes config, int dir)
{
    return keys_open_bytes(config, s->config->password, dir, &s->keys, NULL);
}

/* Whoever has work here needs the key that is kept: not another store's, however it came where ours was. */
static int refuse_other(struct stack *s, struct bytes known, struct bytes config, struct error *e)
{
    if (known.len == 0 || keys_same_store(known, config))
        return 0;
    _cleanup_free_ char *dir = place_keys(s->config);
    error_say(e, ERROR_DAMAGED, -EEXIST, "%s is another store than the one that was opened here before",
              s->store->description);
    return error_hint(e, "mount what holds the old one; if it is gone for good, delete %s to use this one", dir);
}

/* What is known here already is not written again; else one writes at a time, as others may be about to. */
static int keep_config(int dir, struct bytes known, struct bytes config, struct error *e)
{
    _cleanup_close_ int lock = -1;
    if (bytes_compare(known, config) == 0)
        return 0;
    int r = lock_take(dir, "lock", CONFIG_WAIT_MS, &lock, e);
    return r < 0 ? r : fd_replace(dir, KEYS_OBJECT, config.data, config.len, e);
}

static int unlock(struct stack *s, struct error *e)
{
    _cleanup_close_ int dir = open_key_directory(s, e);
    if (dir < 0)
        return dir;
    _cleanup_(buf_release) struct buf known = { 0 }, config = { 0 };
    bool cached = fd_read_file(dir, KEYS_OBJECT, KEYS_OBJECT_MAX, &known, NULL) >= 0;
    if (cached && !s->asks_config && open_cached(s, buf_bytes(&known), dir) == 0)
        return 0;

    struct error why = { 0 };
    int r = store_get(s->store, KEYS_OBJECT, 0, 0, KEYS_OBJECT_MAX, &config, NULL, &why);
    if (r < 0 && cached && s->asks_config && why.kind == ERROR_STORE && open_cached(s, buf_bytes(&known), dir) == 0)
        return 0; /* whatever comes next says that the store cannot be reached */
    if (r < 0) {
        error_pass(e, &why);
        return stack_no_config(s->config, r, e);
    }
    r = refuse_other(s, buf_bytes(&known), buf_bytes(&config), e);
    if (r == 0)
        r = keys_open_bytes(buf_bytes(&config), s->config->password, dir, &s->keys, e);
    return r < 0 ? r : keep_config(dir, buf_bytes(&known), buf_bytes(&config), e);
}

/* The copy of config first: with the old one the password would go on opening what it holds. */
int stack_forget_key(struct stack *s, struct bytes config, struct error *e)
{
    _cleanup_close_ int dir = open_key_directory(s, e);
    int r = dir < 0 ? dir : keep_config(dir, (struct bytes){ 0 }, config, e);
    return r < 0 ? r : keys_forget(dir, e);
}

int stack_connect(struct stack *s, struct error *e)
{
    struct store_config c;
    int r = config_store(s->config, &c, e);
    if (r < 0 || s->store)
        return r;
    c.attempts = s->attempts;
    r = store_open(&c, &s->store, e);
    if (r == 0)
        interrupt_watch(s->store);
    return r;
}

int stack_store(struct stack *s, struct error *e)
{
    int r = stack_connect(s, e);
    if (r < 0 || s->unlocked)
        return r;
    r = unlock(s, e);
    if (r < 0)
        return r;
    s->unlocked = true;
    return 0;
}

int stack_check_name(const char *name, struct error *e)
{
    /* These lie in /run/box beside the box's own directory (sandbox/places). */
    bool taken = strcmp(name, "etc") == 0 || strcmp(name, "boxinit") == 0;
    if (text_is_name(name) && !taken)
        return 0;
    return error_say(e, ERROR_USAGE, -EINVAL,
                     "'%s' is no box name ([A-Za-z0-9][A-Za-z0-9._-]{0,62}, no '..', not globals, etc, boxinit)", name);
}

static int open_box_directory(struct stack *s, const char *name, bool create, struct error *e)
{
    bool globals = s->admits_globals && strcmp(name, TEXT_GLOBALS) == 0;
    int checked = globals ? 0 : stack_check_name(name, e);
    if (checked < 0)
        return checked;
    if (s->box_dir >= 0)
        return 0;
    if (name != s->name)
        snprintf(s->name, sizeof(s->name), "%s", name);
    _cleanup_free_ char *path = place_box(s->config, name);
    if (create) {
        int r = fd_make_directories(path, 0700, e);
        if (r < 0)
            return r;
    }
    s->box_dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->box_dir < 0 && (errno != ENOENT || create))
        return error_set(e, ERROR_FAILED, -errno, "open %s", path);
    return 0;
}

static int load(struct stack *s, bool create, struct error *e)
{
    _cleanup_free_ char *path = place_box(s->config, s->name);
    int r = journal_open(s->box_dir, path, create, &s->journal, e);
    if (r == -ENOENT && !create) {
        error_clear(e);
        return 0;
    }
    return r < 0 ? r : journal_load(s->journal, &s->record, e);
}

int stack_box(struct stack *s, const char *name, bool create, struct error *e)
{
    int r = open_box_directory(s, name, create, e);
    if (r < 0 || s->box_dir < 0)
        return r;
    if (s->command_lock < 0)
        r = lock_take(s->box_dir, "command", COMMAND_WAIT_MS, &s->command_lock, e);
    if (r < 0) {
        error_prefix(e, "another command works on %s", name);
        return error_hint(e, "wait for it to end, then try again");
    }
    return load(s, create, e);
}

void stack_mark(const struct config *c, const char *name, bool dropped)
{
    _cleanup_free_ char *mark = place_in_box(c, name, STACK_DROPPED);
    _cleanup_(stack_close) struct stack look = STACK_NONE;
    look.config = c;
    if (dropped)
        dropped = stack_peek(&look, name, NULL) == 0 && look.box_dir >= 0 && look.record.state == BOX_NONE;
    _cleanup_close_ int fd = dropped ? open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (!dropped)
        unlink(mark);
}

int stack_no_box(const struct stack *s, bool dropped, struct error *e)
{
    stack_mark(s->config, s->name, true);
    return head_absent(s->name, dropped, e);
}

/* A name that is mistyped leaves nothing here. */
static int refuse_unknown(struct stack *s, struct error *e)
{
    char key[STORE_KEY_MAX];
    struct store_info info;
    struct error why = { 0 };
    head_key(s->name, key);
    int r = store_stat(s->store, key, &info, &why);
    if (r == -ENOENT)
        return stack_no_box(s, false, e);
    if (r < 0)
        error_pass(e, &why);
    return r;
}

int stack_for_box(struct stack *s, const struct config *c, struct ui *ui, const char *name, bool create,
                  struct error *e)
{
    int r = stack_open(s, c, ui, e);
    if (r == 0)
        r = stack_store(s, e);
    if (r == 0)
        r = stack_box(s, name, false, e);
    if (r < 0 || s->journal || !create)
        return r;
    if (strcmp(name, TEXT_GLOBALS) != 0)
        r = refuse_unknown(s, e);
    return r < 0 ? r : stack_box(s, name, true, e);
}

int stack_peek(struct stack *s, const char *name, struct error *e)
{
    int r = open_box_directory(s, name, false, e);
    if (r < 0 || s->box_dir < 0)
        return r;
    return load(s, false, e);
}

int stack_content(struct stack *s, struct error *e)
{
    if (s->fetch)
        return 0;
    _cleanup_free_ char *path = mem_printf("%s/cache", s->config->state_dir);
    uint64_t limit = s->config->cache_max ? s->config->cache_max : 20ull << 30;
    struct error why = { 0 };
    int r = cache_open(path, s->name, limit, &s->cache, &why);
    if (r == -ENOSPC) /* the disk is full: nothing needs a cache to be right */
        ui_warn(s->ui, "%s; going on without the cache", why.text);
    else if (r < 0) {
        error_pass(e, &why);
        return r;
    }
    struct fetch_config c = { .store = s->store,
                              .seal = s->seal,
                              .cache = s->cache,
                              .timeout_s = (unsigned)s->config->fetch_timeout_s,
                              .background_threads = BACKGROUND_THREADS,
                              .keep_metadata = s->keeps_metadata };
    return fetch_new(&c, &s->fetch, e);
}

int stack_save_record(struct stack *s, struct error *e)
{
    if (s->record.state != BOX_NONE)
        unlinkat(s->box_dir, STACK_DROPPED, 0);
    return journal_store(s->journal, &s->record, e);
}

void stack_close(struct stack *s)
{
    spawn_give_up(&s->daemon);
    fetch_free(s->fetch);
    cache_close(s->cache);
    box_record_release(&s->record);
    journal_close(s->journal);
    if (s->store) /* a look at a journal beside a command must not disarm the command */
        interrupt_watch(NULL);
    store_close(s->store);
    keys_release(&s->keys);
    int fds[] = { s->command_lock, s->box_dir, s->state_dir };
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
}
