/* SPDX-License-Identifier: MIT */
#include "fusefs/requests.h"

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

struct requests {
    char magic[16];
    _Atomic int32_t supervisor, daemon;
    uint32_t init_len;
    uint8_t init[REQUEST_MAX - 32];
    struct attempt attempts[REQUESTS_SLOTS];
    uint8_t slots[REQUESTS_SLOTS][REQUEST_MAX] __attribute__((aligned(4096)));
};

_Static_assert(offsetof(struct requests, slots) % 4096 == 0, "slots begin on a page");
_Static_assert(REQUEST_MAX >= FUSE_MIN_READ_BUFFER, "the kernel refuses shorter reads");

int requests_create(int *ret_fd, struct error *e)
{
    _cleanup_close_ int fd = memfd_create("ag-box-slots", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return error_set(e, ERROR_FAILED, -errno, "memfd_create");
    if (ftruncate(fd, sizeof(struct requests)) < 0 || pwrite(fd, MAGIC, sizeof(MAGIC), 0) != sizeof(MAGIC))
        return error_set(e, ERROR_FAILED, -errno, "size the request slots");
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
        return error_set(e, ERROR_FAILED, -errno, "seal the request slots");
    *ret_fd = mem_steal_fd(&fd);
    return 0;
}

int requests_open(int fd, struct requests **ret, struct error *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set(e, ERROR_FAILED, -errno, "stat the request slots");
    if (st.st_size != sizeof(struct requests))
        return error_set(e, ERROR_DAMAGED, -EBADMSG, "request slots of %lld bytes", (long long)st.st_size);
    struct requests *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s == MAP_FAILED)
        return error_set(e, ERROR_FAILED, -errno, "map the request slots");
    if (memcmp(s->magic, MAGIC, sizeof(MAGIC)) != 0) {
        requests_close(s);
        return error_set(e, ERROR_DAMAGED, -EBADMSG, "request slots of another version");
    }
    mlock(s, offsetof(struct requests, slots));
    *ret = s;
    return 0;
}

void requests_close(struct requests *s)
{
    if (s)
        munmap(s, sizeof(*s));
}

int requests_save_init(struct requests *s, struct bytes request, struct error *e)
{
    if (request.len > sizeof(s->init))
        return error_set(e, ERROR_FAILED, -EFBIG, "a FUSE_INIT of %zu bytes", request.len);
    memcpy(s->init, request.data, request.len);
    s->init_len = (uint32_t)request.len;
    return 0;
}

struct bytes requests_init(const struct requests *s)
{
    return (struct bytes){ s->init, s->init_len <= sizeof(s->init) ? s->init_len : 0 };
}

void requests_set_pids(struct requests *s, pid_t supervisor, pid_t daemon)
{
    s->supervisor = supervisor;
    s->daemon = daemon;
}

void requests_pids(const struct requests *s, pid_t *ret_supervisor, pid_t *ret_daemon)
{
    *ret_supervisor = s->supervisor;
    *ret_daemon = s->daemon;
}

void *requests_slot(struct requests *s, unsigned i)
{
    return s->slots[i];
}

void requests_lock(struct requests *s, unsigned i)
{
    volatile uint8_t *page = s->slots[i];
    for (size_t at = 0; at < REQUEST_MAX; at += 4096)
        page[at] = page[at];
    mlock(s->slots[i], REQUEST_MAX);
}

uint64_t requests_pending(const struct requests *s, unsigned i)
{
    return ((const struct fuse_in_header *)s->slots[i])->unique;
}

unsigned requests_attempt(struct requests *s, unsigned i)
{
    struct attempt *a = &s->attempts[i];
    uint64_t unique = requests_pending(s, i);
    if (a->unique != unique)
        *a = (struct attempt){ unique, 0 };
    return (unsigned)++a->count;
}

void requests_done(struct requests *s, unsigned i)
{
    atomic_thread_fence(memory_order_release);
    *(volatile uint64_t *)&((struct fuse_in_header *)s->slots[i])->unique = 0;
}
