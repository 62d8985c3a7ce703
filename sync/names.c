/* SPDX-License-Identifier: MIT */
#include "sync/names.h"

#include "index/base/mem.h"

#include <errno.h>

struct listing {
    struct names names;
    size_t skip;
};

static int add(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    struct listing *l = arg;
    if (l->names.count == NAMES_MAX)
        return error_say(e, ERROR_DAMAGED, -EFBIG, "more than %d objects like %s", NAMES_MAX, key);
    if ((l->names.count & (l->names.count - 1)) == 0)
        l->names.name = mem_grow(l->names.name, l->names.count ? 2 * l->names.count : 1, sizeof(char *));
    l->names.name[l->names.count++] = mem_strdup(key + l->skip);
    return 0;
}

int names_list(struct store *s, const char *prefix, struct names *ret, struct error *e)
{
    struct listing l = { .skip = strlen(prefix) };
    int r = store_list(s, prefix, add, &l, e);
    if (r < 0) {
        names_release(&l.names);
        return r;
    }
    names_release(ret);
    *ret = l.names;
    return 0;
}

void names_release(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
    *n = (struct names){ 0 };
}
