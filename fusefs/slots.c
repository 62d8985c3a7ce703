/* SPDX-License-Identifier: MIT */
#include "fusefs/slots.h"

#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MAGIC "agbox-slots-1"

struct attempt {
    uint64_t unique;
    uint64_t count;
};

struct slots {
    char magic[16];
    _Atomic int32_t supervisor, daemon;
    uint32_t init_len;
    uint8_t init[SLOTS_REQUEST_MAX - 32];
    struct attempt attempts[SLOTS_COUNT];
    uint8_t requests[SLOTS_COUNT][SLOTS_REQUEST_MAX] __attribute__((aligned(4096)));
};

_Static_assert(offsetof(struct slots, requests) % 4096 == 0, "slots begin on a page");
_Static_assert(SLOTS_REQUEST_MAX >= FUSE_MIN_READ_BUFFER, "the kernel refuses shorter reads");

int slots_create(int *ret_fd, struct error *e)
{
    _cleanup_close_ int fd = memfd_create("ag-box-slots", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "memfd_create");
    if (ftruncate(fd, sizeof(struct slots)) < 0 || pwrite(fd, MAGIC, sizeof(MAGIC), 0) != sizeof(MAGIC))
        return error_set(e, ERROR_FAILED, -errno, "size the request slots");
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
        return error_set(e, ERROR_FAILED, -errno, "seal the request slots");
    *ret_fd = mem_steal_fd(&fd);
    return 0;
}

int slots_open(int fd, struct slots **ret, struct error *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set(e, ERROR_FAILED, -errno, "stat the request slots");
    if (st.st_size != sizeof(struct slots))
        return error_set(e, ERROR_DAMAGED, -EBADMSG, "request slots of %lld bytes", (long long)st.st_size);
    struct slots *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s == MAP_FAILED)
        return error_set(e, ERROR_FAILED, -errno, "map the request slots");
    if (memcmp(s->magic, MAGIC, sizeof(MAGIC)) != 0) {
        slots_close(s);
        return error_set(e, ERROR_DAMAGED, -EBADMSG, "request slots of another version");
    }
    mlock(s, offsetof(struct slots, requests));
    *ret = s;
    return 0;
}

void slots_close(struct slots *s)
{
    if (s)
        munmap(s, sizeof(*s));
}

int slots_save_init(struct slots *s, struct bytes request, struct error *e)
{
    if (request.len > sizeof(s->init))
        return error_set(e, ERROR_FAILED, -EFBIG, "a FUSE_INIT of %zu bytes", request.len);
    memcpy(s->init, request.data, request.len);
    s->init_len = (uint32_t)request.len;
    return 0;
}

struct bytes slots_init(const struct slots *s)
{
    return (struct bytes){ s->init, s->init_len <= sizeof(s->init) ? s->init_len : 0 };
}

void slots_set_pids(struct slots *s, pid_t supervisor, pid_t daemon)
{
    s->supervisor = supervisor;
    s->daemon = daemon;
}

void slots_pids(const struct slots *s, pid_t *ret_supervisor, pid_t *ret_daemon)
{
    *ret_supervisor = s->supervisor;
    *ret_daemon = s->daemon;
}

void *slots_request(struct slots *s, unsigned i)
{
    return s->requests[i];
}

void slots_lock(struct slots *s, unsigned i)
{
    volatile uint8_t *page = s->requests[i];
    for (size_t at = 0; at < SLOTS_REQUEST_MAX; at += 4096)
        page[at] = page[at];
    mlock(s->requests[i], SLOTS_REQUEST_MAX);
}

uint64_t slots_pending(const struct slots *s, unsigned i)
{
    return ((const struct fuse_in_header *)s->requests[i])->unique;
}

unsigned slots_attempt(struct slots *s, unsigned i)
{
    struct attempt *a = &s->attempts[i];
    uint64_t unique = slots_pending(s, i);
    if (a->unique != unique)
        *a = (struct attempt){ unique, 0 };
    return (unsigned)++a->count;
}

void slots_done(struct slots *s, unsigned i)
{
    atomic_thread_fence(memory_order_release);
    *(volatile uint64_t *)&((struct fuse_in_header *)s->requests[i])->unique = 0;
}
