/* SPDX-License-Identifier: MIT */
#include "sync/children.h"

#include "index/base/mem.h"

#include <errno.h>
#include <stdio.h>

struct names {
    char **name;
    size_t count;
    size_t skip; /* of a key, to the name */
};

static void names_release(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free(n->name[i]);
    free(n->name);
}

static int add(void *arg, const char *key, const struct store_info *info, struct error *e)
{
    (void)info;
    struct names *n = arg;
    if (n->count == CHILDREN_MAX)
        return error_say(e, ERROR_DAMAGED, -EFBIG, "more than %d objects like %s", CHILDREN_MAX, key);
    if ((n->count & (n->count - 1)) == 0)
        n->name = mem_grow(n->name, n->count ? 2 * n->count : 1, sizeof(char *));
    n->name[n->count++] = mem_strdup(key + n->skip);
    return 0;
}

int children_open(struct store *s, const struct seal_context *c, const char *kind, enum seal_type type,
                  const char *name, struct buf *ret_body, struct store_info *ret_info, struct error *e)
{
    char key[STORE_KEY_MAX];
    _cleanup_(buf_release) struct buf sealed = { 0 };
    *ret_info = (struct store_info){ 0 };
    store_box_key(key, c->box, "%s/%s", kind, name);
    int r = store_get(s, key, 0, 0, CHILD_MAX, &sealed, ret_info, e);
    if (r < 0 && r != -EFBIG)
        return r;
    return r < 0 || seal_open(c, type, name, strlen(name), buf_bytes(&sealed), CHILD_MAX, ret_body, NULL) < 0;
}

int children_list(struct store *s, const struct seal_context *c, const char *kind, children_get get, size_t size,
                  void **ret, size_t *ret_count, struct error *e)
{
    char prefix[STORE_KEY_MAX];
    _cleanup_(names_release) struct names names = { 0 };
    names.skip = store_box_key(prefix, c->box, "%s/", kind);
    int r = store_list(s, prefix, add, &names, e);
    if (r < 0)
        return r;
    _cleanup_free_ uint8_t *all = mem_new(names.count + 1, size);
    size_t count = 0;
    for (size_t i = 0; i < names.count; i++) {
        r = get(s, c, names.name[i], all + count * size, e);
        if (r == 0)
            count++;
        else if (r != -ENOENT)
            return r;
    }
    *ret = mem_steal(all);
    *ret_count = count;
    return 0;
}
