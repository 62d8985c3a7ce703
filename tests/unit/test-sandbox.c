/* SPDX-License-Identifier: MIT */
/*
 * A real box, with this program in it as PID 1: the name of the box is the name of the question that it answers in
 * there, by its exit code. Each answer must be 0 behind the policy's command line, and another one where the test says
 * so behind a line that lacks the protection.
 */
#include "sandbox/copies.h"
#include "sandbox/etc.h"
#include "sandbox/filter.h"
#include "sandbox/policy.h"
#include "sandbox/weaken.h"

#include "index/base/fd.h"
#include "index/base/mem.h"
#include "tests/unit/scratch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#define ANSWER_NO 10 /* bwrap itself fails with 1 */

/* --- inside: 0 is what must be; 1 the opposite; 2 something unforeseen */

static int refused(long result, int errnum)
{
    if (result >= 0)
        return 1;
    if (errno == errnum)
        return 0;
    perror("unforeseen");
    return 2;
}

static int writes(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool written = fd >= 0 && write(fd, "x", 1) == 1;
    if (fd >= 0)
        close(fd);
    return written ? 0 : 1;
}

static int ask_system(void)
{
    return refused(open("/etc/agbox-was-here", O_WRONLY | O_CREAT, 0600), EROFS) || /* first: it is a copy */
           refused(open("/usr/agbox-was-here", O_WRONLY | O_CREAT, 0600), EROFS) ||
           refused(open("/agbox-was-here", O_WRONLY | O_CREAT, 0600), EROFS);
}

/* A sysctl: what the kernel runs when a program dumps core, as the host's root. */
static int ask_sysctl(void)
{
    return refused(open("/proc/sys/kernel/core_pattern", O_WRONLY), EROFS);
}

/* The same behind a /proc of one's own. */
static int ask_own_proc(void)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) < 0)
        return 2;
    pid_t pid = fork();
    if (pid == 0)
        _exit(mount("proc", "/proc", "proc", 0, NULL) < 0 && errno == EPERM ? 0 : 1);
    int status;
    return waitpid(pid, &status, 0) != pid || status != 0;
}

static int ask_places(void)
{
    return writes("/root/x") || writes("/tmp/x") || writes("/var/tmp/x") || writes("/run/x") || writes("/dev/shm/x") ||
           writes("/run/box/places/x") || writes("/root/demo/x") || access("/run/box/etc/empty", F_OK) < 0 ||
           refused(open("/run/box/etc/x", O_WRONLY | O_CREAT, 0600), EROFS);
}

static int ask_remount(void)
{
    return refused(mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL), EPERM);
}

static int ask_device(void)
{
    return refused(mknod("/tmp/null", S_IFCHR | 0666, makedev(1, 3)), EPERM);
}

static int ask_processes(void)
{
    char name[64];
    snprintf(name, sizeof(name), "/proc/%d", 1);
    return getpid() != 1 || access(name, F_OK) < 0 || access("/proc/2", F_OK) == 0;
}

static int ask_names(void)
{
    struct utsname u;
    return uname(&u) < 0 || strcmp(u.nodename, "names") != 0 || refused(sethostname("host", 4), EPERM);
}

/* The host's is not there; the one that is has no password. */
static bool shadow_tells(void)
{
    char line[512];
    FILE *f = fopen("/etc/shadow", "re");
    bool tells = f == NULL;
    while (f && fgets(line, sizeof(line), f))
        tells |= !strstr(line, ":*:1:0:99999:7:::");
    if (f)
        fclose(f);
    return tells;
}

static int ask_hidden(void)
{
    struct stat st;
    return shadow_tells() || stat("/etc/passwd", &st) < 0 || st.st_size == 0 || access("/root/.ssh", F_OK) == 0 ||
           access("/var/lib", F_OK) == 0 || access("/home", F_OK) == 0;
}

static int ask_environment(void)
{
    return getenv("AGBOX_SECRET") || !getenv("HOME") || strcmp(getenv("HOME"), "/root") != 0 ||
           strcmp(getenv("AGBOX_BOX"), "environment") != 0;
}

static int ask_calls(void)
{
    unsigned char all[128] = { 0 };
    struct timespec now = { 0 };
    return refused(syscall(SYS_io_uring_setup, 4, all), ENOSYS) ||
           refused(syscall(SYS_bpf, 0, all, sizeof(all)), EPERM) ||
           refused(syscall(SYS_perf_event_open, all, 0, -1, -1, 0), EPERM) ||
           refused(syscall(SYS_userfaultfd, 0), EPERM) ||
           refused(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 0), EPERM) ||
           refused(syscall(SYS_open_by_handle_at, AT_FDCWD, all, 0), EPERM) ||
           refused(clock_settime(CLOCK_REALTIME, &now), EPERM) ||
           refused(syscall(SYS_kexec_load, 0, 0, NULL, 0), EPERM) ||
           refused(syscall(SYS_init_module, NULL, 0, ""), EPERM);
}

