/* SPDX-License-Identifier: MIT */
#include "index/lookup.h"

#include "index/base/mem.h"

#include <errno.h>
#include <string.h>

int lookup_path(struct tree *t, const char *path, struct entry *ret, struct error *e)
{
    _cleanup_(buf_release) struct buf key = { 0 };
    struct error why = { 0 };
    int r = key_from_path((struct bytes){ (const uint8_t *)path, strlen(path) }, &key);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "make a key of %s", path);
    r = tree_find(t, buf_bytes(&key), NULL, ret, &why);
    if (r == 0)
        return 1;
    if (r == -ENOENT && why.kind == ERROR_UNKNOWN)
        return 0;
    error_pass(e, &why);
    return r;
}
