/* SPDX-License-Identifier: MIT */
#include "sandbox/filter.h"

#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/net.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>

#define LOW_HALF 0xffffffffu /* the kernel looks at no more of an int */

/* errnum: what the caller gets. In any case: the kernel's own check is by a capability that the box has not, or there
 * is none at all. */
static const struct {
    const char *name;
    int errnum;
} refused[] = {
    /* A kernel of its own to attack, and libuv and others fall back on ENOSYS. */
    { "io_uring_setup", ENOSYS },
    { "io_uring_enter", ENOSYS },
    { "io_uring_register", ENOSYS },
    /* The kernel itself. */
    { "bpf", EPERM },
    { "perf_event_open", EPERM },
    { "userfaultfd", EPERM },
    { "kexec_load", EPERM },
    { "kexec_file_load", EPERM },
    { "init_module", EPERM },
    { "finit_module", EPERM },
    { "delete_module", EPERM },
    /* Keyrings are not in any namespace: the host's root has one that uid 0 in here would share. */
    { "keyctl", EPERM },
    { "add_key", EPERM },
    { "request_key", EPERM },
    /* Around the mounts. */
    { "open_by_handle_at", EPERM },
    /* The clock is the host's. */
    { "clock_settime", EPERM },
    { "clock_settime64", EPERM },
    { "settimeofday", EPERM },
    { "stime", EPERM },
};

static const int families[] = { AF_PACKET, AF_VSOCK, AF_BLUETOOTH };

/* What types into, or reads, the terminal that someone attaches with. */
static const unsigned ioctls[] = { TIOCSTI, TIOCLINUX };

static int refuse_argument(scmp_filter_ctx f, const char *call, unsigned argument, scmp_datum_t mask,
                           scmp_datum_t value)
{
    int number = seccomp_syscall_resolve_name(call);
    struct scmp_arg_cmp is = SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, mask, value);
    return seccomp_rule_add_array(f, SCMP_ACT_ERRNO(EPERM), number, 1, &is);
}

static int refuse_value(scmp_filter_ctx f, const char *call, scmp_datum_t mask, scmp_datum_t value)
{
    return refuse_argument(f, call, 0, mask, value);
}

/*
 * personality(2) may be asked (0xffffffff), be plain, or have ADDR_NO_RANDOMIZE: debuggers need that. A rule compares
 * an argument once, so "one of three values" is said like this: around the ring of all other bits, none may be set
 * whose next one is not; then all are, or none. All of them without ADDR_NO_RANDOMIZE is left to refuse.
 */
static int refuse_personalities(scmp_filter_ctx f)
{
    unsigned ring[31], count = 0;
    for (unsigned bit = 0; bit < 32; bit++)
        if (1u << bit != ADDR_NO_RANDOMIZE)
            ring[count++] = 1u << bit;
    int r = 0;
    for (unsigned i = 0; i < count && r == 0; i++)
        r = refuse_value(f, "personality", ring[i] | ring[(i + 1) % count], ring[i]);
    return r < 0 ? r : refuse_value(f, "personality", LOW_HALF, LOW_HALF & ~(unsigned)ADDR_NO_RANDOMIZE);
}

/* socketcall(2) of 32-bit programs has the family behind a pointer: they have socket(2) since Linux 4.3. */
static int refuse_sockets(scmp_filter_ctx f)
{
    int r = 0;
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]) && r == 0; i++)
        r = refuse_value(f, "socket", LOW_HALF, (unsigned)families[i]);
    return r < 0 ? r : refuse_value(f, "socketcall", LOW_HALF, SYS_SOCKET);
}

/* A lease on a file has whoever opens it wait, on the host, too; and root may lease what it can only read. */
static int refuse_requests(scmp_filter_ctx f)
{
    int r = 0;
    for (size_t i = 0; i < sizeof(ioctls) / sizeof(ioctls[0]) && r == 0; i++)
        r = refuse_argument(f, "ioctl", 1, LOW_HALF, ioctls[i]);
    if (r == 0)
        r = refuse_argument(f, "fcntl", 1, LOW_HALF, F_SETLEASE);
    return r < 0 ? r : refuse_argument(f, "fcntl64", 1, LOW_HALF, F_SETLEASE);
}

static int add_rules(scmp_filter_ctx f)
{
    int r = 0;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]) && r == 0; i++) {
        int number = seccomp_syscall_resolve_name(refused[i].name);
        if (number == __NR_SCMP_ERROR)
            return -ENOSYS;
        r = seccomp_rule_add(f, SCMP_ACT_ERRNO((unsigned)refused[i].errnum), number, 0);
    }
    if (r == 0)
        r = refuse_requests(f);
    if (r == 0)
        r = refuse_personalities(f);
    return r < 0 ? r : refuse_sockets(f);
}

/* The 32-bit one of this machine's kernel gets the rules, too; any other does not exist. */
static int set_architectures(scmp_filter_ctx f)
{
    int r = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
    uint32_t native = seccomp_arch_native();
    if (r == 0 && native == SCMP_ARCH_X86_64)
        r = seccomp_arch_add(f, SCMP_ARCH_X86);
    if (r == 0 && native == SCMP_ARCH_AARCH64)
        r = seccomp_arch_add(f, SCMP_ARCH_ARM);
    return r;
}

int filter_make(int *ret_fd, struct error *e)
{
    scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
    if (!f)
        return error_set(e, ERROR_FAILED, -ENOMEM, "make the system call filter");
    _cleanup_close_ int fd = memfd_create("ag-box-filter", MFD_CLOEXEC);
    int r = fd < 0 ? -errno : set_architectures(f);
    if (r == 0)
        r = add_rules(f);
    if (r == 0)
        r = seccomp_export_bpf(f, fd);
    seccomp_release(f);
    if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
        r = -errno;
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "make the system call filter");
    *ret_fd = mem_steal_fd(&fd);
    return 0;
}