static int ask_sockets(void)
{
    return refused(socket(AF_PACKET, SOCK_DGRAM, 0), EPERM) || refused(socket(AF_VSOCK, SOCK_STREAM, 0), EPERM) ||
           refused(socket(AF_BLUETOOTH, SOCK_RAW, 0), EPERM) || socket(AF_INET, SOCK_STREAM, 0) < 0 ||
           socket(AF_UNIX, SOCK_STREAM, 0) < 0 || socket(AF_NETLINK, SOCK_RAW, 0) < 0;
}

static int ask_terminal(void)
{
    char c = 'x';
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    /* The kernel compares an unsigned int, and so must the filter. */
    return terminal < 0 || refused(ioctl(terminal, TIOCSTI, &c), EPERM) ||
           refused(ioctl(terminal, TIOCSTI | (1ul << 32), &c), EPERM) || refused(ioctl(terminal, TIOCLINUX, &c), EPERM);
}

static int ask_personality(void)
{
    static const unsigned long allowed[] = { 0, ADDR_NO_RANDOMIZE, 0xffffffff };
    static const unsigned long not_allowed[] = {
        READ_IMPLIES_EXEC, READ_IMPLIES_EXEC | ADDR_NO_RANDOMIZE, PER_LINUX32, 1ul << 31, 1, 0xfffbffff, 0xfffffffe,
        0x7fffffff,        (1ul << 32) | READ_IMPLIES_EXEC
    };
    for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
        if (syscall(SYS_personality, allowed[i]) < 0)
            return 2;
    for (size_t i = 0; i < sizeof(not_allowed) / sizeof(not_allowed[0]); i++)
        if (refused(syscall(SYS_personality, not_allowed[i]), EPERM))
            return 1;
    return 0;
}

/* The same kernel through its other doors: 32-bit calls, and x32. */
static int ask_doors(void)
{
#ifdef __x86_64__
    long result;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(359), "b"(AF_PACKET), "c"(SOCK_DGRAM), "d"(0)
                     : "r8", "r9", "r10", "r11", "memory");
    if (result != -EPERM && result != -ENOSYS) /* ENOSYS: the kernel has no 32-bit calls at all */
        return 1;
    __asm__ volatile("int $0x80"
                     : "=a"(result)
                     : "a"(357), "b"(0), "c"(0), "d"(0)
                     : "r8", "r9", "r10", "r11", "memory");
    if (result != -EPERM && result != -ENOSYS)
        return 1;
    return refused(syscall(0x40000000 | SYS_getpid), ENOSYS);
#else
    return 0;
#endif
}

/* Agents' own sandboxes: a user namespace with mounts of its own; what is locked in it stays. */
static int ask_nested(void)
{
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return 2;
    return mount("none", "/tmp", "tmpfs", 0, NULL) < 0 || refused(umount("/etc"), EINVAL) ||
           refused(mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL), EPERM);
}

static int ask_resolver(void)
{
    char text[64] = "";
    int fd = open("/etc/resolv.conf", O_RDONLY);
    return fd < 0 || read(fd, text, sizeof(text) - 1) < 0 || strcmp(text, "nameserver 192.0.2.1\n") != 0;
}

static int ask_socket(void)
{
    struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = "/root/.local/share/agent.sock" };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return refused(connect(fd, (struct sockaddr *)&to, sizeof(to)), ECONNREFUSED);
}

static int ask_key(void)
{
    return access("/etc/agbox/public.pem", F_OK) < 0 || access("/etc/agbox/private", F_OK) == 0 ||
           access("/etc/agbox/readable.pem", F_OK) == 0 || access("/etc/agbox/unreadable", F_OK) == 0;
}

static const struct {
    const char *name;
    int (*ask)(void);
} questions[] = {
    { "system", ask_system },
    { "places", ask_places },
    { "remount", ask_remount },
    { "device", ask_device },
    { "processes", ask_processes },
    { "names", ask_names },
    { "hidden", ask_hidden },
    { "environment", ask_environment },
    { "calls", ask_calls },
    { "sockets", ask_sockets },
    { "terminal", ask_terminal },
    { "personality", ask_personality },
    { "doors", ask_doors },
    { "nested", ask_nested },
    { "resolver", ask_resolver },
    { "socket", ask_socket },
    { "key", ask_key },
    { "sysctl", ask_sysctl },
    { "own-proc", ask_own_proc },
};

