/* SPDX-License-Identifier: MIT */
/* fuzzes: mount_each. */
#include "fusefs/mount.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int look(void *arg, const struct mount_line *m)
{
    size_t *left = arg, taken = strlen(m->root) + strlen(m->point) + strlen(m->options) + strlen(m->type) +
                                strlen(m->source) + strlen(m->super_options);
    REQUIRE(m->type[0] && taken < *left);
    *left -= taken;
    return 0;
}

/* mountinfo of a process in a namespace that a box filled: nothing is said that the file did not hold. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    char path[64];
    size_t left = size;
    if (file < 0)
        file = memfd_create("mountinfo", MFD_CLOEXEC);
    REQUIRE(file >= 0 && ftruncate(file, 0) == 0 && fd_pwrite_all(file, data, size, 0, NULL) == 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    REQUIRE(mount_each(path, look, &left, NULL) == 0);
    return 0;
}
