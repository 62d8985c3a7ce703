/* SPDX-License-Identifier: MIT */
/*
 * generator - a box of many files in a store, without a tree on any disk: for tests and benches of size.
 *
 * generator BOX PATH COUNT [LINKED], with the configuration of a node on which `ag-box init` was run. COUNT files, 100
 * a directory and 100 directories a directory, below project/; all have the same content. The first LINKED of them are
 * pairs: a file and the one of the same name in the next directory are one inode. The box is free.
 */
#include "cli/config.h"
#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/key.h"
#include "index/meta.h"
#include "index/random.h"
#include "sync/fetch.h"
#include "sync/head.h"
#include "sync/hold.h"
#include "sync/keys.h"
#include "sync/save.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#define FILES_A_DIRECTORY 100u
#define DIRECTORIES_A_DIRECTORY 100u

struct making {
    const struct config *config;
    const char *box, *path;
    uint64_t count, linked;
    struct store *store;
    struct keys keys;
    struct node node;
    struct seal_context seal;
    struct writer writer;
    struct meta meta;
    struct fetch *fetch;
    struct save *save;
    struct entry file, directory; /* what all are like */
    uint32_t ino;
};

static int open_store(struct making *m, struct error *e)
{
    struct store_config c;
    int r = config_store(m->config, &c, e);
    if (r == 0)
        r = store_open(&c, &m->store, e);
    if (r == 0)
        r = keys_open(m->store, m->config->password, -1, &m->keys, e);
    if (r < 0)
        return r;
    m->seal = (struct seal_context){ &m->keys, m->box };
    snprintf(m->node.name, sizeof(m->node.name), "generator");
    random_bytes(m->node.state, sizeof(m->node.state));
    hold_new_writer(&m->node, &m->writer);
    m->meta.path = mem_strdup(m->path);
    random_bytes(m->meta.incarnation, sizeof(m->meta.incarnation));
    struct fetch_config f = { .store = m->store, .seal = m->seal };
    return fetch_new(&f, &m->fetch, e);
}

static struct push_config push_config(const struct making *m)
{
    return (struct push_config){ .store = m->store, .seal = m->seal, .writer = m->writer };
}

/* The one content that all files have: sent once, by a push of its own. */
static int put_content(struct making *m, struct error *e)
{
    static const char text[] = "as all the others\n";
    _cleanup_close_ int fd = memfd_create("content", MFD_CLOEXEC);
    if (fd < 0 || write(fd, text, sizeof(text) - 1) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return error_set(e, ERROR_FAILED, -errno, "make the content");
    m->file = (struct entry){ .type = ENTRY_FILE, .mode = 0644, .size = sizeof(text) - 1 };
    m->directory = (struct entry){ .type = ENTRY_DIRECTORY, .mode = 0755 };

    struct push_config c = push_config(m);
    struct push *p = NULL;
    struct push_ticket *t = NULL;
    struct snapshot_pack *packs = NULL;
    size_t pack_count = 0;
    struct push_stats stats;
    int r = push_new(&c, &p, e);
    if (r == 0)
        r = push_content(p, fd, &m->file, (struct bytes){ 0 }, &t, e);
    if (r == 0)
        r = push_close_frames(p, e);
    if (r == 0)
        r = push_ticket_redeem(p, t, &m->file, e);
    if (r == 0)
        r = push_finish(p, &packs, &pack_count, &stats, e);
    free(packs);
    push_free(p);
    return r;
}

static int put(struct making *m, const char *path, struct entry *n, struct error *e)
{
    _cleanup_(buf_release) struct buf key = { 0 };
    int r = key_from_path((struct bytes){ (const uint8_t *)path, strlen(path) }, &key);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "%s", path);
    n->ino = ++m->ino;
    n->mtime_ns = n->ctime_ns = 1700000000000000000 + m->ino * 1000003ll;
    struct change c = {
        .kind = CHANGE_PUT, .key = buf_bytes(&key), .entry = n, .content_known = n->type == ENTRY_FILE, .fd = -1
    };
    return save_change(m->save, &c, e);
}

/* Own entries of a directory come before those of its subdirectories. */
static int put_children(struct making *m, const char *parent, const char *prefix, uint64_t count, struct entry *n,
                        struct error *e)
{
    int r = 0;
    for (uint64_t i = 0; i < count && r == 0; i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s%05llu", parent, prefix, (unsigned long long)i);
        r = put(m, path, n, e);
    }
    return r;
}