static int answer(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--name") == 0)
            for (size_t k = 0; k < sizeof(questions) / sizeof(questions[0]); k++)
                if (strcmp(argv[i + 1], questions[k].name) == 0)
                    return questions[k].ask() ? ANSWER_NO : 0;
    return 3;
}

/* --- outside */

struct box {
    char *scratch, *project, *home, *etc, *copies, *self, *user;
    struct host host;
};

static void box_make(struct box *b)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    assert_true(n > 0);
    b->scratch = scratch_new();
    b->self = mem_copy(self, (size_t)n);
    b->project = mem_printf("%s/project", b->scratch);
    b->home = mem_printf("%s/home", b->scratch);
    b->etc = mem_printf("%s/" ETC_NAME, b->scratch);
    b->copies = mem_printf("%s/" COPIES_NAME, b->scratch);
    b->user = mem_printf("%s/user", b->scratch);
    scratch_mkdir("%s", b->project);
    scratch_mkdir("%s/demo", b->home);
    scratch_mkdir("%s/.local", b->home);
    scratch_mkdir("%s", b->user);
}

static void box_look(struct box *b)
{
    struct words ours = { 0 };
    _cleanup_close_ int run = scratch_open("%s", b->scratch);
    assert_int_equal(host_look(b->user, &ours, &b->host, NULL), 0);
    assert_int_equal(etc_make(run, "/etc", &ours, NULL), 0);
    etc_follow(run, "/etc", NULL);
    struct environment c = { .box = "demo", .node = "a", .nix = b->host.nix };
    assert_int_equal(copies_make(run, &b->host, &c, NULL), 0);
}

static void box_remove(struct box *b)
{
    host_release(&b->host);
    free(b->self);
    free(b->project);
    free(b->home);
    free(b->etc);
    free(b->copies);
    free(b->user);
    scratch_remove(b->scratch);
}

