/* SPDX-License-Identifier: MIT */
#include "index/stash-slot.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/base/text.h"
#include "index/key.h"
#include "index/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>

#define STASH "stash"
#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

typedef char slot_name[16];

static void name_of(uint32_t number, slot_name to)
{
    snprintf(to, sizeof(slot_name), "%08u", number);
}

void stash_close(struct stash *s)
{
    if (!s)
        return;
    if (s->fd >= 0)
        close(s->fd);
    free(s->numbers);
    free(s);
}

void stash_closep(struct stash **s)
{
    stash_close(*s);
}

size_t stash_count(const struct stash *s)
{
    return s->count;
}

static void add_number(struct stash *s, uint32_t number)
{
    s->numbers = mem_grow(s->numbers, s->count + 1, sizeof(*s->numbers));
    s->numbers[s->count++] = number;
}

int stash_slot_open(struct stash *s, uint32_t number, int *ret_fd, char **ret_path, struct error *e)
{
    slot_name name;
    name_of(number, name);
    _cleanup_close_ int fd = openat(s->fd, name, DIRECTORY);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "open stash/%s", name);
    if (ret_path) {
        _cleanup_(buf_release) struct buf path = { 0 }, key = { 0 };
        int r = fd_read_file(fd, STASH_PATH, PATH_LEN_MAX, &path, e);
        if (r < 0)
            return r;
        if (key_from_path(buf_bytes(&path), &key) < 0)
            return error_say(e, ERROR_DAMAGED, -EBADMSG, "stash/%s/%s holds no path", name, STASH_PATH);
        *ret_path = mem_strdup(buf_string(&path));
    }
    *ret_fd = mem_steal_fd(&fd);
    return 0;
}

int stash_slot_new(struct stash *s, const char *path, uint32_t *ret_number, struct error *e)
{
    uint32_t number = s->count ? s->numbers[s->count - 1] + 1 : 1;
    slot_name name;
    name_of(number, name);
    if (mkdirat(s->fd, name, 0700) < 0)
        return error_set(e, ERROR_FAILED, -errno, "make stash/%s", name);
    add_number(s, number);
    _cleanup_close_ int slot = -1;
    int r = stash_slot_open(s, number, &slot, NULL, e);
    if (r < 0)
        return r;
    _cleanup_close_ int fd = openat(slot, STASH_PATH, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "create stash/%s/%s", name, STASH_PATH);
    r = fd_write_all(fd, path, strlen(path), e);
    if (r == 0)
        *ret_number = number;
    return r;
}

/* Left alone is what is not ours. */
static int keep_if_whole(struct stash *s, const char *name, struct error *e)
{
    uint64_t number;
    if (strlen(name) != 8 || text_parse_u64(name, UINT32_MAX - 1, &number) < 0)
        return 0;
    _cleanup_close_ int fd = openat(s->fd, name, DIRECTORY);
    struct stat st;
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "open stash/%s", name);
    if (fstatat(fd, STASH_ENTRY, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? remove_tree(s->fd, name, e)
                               : error_set(e, ERROR_FAILED, -errno, "look into stash/%s", name);
    add_number(s, (uint32_t)number);
    return 0;
}

int stash_slot_tidy(struct stash *s, struct error *e)
{
    s->count = 0;
    _cleanup_(names_release) struct names l = { 0 };
    int r = names_read(s->fd, &l, e);
    for (size_t i = 0; r == 0 && i < l.count; i++) /* of eight digits each: bytewise is by number */
        r = keep_if_whole(s, names_get(&l, i), e);
    return r;
}

int stash_open(int box_dir, struct stash **ret, struct error *e)
{
    if (mkdirat(box_dir, STASH, 0700) < 0 && errno != EEXIST)
        return error_set(e, ERROR_FAILED, -errno, "make the stash");
    _cleanup_(stash_closep) struct stash *s = mem_new(1, sizeof(*s));
    s->fd = openat(box_dir, STASH, DIRECTORY);
    if (s->fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "open the stash");
    int r = stash_slot_tidy(s, e);
    if (r < 0)
        return error_prefix(e, "open the stash"), r;
    *ret = mem_steal(s);
    return 0;
}

int stash_list_add(void *list, const char *path, bool directory, struct error *e)
{
    (void)directory;
    (void)e;
    struct stash_list *l = list;
    if (l->count == l->room) {
        l->room = l->room ? 2 * l->room : 64;
        l->paths = mem_grow(l->paths, l->room, sizeof(*l->paths));
    }
    l->paths[l->count++] = mem_strdup(path);
    return 0;
}

void stash_list_release(struct stash_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->paths[i]);
    free(l->paths);
    *l = (struct stash_list){ 0 };
}