/* As put_children, of files that have their records in the directory before. */
static int put_links(struct making *m, const char *parent, const char *first, uint64_t count, struct error *e)
{
    int r = 0;
    for (uint64_t i = 0; i < count && r == 0; i++) {
        char path[128], target[128];
        struct entry n = { .type = ENTRY_LINK, .target = target };
        snprintf(path, sizeof(path), "%s/file%05llu", parent, (unsigned long long)i);
        snprintf(target, sizeof(target), "%s/file%05llu", first, (unsigned long long)i);
        r = put(m, path, &n, e);
    }
    return r;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int put_top(struct making *m, uint64_t number, uint64_t files, struct error *e)
{
    char top[64], path[96], before[96] = "";
    snprintf(top, sizeof(top), "project/part%05llu", (unsigned long long)number);
    uint64_t directories = (files + FILES_A_DIRECTORY - 1) / FILES_A_DIRECTORY;
    int r = put_children(m, top, "module", directories, &m->directory, e);
    for (uint64_t i = 0; i < directories && r == 0; i++) {
        snprintf(path, sizeof(path), "%s/module%05llu", top, (unsigned long long)i);
        uint64_t here = least(files - i * FILES_A_DIRECTORY, FILES_A_DIRECTORY);
        if (i % 2 == 1 && m->linked >= 2 * here) {
            r = put_links(m, path, before, here, e);
            m->linked -= 2 * here;
        } else {
            r = put_children(m, path, "file", here, &m->file, e);
        }
        memcpy(before, path, sizeof(before));
    }
    return r;
}

static int put_tree(struct making *m, struct error *e)
{
    uint64_t a_top = FILES_A_DIRECTORY * DIRECTORIES_A_DIRECTORY, tops = (m->count + a_top - 1) / a_top;
    int r = put(m, "home", &m->directory, e);
    if (r == 0)
        r = put(m, "project", &m->directory, e);
    if (r == 0)
        r = put_children(m, "project", "part", tops, &m->directory, e);
    for (uint64_t i = 0; i < tops && r == 0; i++)
        r = put_top(m, i, least(m->count - i * a_top, a_top), e);
    return r;
}

static int make_snapshot(struct making *m, struct snapshot_id *ret, struct error *e)
{
    struct save_config c = { .push = push_config(m),
                             .source = fetch_source(m->fetch),
                             .node = m->node.name,
                             .incarnation = m->meta.incarnation,
                             .epoch = 1 };
    keys_cutting(&m->keys, m->box, &c.cut_key);
    _cleanup_free_ char *meta = NULL;
    _cleanup_(snapshot_releasep) struct snapshot n = { 0 };
    struct push_stats stats;
    bool changed;
    int r = meta_encode(&m->meta, &meta, e);
    if (r == 0)
        r = save_new(&c, &m->save, e);
    if (r == 0)
        r = put_tree(m, e);
    struct save_end end = { .meta = meta, .one_instant = true };
    if (r == 0)
        r = save_finish(m->save, &end, &n, &changed, &stats, e);
    if (r < 0)
        return r;
    *ret = n.id;
    printf("%s: %llu files, depth %u, %llu bytes sent\n", m->box, (unsigned long long)n.files, n.root.depth,
           (unsigned long long)stats.sent_bytes);
    return 0;
}

static int make_head(struct making *m, const struct snapshot_id *root, struct error *e)
{
    _cleanup_(head_releasep) struct head h = { .epoch = 1, .seq = 1, .state = HEAD_FREE, .ttl_s = 7200, .root = *root };
    snprintf(h.box, sizeof(h.box), "%s", m->box);
    snprintf(h.node, sizeof(h.node), "%s", m->node.name);
    snprintf(h.boot_id, sizeof(h.boot_id), "generator");
    h.path = mem_strdup(m->path);
    memcpy(h.incarnation, m->meta.incarnation, sizeof(h.incarnation));
    random_bytes(h.write.b, sizeof(h.write.b));
    return head_write(m->store, &m->seal, &h, e);
}

int main(int argc, char **argv)
{
    uint64_t count, linked = 0;
    if (argc < 4 || argc > 5 || text_parse_size(argv[3], &count) < 0 || count == 0 || count > 10000000 ||
        (argc == 5 && text_parse_size(argv[4], &linked) < 0)) {
        fprintf(stderr, "usage: generator BOX PATH COUNT [LINKED]\n");
        return 2;
    }
    struct error e = { 0 };
    struct config *config = NULL;
    struct making m = { .box = argv[1], .path = argv[2], .count = count, .linked = linked };
    struct snapshot_id root;
    int r = config_load(&config, &e);
    m.config = config;
    if (r == 0)
        r = open_store(&m, &e);
    if (r == 0)
        r = put_content(&m, &e);
    if (r == 0)
        r = make_snapshot(&m, &root, &e);
    if (r == 0)
        r = make_head(&m, &root, &e);
    if (r < 0)
        fprintf(stderr, "generator: %s\n", e.text);
    save_free(m.save);
    fetch_free(m.fetch);
    entry_release(&m.file);
    meta_release(&m.meta);
    keys_release(&m.keys);
    store_close(m.store);
    config_free(config);
    return r < 0;
}
