/* SPDX-License-Identifier: MIT */
#include "index/access.h"

#include "index/base/mem.h"
#include "index/base/wire.h"
#include "index/key.h"

#include <errno.h>

#define PATH_ENCODED_MIN 2

void access_encode(char *const *paths, size_t count, struct buf *to)
{
    size_t kept = 0, bytes = 0;
    while (kept < count && kept < ACCESS_PATHS_MAX) {
        bytes += strlen(paths[kept]) + 3;
        if (bytes > ACCESS_MAX - 16)
            break;
        kept++;
    }
    wire_put_varint(to, kept);
    for (size_t i = 0; i < kept; i++)
        wire_put_string(to, paths[i], strlen(paths[i]));
}

int access_decode(struct bytes b, char ***ret, size_t *ret_count, struct error *e)
{
    struct wire w = wire_reader(b.data, b.len);
    size_t count = (size_t)wire_bounded(&w, ACCESS_PATHS_MAX), got = 0;
    if (w.bad || count > (size_t)(w.end - w.at) / PATH_ENCODED_MIN)
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the access list has an impossible length");

    char **paths = mem_new(count, sizeof(*paths));
    _cleanup_(buf_release) struct buf key = { 0 };
    while (got < count && !w.bad) {
        struct bytes path = wire_string(&w, PATH_LEN_MAX);
        if (w.bad || key_from_path(path, &key) < 0)
            w.bad = true;
        else
            paths[got++] = mem_copy(path.data, path.len);
    }
    if (!wire_done(&w)) {
        access_free(paths, got);
        return error_say(e, ERROR_DAMAGED, -EBADMSG, "the access list is not one");
    }
    *ret = paths;
    *ret_count = count;
    return 0;
}

static bool is_among(const char *path, char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(paths[i], path) == 0)
            return true;
    return false;
}

int access_put_first(struct bytes list, char *const *first, size_t count, struct buf *to, struct error *e)
{
    char **old;
    size_t old_count, all_count = count;
    int r = access_decode(list, &old, &old_count, e);
    if (r < 0)
        return r;
    _cleanup_free_ char **all = mem_new(count + old_count + 1, sizeof(*all));
    for (size_t i = 0; i < count; i++)
        all[i] = first[i];
    for (size_t i = 0; i < old_count; i++)
        if (!is_among(old[i], first, count))
            all[all_count++] = old[i];
    access_encode(all, all_count, to);
    access_free(old, old_count);
    return 0;
}

void access_free(char **paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
}
