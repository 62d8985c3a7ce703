/* SPDX-License-Identifier: MIT */
#include "index/linkset.h"

#include "index/base/mem.h"
#include "index/key.h"

#include <string.h>
#include <uthash.h>

struct later_name {
    UT_hash_handle hh;
    struct buf key;
    struct buf first_key;
    char *path, *first;
};

struct linkset {
    struct later_name *names; /* by key */
};

struct linkset *linkset_new(void)
{
    return mem_new(1, sizeof(struct linkset));
}

static void remove_name(struct linkset *s, struct later_name *n)
{
    HASH_DEL(s->names, n);
    buf_release(&n->key);
    buf_release(&n->first_key);
    free(n->path);
    free(n->first);
    free(n);
}

void linkset_free(struct linkset *s)
{
    if (!s)
        return;
    struct later_name *n, *next;
    HASH_ITER (hh, s->names, n, next) {
        remove_name(s, n);
    }
    free(s);
}

static struct later_name *find(const struct linkset *s, struct bytes key)
{
    struct later_name *n;
    HASH_FIND(hh, s->names, key.data, key.len, n);
    return n;
}

void linkset_remove(struct linkset *s, struct bytes path)
{
    _cleanup_(buf_release) struct buf key = { 0 };
    if (!s->names || key_from_path(path, &key) < 0)
        return;
    struct later_name *n = find(s, buf_bytes(&key));
    if (n)
        remove_name(s, n);
}

void linkset_remove_below(struct linkset *s, struct bytes key_prefix)
{
    struct later_name *n, *next;
    HASH_ITER (hh, s->names, n, next) {
        if (n->key.len >= key_prefix.len && memcmp(n->key.data, key_prefix.data, key_prefix.len) == 0)
            remove_name(s, n);
    }
}

void linkset_put(struct linkset *s, struct bytes path, const char *first)
{
    linkset_remove(s, path);
    struct later_name *n = mem_new(1, sizeof(*n));
    n->path = mem_copy(path.data, path.len);
    n->first = mem_strdup(first);
    struct bytes first_path = { (const uint8_t *)first, strlen(first) };
    if (key_from_path(path, &n->key) < 0 || key_from_path(first_path, &n->first_key) < 0 || n->key.len == 0) {
        buf_release(&n->key);
        buf_release(&n->first_key);
        free(n->path);
        free(n->first);
        free(n);
        return;
    }
    HASH_ADD_KEYPTR(hh, s->names, n->key.data, (unsigned)n->key.len, n);
}

void linkset_load(struct linkset *s, const struct link_group *g, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 1; k < g[i].count; k++)
            linkset_put(s, (struct bytes){ (const uint8_t *)g[i].paths[k], strlen(g[i].paths[k]) }, g[i].paths[0]);
}

static int compare_names(const void *a, const void *b)
{
    const struct later_name *x = *(const struct later_name *const *)a, *y = *(const struct later_name *const *)b;
    int c = bytes_compare(buf_bytes(&x->first_key), buf_bytes(&y->first_key));
    return c ? c : bytes_compare(buf_bytes(&x->key), buf_bytes(&y->key));
}

void linkset_groups(const struct linkset *s, struct link_group **ret, size_t *ret_count)
{
    size_t total = HASH_COUNT(s->names), count = 0;
    _cleanup_free_ struct later_name **sorted = mem_new(total + 1, sizeof(struct later_name *));
    size_t at = 0;
    for (struct later_name *n = s->names; n; n = n->hh.next)
        sorted[at++] = n;
    if (total)
        qsort(sorted, total, sizeof(struct later_name *), compare_names);

    struct link_group *groups = mem_new(total + 1, sizeof(*groups));
    for (size_t i = 0; i < total;) {
        size_t end = i;
        while (end < total && strcmp(sorted[end]->first, sorted[i]->first) == 0)
            end++;
        struct link_group *g = &groups[count++];
        g->count = end - i + 1;
        g->paths = mem_new(g->count, sizeof(char *));
        g->paths[0] = mem_strdup(sorted[i]->first);
        for (size_t k = i; k < end; k++)
            g->paths[k - i + 1] = mem_strdup(sorted[k]->path);
        i = end;
    }
    *ret = groups;
    *ret_count = count;
}
