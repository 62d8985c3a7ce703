/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/seeds.h"
#include "index/access.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/inline.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/twin.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/*
 * seeds - writes the corpus of the fuzzers from real encodings: seeds DIR makes DIR/key/…, DIR/page/… and so
 * on. Run it again when a format changes.
 */

static const char *corpus;

static void write_seed(const char *fuzzer, const char *name, struct bytes b)
{
    struct error e = { 0 };
    _cleanup_free_ char *dir = mem_printf("%s/%s", corpus, fuzzer);
    mkdir(dir, 0777);
    _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    REQUIRE(fd_replace(fd, name, b.data, b.len, &e) == 0);
    REQUIRE(fchmodat(fd, name, 0644, 0) == 0);
}

static struct bytes text(const char *s)
{
    return (struct bytes){ (const uint8_t *)s, strlen(s) };
}

static void keys(void)
{
    static const char *const paths[] = { "a", "project/src/main.c", "home/.claude/\xff\1", "a/b/c/d/e/f/g" };
    for (unsigned i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        _cleanup_(buf_release) struct buf k = { 0 };
        _cleanup_free_ char *name = mem_printf("key-%u", i), *path_name = mem_printf("path-%u", i);
        REQUIRE(key_from_path(text(paths[i]), &k) == 0);
        write_seed("key", name, buf_bytes(&k));
        write_seed("key", path_name, text(paths[i]));
    }
}

/* Every type of entry, some with all they can have. */
static const struct twin_file *files(size_t *ret_count)
{
    static char big[9 * 100];
    static char name_a[] = "system.posix_acl_access", name_b[] = "user.note", value[] = "\2\0\0\0value";
    static const struct xattr xattrs[] = { { name_a, value, 4 }, { name_b, value, 9 } };
    static const struct twin_file list[] = {
        { .path = "project/README.md", .content = "hello", .mode = 0600, .uid = 1000, .gid = 100 },
        { .path = "project/empty" },
        { .path = "project/holes", .content = "head", .size = 1 << 20 },
        { .path = "project/big", .content = big, .len = sizeof(big), .piece = 100 },
        { .path = "project/two", .content = big, .len = 200, .piece = 100 },
        { .path = "project/acl", .content = "x", .xattrs = xattrs, .xattr_count = 2 },
        { .path = "project/sym", .type = ENTRY_SYMLINK, .target = "../else/where" },
        { .path = "project/fifo", .type = ENTRY_FIFO },
        { .path = "project/tty", .type = ENTRY_CHARACTER, .major = 5, .minor = 1 },
        { .path = "project/disk", .type = ENTRY_BLOCK, .major = 8 },
        { .path = "project/src/again", .type = ENTRY_LINK, .target = "project/README.md" },
        { .path = "home/.config/tool", .content = "a=b", .mtime_ns = -1 },
    };
    *ret_count = sizeof(list) / sizeof(*list);
    return list;
}

static int entry_seed(void *arg, uint64_t position, struct bytes key, const struct entry *n, struct error *e)
{
    struct twin *t = arg;
    _cleanup_(buf_release) struct buf b = { 0 };
    _cleanup_free_ char *name = mem_printf("entry-%u", (unsigned)position);
    entry_pack(n, &b);
    write_seed("entry", name, buf_bytes(&b));
    if (n->list_count > 0)
        write_seed("extents", "list", twin_bytes(t, &n->list[0]));
    return 0;
}

static int page_seed(void *arg, const struct locator *page, uint8_t level, struct error *e)
{
    static unsigned of_level[TREE_DEPTH_MAX + 1];
    _cleanup_free_ char *name = mem_printf("level-%u-%u", level, of_level[level]);
    if (of_level[level]++ < 3)
        write_seed("page", name, twin_bytes(arg, page));
    return 0;
}

/* A tree in the form that fuzz-tree.c reads: a page's offset is its number. */
static int number_page(void *arg, struct bytes page, uint8_t level, struct locator *ret, struct error *e)
{
    static uint32_t number;
    wire_put_string(arg, page.data, page.len);
    *ret = (struct locator){ .offset = number++, .sealed = (uint32_t)page.len, .raw = (uint32_t)page.len };
    return 0;
}