/* without: a protection (sandbox/weaken); NULL: with all of them. */
static int ask(struct box *b, const char *question, const char *without)
{
    struct policy p = { .name = question,
                        .node = "a",
                        .project = "/root/demo",
                        .project_from = b->project,
                        .home_from = b->home,
                        .etc = b->etc,
                        .copies = b->copies,
                        .init = b->self,
                        .host = &b->host,
                        .listen_fd = 3,
                        .ready_fd = 4,
                        .filter_fd = -1,
                        .info_fd = open("/dev/null", O_WRONLY) }; /* the test keeps its own */
    p.configuration[HOST_CONFIGURATION_COUNT - 1] = b->host.configuration[HOST_CONFIGURATION_COUNT - 1];
    assert_int_equal(filter_make(&p.filter_fd, NULL), 0);
    fcntl(p.filter_fd, F_SETFD, 0);
    _cleanup_(words_release) struct words w = { 0 };
    assert_int_equal(policy_argv(&p, &w, NULL), 0);
#ifdef AGBOX_FAULT
    if (without)
        weaken(&w, without);
#endif
    pid_t pid = fork();
    if (pid == 0) {
        setenv("AGBOX_SECRET", "of the host", 1);
        execvp(w.items[0], w.items);
        _exit(127);
    }
    close(p.filter_fd);
    close(p.info_fd);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void every_question(void **state)
{
    struct box b = { 0 };
    box_make(&b);
    box_look(&b);
    static const char *const plain[] = { "system",   "places",      "remount",     "device", "processes",
                                         "names",    "hidden",      "environment", "calls",  "sockets",
                                         "terminal", "personality", "doors",       "nested" };
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        if (ask(&b, plain[i], NULL) != 0)
            fail_msg("in a box: %s", plain[i]);
    box_remove(&b);
}

/* /etc of this machine, with something more in it, for this process alone. */
static void own_etc(struct box *b)
{
    _cleanup_free_ char *upper = mem_printf("%s/etc-upper", b->scratch), *work = mem_printf("%s/etc-work", b->scratch);
    _cleanup_free_ char *options = mem_printf("lowerdir=/etc,upperdir=%s,workdir=%s", upper, work);
    scratch_mkdir("%s", upper);
    scratch_mkdir("%s", work);
    assert_int_equal(mount("overlay", "/etc", "overlay", 0, options), 0);
}

/* A question that has the same answer without its protection would say nothing. */
static void each_protection_is_needed(void **state)
{
#ifndef AGBOX_FAULT
    skip();
#endif
    struct box b = { 0 };
    box_make(&b);
    box_look(&b);
    assert_int_equal(ask(&b, "remount", "capabilities"), ANSWER_NO);
    assert_int_equal(ask(&b, "device", "capabilities"), ANSWER_NO);
    assert_int_equal(ask(&b, "names", "capabilities"), ANSWER_NO);
    assert_int_equal(ask(&b, "system", "system"), ANSWER_NO);
    assert_int_equal(ask(&b, "processes", "processes"), ANSWER_NO);
    assert_int_equal(ask(&b, "sysctl", "sysctl"), ANSWER_NO);
    assert_int_equal(ask(&b, "environment", "environment"), ANSWER_NO);
    assert_int_equal(ask(&b, "hidden", "hidden"), ANSWER_NO);
    assert_int_equal(ask(&b, "calls", "filter"), ANSWER_NO);
    assert_int_equal(ask(&b, "personality", "filter"), ANSWER_NO);
    assert_int_equal(ask(&b, "doors", "filter"), ANSWER_NO);
    box_remove(&b);
}

static void a_socket_below_a_shown_directory_is_dead(void **state)
{
    struct box b = { 0 };
    box_make(&b);
    scratch_mkdir("%s/.local/share", b.user);
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/.local/share/agent.sock", b.user);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 1), 0);
    box_look(&b);
    assert_int_equal(ask(&b, "socket", NULL), 0);
#ifdef AGBOX_FAULT
    assert_int_equal(ask(&b, "socket", "hidden"), ANSWER_NO);
#endif
    close(fd);
    box_remove(&b);
}

static void private_keys_and_locked_directories_are_hidden(void **state)
{
    struct box b = { 0 };
    box_make(&b);
    own_etc(&b);
    scratch_mkdir("/etc/agbox/private");
    scratch_write("x", "/etc/agbox/private/x");
    assert_int_equal(chmod("/etc/agbox/private", 0700), 0);
    scratch_write("-----BEGIN CERTIFICATE-----\n", "/etc/agbox/public.pem");
    scratch_write("-----BEGIN OPENSSH PRIVATE KEY-----\n", "/etc/agbox/readable.pem");
    scratch_write("secret", "/etc/agbox/unreadable");
    assert_int_equal(chmod("/etc/agbox/unreadable", 0640), 0);
    box_look(&b);
    assert_int_equal(ask(&b, "key", NULL), 0);
#ifdef AGBOX_FAULT
    assert_int_equal(ask(&b, "key", "hidden"), ANSWER_NO);
#endif
    assert_int_equal(umount2("/etc", MNT_DETACH), 0);
    box_remove(&b);
}

/* Its link leads out of /etc on machines with systemd-resolved. */
static void name_servers_are_found_behind_their_link(void **state)
{
    struct box b = { 0 };
    box_make(&b);
    own_etc(&b);
    assert_int_equal(mount("none", "/run", "tmpfs", 0, NULL), 0);
    scratch_mkdir("/run/resolver");
    scratch_write("nameserver 192.0.2.1\n", "/run/resolver/stub.conf");
    assert_int_equal(unlink("/etc/resolv.conf"), 0);
    assert_int_equal(symlink("../run/resolver/stub.conf", "/etc/resolv.conf"), 0);
    box_look(&b);
    assert_int_equal(ask(&b, "resolver", NULL), 0);
    assert_int_equal(umount2("/run", MNT_DETACH), 0);
    assert_int_equal(umount2("/etc", MNT_DETACH), 0);
    box_remove(&b);
}

static void too_much_to_hide_is_an_error(void **state)
{
    struct box b = { 0 };
    struct error e = { 0 };
    struct words ours = { 0 };
    box_make(&b);
    scratch_mkdir("%s/.local/share", b.user);
    _cleanup_close_ int local = scratch_open("%s/.local/share", b.user);
    for (int i = 0; i < 600; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%d", i);
        assert_int_equal(mkfifoat(local, name, 0600), 0);
    }
    assert_int_equal(host_look(b.user, &ours, &b.host, &e), -E2BIG);
    box_remove(&b);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return answer(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_question),
        cmocka_unit_test(each_protection_is_needed),
        cmocka_unit_test(a_socket_below_a_shown_directory_is_dead),
        cmocka_unit_test(private_keys_and_locked_directories_are_hidden),
        cmocka_unit_test(name_servers_are_found_behind_their_link),
        cmocka_unit_test(too_much_to_hide_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
