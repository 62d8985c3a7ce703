/* SPDX-License-Identifier: MIT */
#include "sync/children.h"

#include "index/base/mem.h"

#include <errno.h>

struct listing {
    struct children names;
    size_t skip;
};

static int add(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    struct listing *l = arg;
    if (l->names.count == CHILDREN_MAX)
        return error_say(e, ERROR_DAMAGED, -EFBIG, "more than %d objects like %s", CHILDREN_MAX, key);
    if ((l->names.count & (l->names.count - 1)) == 0)
        l->names.name = mem_grow(l->names.name, l->names.count ? 2 * l->names.count : 1, sizeof(char *));
    l->names.name[l->names.count++] = mem_strdup(key + l->skip);
    return 0;
}

int children_list(struct store *s, const char *prefix, struct children *ret, struct error *e)
{
    struct listing l = { .skip = strlen(prefix) };
    int r = store_list(s, prefix, add, &l, e);
    if (r < 0) {
        children_release(&l.names);
        return r;
    }
    children_release(ret);
    *ret = l.names;
    return 0;
}

void children_release(struct children *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
    *n = (struct children){ 0 };
}