static void trees(struct tree *from)
{
    struct grow *g;
    struct tree_root root;
    _cleanup_(buf_release) struct buf frames = { 0 }, b = { 0 }, key = { 0 };
    REQUIRE(grow_new(NULL, &twin_key, number_page, &frames, &g, NULL) == 0);
    for (uint64_t i = 0; i < tree_count(from); i++) {
        _cleanup_(entry_release) struct entry n = { 0 };
        REQUIRE(tree_at(from, i, &key, &n, NULL) == 0 && grow_put(g, buf_bytes(&key), &n, NULL) == 0);
    }
    REQUIRE(grow_finish(g, &root, NULL) == 0 && root.depth > 0);
    grow_free(g);
    wire_put_u8(&b, root.depth);
    wire_put_varint(&b, root.page.count);
    buf_add(&b, frames.data, frames.len);
    write_seed("tree", "tree", buf_bytes(&b));
}

static void snapshots(struct twin *t, const struct tree_root *root)
{
    _cleanup_(snapshot_releasep) struct snapshot s = {
        .id = { "an id of sixteen" },
        .box = "demo",
        .node = "node-1",
        .epoch = 3,
        .files = 9,
        .one_instant = true,
    };
    _cleanup_(buf_release) struct buf b = { 0 }, empty = { 0 };
    s.meta = mem_strdup("{\"v\":1,\"path\":\"/root/demo\"}");
    s.root.empty = true;
    snapshot_encode(&s, &empty);
    write_seed("snapshot", "empty", buf_bytes(&empty));
    s.root = *root;
    REQUIRE(inline_pages(twin_source(t), root, NULL, 0, &s.pages, &s.page_count, NULL) == 0);
    s.packs = mem_new(1, sizeof(*s.packs));
    s.pack_count = 1;
    s.links.frames = mem_copy(&root->page.frame, sizeof(struct locator));
    s.links.count = 1;
    snapshot_encode(&s, &b);
    write_seed("snapshot", "full", buf_bytes(&b));
}

static void lists(void)
{
    static char a[] = "home/a", b[] = "project/a", c[] = "project/x/a", d[] = "home/b", f[] = "home/z/b";
    static char *first[] = { a, b, c }, *second[] = { d, f };
    const struct link_group groups[] = { { first, 3 }, { second, 2 } };
    _cleanup_(buf_release) struct buf links = { 0 }, access = { 0 };
    links_encode(groups, 2, &links);
    write_seed("links", "two", buf_bytes(&links));
    access_encode(first, 3, &access);
    write_seed("access", "three", buf_bytes(&access));
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: seeds DIR\n");
        return 2;
    }
    corpus = argv[1];
    struct twin *t = twin_new();
    size_t count, few;
    const struct twin_file *special = files(&few);
    struct twin_file *all = mem_new(few + 120, sizeof(*all));
    memcpy(all, special, few * sizeof(*all));
    for (count = few; count < few + 120; count++)
        all[count] = (struct twin_file){ .path = mem_printf("project/src/d%u/f%zu", (unsigned)count % 5, count) };
    struct tree_root root = twin_tree(t, all, few), wide = twin_tree(t, all, count);
    _cleanup_(tree_closep) struct tree *small = twin_open(t, &root), *big = twin_open(t, &wide);
    REQUIRE(tree_scan(small, (struct bytes){ 0 }, (struct bytes){ 0 }, entry_seed, t, NULL) == 0);
    REQUIRE(tree_pages(big, false, page_seed, t, NULL) == 0);
    keys();
    trees(big);
    snapshots(t, &wide);
    lists();
    seeds_sync(write_seed);
    seeds_lease(write_seed);
    seeds_sandbox(write_seed);
    seeds_text(write_seed);
    for (size_t i = few; i < count; i++)
        free((char *)all[i].path);
    free(all);
    tree_close(mem_steal(small));
    tree_close(mem_steal(big));
    twin_free(t);
    return 0;
}
