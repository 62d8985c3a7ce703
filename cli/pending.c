/* SPDX-License-Identifier: MIT */
#include "cli/pending.h"

#include <errno.h>
#include <fts.h>
#include <stddef.h>
#include <sys/stat.h>

#define BLOCK 512u

static uint64_t size_of(const struct stat *st)
{
    uint64_t taken = (uint64_t)st->st_blocks * BLOCK, size = (uint64_t)st->st_size;
    return taken < size ? taken : size;
}

int pending_bytes(const char *root, int64_t since_ns, uint64_t *ret, struct error *e)
{
    char *const roots[] = { (char *)(uintptr_t)root, NULL };
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
    if (!walk)
        return error_set(e, ERROR_FAILED, -errno, "walk %s", root);
    uint64_t sum = 0;
    FTSENT *at;
    while ((at = fts_read(walk))) {
        if (at->fts_info != FTS_F)
            continue;
        const struct timespec *changed = &at->fts_statp->st_ctim;
        if (changed->tv_sec * INT64_C(1000000000) + changed->tv_nsec > since_ns)
            sum += size_of(at->fts_statp);
    }
    fts_close(walk);
    *ret = sum;
    return 0;
}
