/* SPDX-License-Identifier: MIT */
#include "index/key.h"

#include <errno.h>
#include <string.h>

enum { KEY_OWN = 0x01, KEY_BELOW = 0x02 };

bool key_name_valid(struct bytes name)
{
    if (name.len == 0 || name.len > NAME_LEN_MAX)
        return false;
    if (memchr(name.data, '/', name.len) || memchr(name.data, '\0', name.len))
        return false;
    return !(name.data[0] == '.' && (name.len == 1 || (name.len == 2 && name.data[1] == '.')));
}

static void put_component(struct buf *k, struct bytes name)
{
    static const uint8_t below = KEY_BELOW, end = 0;
    buf_add(k, &below, 1);
    buf_add(k, name.data, name.len);
    buf_add(k, &end, 1);
}

/* Appends all components of dir as directories. */
static int put_directory(struct buf *k, struct bytes dir)
{
    if (dir.len > PATH_LEN_MAX)
        return -EINVAL;
    while (dir.len > 0) {
        const uint8_t *slash = memchr(dir.data, '/', dir.len);
        struct bytes name = { dir.data, slash ? (size_t)(slash - dir.data) : dir.len };
        if (!key_name_valid(name))
            return -EINVAL;
        put_component(k, name);
        if (!slash)
            return 0;
        dir.data += name.len + 1;
        dir.len -= name.len + 1;
        if (dir.len == 0)
            return -EINVAL; /* a slash at the end */
    }
    return 0;
}

static void put_mark(struct buf *k, uint8_t mark)
{
    buf_add(k, &mark, 1);
}

int key_from_path(struct bytes path, struct buf *k)
{
    buf_clear(k);
    if (path.len == 0 || path.len > PATH_LEN_MAX)
        return -EINVAL;

    const uint8_t *slash = memrchr(path.data, '/', path.len);
    size_t dir_len = slash ? (size_t)(slash - path.data) : 0;
    struct bytes name = { slash ? slash + 1 : path.data, slash ? path.len - dir_len - 1 : path.len };
    if ((slash && dir_len == 0) || !key_name_valid(name) ||
        put_directory(k, (struct bytes){ path.data, dir_len }) < 0) {
        buf_clear(k);
        return -EINVAL;
    }
    put_mark(k, KEY_OWN);
    buf_add(k, name.data, name.len);
    return 0;
}

/* Takes the next directory component off k; false, and nothing taken, when k does not go on with a safe one. */
static bool next_component(struct bytes *k, struct bytes *ret)
{
    if (k->len == 0 || k->data[0] != KEY_BELOW)
        return false;
    const uint8_t *end = memchr(k->data, '\0', k->len);
    if (!end)
        return false;
    struct bytes name = { k->data + 1, (size_t)(end - k->data) - 1 };
    if (!key_name_valid(name))
        return false;
    k->len -= name.len + 2;
    k->data = end + 1;
    *ret = name;
    return true;
}

bool key_valid(struct bytes k)
{
    size_t path_len = 0;
    struct bytes name;
    while (next_component(&k, &name)) {
        path_len += name.len + 1;
        if (path_len > PATH_LEN_MAX)
            return false;
    }
    if (k.len == 0 || k.data[0] != KEY_OWN)
        return false;
    return key_name_valid((struct bytes){ k.data + 1, k.len - 1 }) && path_len + k.len - 1 <= PATH_LEN_MAX;
}

int key_to_path(struct bytes k, struct buf *path)
{
    buf_clear(path);
    if (!key_valid(k))
        return -EINVAL;

    struct bytes name;
    while (next_component(&k, &name)) {
        buf_add(path, name.data, name.len);
        put_mark(path, '/');
    }
    buf_add(path, k.data + 1, k.len - 1);
    buf_string(path);
    return 0;
}

int key_directory_prefix(struct bytes dir, struct buf *prefix)
{
    int r = key_subtree_prefix(dir, prefix);
    if (r < 0)
        return r;
    put_mark(prefix, KEY_OWN);
    return 0;
}

int key_subtree_prefix(struct bytes dir, struct buf *prefix)
{
    buf_clear(prefix);
    int r = put_directory(prefix, dir);
    if (r < 0)
        buf_clear(prefix);
    return r;
}

bool key_starts_with(struct bytes k, struct bytes prefix)
{
    return k.len >= prefix.len && (prefix.len == 0 || memcmp(k.data, prefix.data, prefix.len) == 0);
}

struct bytes key_name(struct bytes k)
{
    /* What ends a directory's component is NUL, and what marks the name follows it; names hold no NUL. */
    const uint8_t *end = memrchr(k.data, '\0', k.len);
    size_t skip = end ? (size_t)(end - k.data) + 2 : 1;
    return (struct bytes){ k.data + skip, k.len - skip };
}
