/* SPDX-License-Identifier: MIT */
#include "index/names.h"

#include "index/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

void names_release(struct names *l)
{
    buf_release(&l->text);
    free(l->items);
    *l = (struct names){ 0 };
}

const char *names_get(const struct names *l, size_t i)
{
    return (const char *)l->text.data + l->items[i].at;
}

static uint8_t type_of(int directory, const struct dirent64 *d)
{
    struct stat st;
    if (d->d_type != DT_UNKNOWN || fstatat(directory, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return d->d_type;
    return (uint8_t)IFTODT(st.st_mode);
}

static void add(struct names *l, int directory, const struct dirent64 *d)
{
    if (l->count == l->room) {
        l->room = l->room ? 2 * l->room : 64;
        l->items = mem_grow(l->items, l->room, sizeof(*l->items));
    }
    l->items[l->count++] = (struct names_item){ l->text.len, type_of(directory, d) };
    buf_add(&l->text, d->d_name, strlen(d->d_name) + 1);
}

static int by_name(const void *a, const void *b, void *text)
{
    const struct names_item *x = a, *y = b;
    return strcmp((const char *)text + x->at, (const char *)text + y->at);
}

/* Sorted, and each once: a name that goes and comes again meanwhile may be listed twice (XFS). */
static void put_in_order(struct names *l)
{
    size_t count = 0;
    if (l->count > 1)
        qsort_r(l->items, l->count, sizeof(*l->items), by_name, l->text.data);
    for (size_t i = 0; i < l->count; i++)
        if (count == 0 || strcmp(names_get(l, count - 1), names_get(l, i)) != 0)
            l->items[count++] = l->items[i];
    l->count = count;
}

int names_read(int directory, struct names *ret, struct error *e)
{
    buf_clear(&ret->text);
    ret->count = 0;
    if (lseek(directory, 0, SEEK_SET) < 0)
        return error_set(e, ERROR_FAILED, -errno, "rewind a directory");

    _Alignas(struct dirent64) char room[32 * 1024];
    for (;;) {
        ssize_t n = getdents64(directory, room, sizeof(room));
        if (n < 0)
            return error_set(e, ERROR_FAILED, -errno, "read a directory");
        if (n == 0)
            break;
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *d = (const void *)(room + at);
            if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
                add(ret, directory, d);
            at += d->d_reclen;
        }
    }
    put_in_order(ret);
    return 0;
}
