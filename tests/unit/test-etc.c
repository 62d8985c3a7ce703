/* SPDX-License-Identifier: MIT */
#include "sandbox/etc.h"

#include "sandbox/copies.h"

#include "index/base/buf.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY "-----BEGIN OPENSSH PRIVATE KEY-----\n"
#define ROUNDS 8000
#define TOO_LONG_S 20 /* then SIGALRM */

struct place {
    char *scratch, *from;
    int run;
};

static void place_make(struct place *p)
{
    p->scratch = scratch_new();
    p->from = mem_printf("%s/host", p->scratch);
    scratch_mkdir("%s/run", p->scratch);
    scratch_mkdir("%s", p->from);
    p->run = scratch_open("%s/run", p->scratch);
}

static void place_remove(struct place *p)
{
    close(p->run);
    free(p->from);
    scratch_remove(p->scratch);
}

/* With this mode, below the directory that is copied. */
static void has(const struct place *p, const char *name, const char *text, mode_t mode)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", p->from, name);
    scratch_write(text, "%s", path);
    assert_int_equal(chmod(path, mode), 0);
}

static void make(const struct place *p)
{
    assert_int_equal(etc_make(p->run, p->from, NULL, NULL), 0);
}

static bool copied(const struct place *p, const char *name)
{
    struct stat st;
    _cleanup_free_ char *path = mem_printf(ETC_NAME "/%s", name);
    return fstatat(p->run, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void expect(const struct place *p, const char *name, const char *text)
{
    _cleanup_(buf_release) struct buf b = { 0 };
    _cleanup_free_ char *path = mem_printf(ETC_NAME "/%s", name);
    assert_int_equal(fd_read_file(p->run, path, 1 << 20, &b, NULL), 0);
    assert_string_equal(buf_string(&b), text);
}

static void what_everybody_may_read_is_copied_as_it_is(void **state)
{
    struct place p;
    struct stat a, b;
    place_make(&p);
    scratch_mkdir("%s/apt/conf.d", p.from);
    has(&p, "apt/conf.d/one", "one", 0644);
    has(&p, "script", "#!", 04755);
    _cleanup_free_ char *script = mem_printf("%s/script", p.from), *apt = mem_printf("%s/apt", p.from);
    const struct timespec then[] = { { 1000000000, 5 }, { 1000000000, 5 } };
    assert_int_equal(chown(script, 1234, 4321), 0);
    assert_int_equal(utimensat(AT_FDCWD, script, then, 0), 0);
    assert_int_equal(chmod(apt, 0711), 0);
    _cleanup_free_ char *link = mem_printf("%s/link", p.from);
    assert_int_equal(symlink("/run/elsewhere", link), 0);
    make(&p);
    expect(&p, "apt/conf.d/one", "one");
    assert_int_equal(stat(script, &a), 0);
    assert_int_equal(fstatat(p.run, ETC_NAME "/script", &b, 0), 0);
    assert_int_equal(b.st_mode, S_IFREG | 0755);
    assert_int_equal(b.st_uid, 1234);
    assert_int_equal(b.st_gid, 4321);
    assert_memory_equal(&a.st_mtim, &b.st_mtim, sizeof(a.st_mtim));
    assert_int_equal(fstatat(p.run, ETC_NAME "/apt", &b, 0), 0);
    assert_int_equal(b.st_mode & 07777, 0711);
    char target[64] = "";
    assert_true(readlinkat(p.run, ETC_NAME "/link", target, sizeof(target) - 1) > 0);
    assert_string_equal(target, "/run/elsewhere");

    /* The next one has nothing of it. */
    assert_int_equal(unlink(script), 0);
    make(&p);
    assert_false(copied(&p, "script"));
    assert_true(copied(&p, "apt/conf.d/one"));
    place_remove(&p);
}

static void secrets_are_not(void **state)
{
    static const char *const left_out[] = { "shadow", "host_key", "tls.pem", "bundle.pem", "private",
                                            "closed", "ours",     "pipe",    "socket",     "large" };
    struct place p;
    place_make(&p);
    has(&p, "shadow", "secret", 0640);
    has(&p, "host_key", "secret", 0644);
    has(&p, "tls.pem", "-----BEGIN CERTIFICATE-----\n" KEY, 0644);
    _cleanup_(buf_release) struct buf bundle = { 0 };
    buf_fill(&bundle, 'x', 100000);
    buf_printf(&bundle, "%s", KEY);
    has(&p, "bundle.pem", buf_string(&bundle), 0644);
    has(&p, "public.pem", "-----BEGIN CERTIFICATE-----\n", 0644);
    const char *const directories[] = { "private", "closed", "ours", "sudoers.d" };
    for (size_t i = 0; i < 4; i++)
        scratch_mkdir("%s/%s", p.from, directories[i]);
    has(&p, "private/x", "secret", 0644);
    has(&p, "closed/x", "secret", 0644);
    has(&p, "ours/x", "secret", 0644);
    has(&p, "sudoers", "root ALL", 0440);
    has(&p, "sudoers.d/x", "me ALL", 0440);
    has(&p, "large", "", 0644);
    _cleanup_close_ int from = scratch_open("%s", p.from), large = openat(from, "large", O_WRONLY);
    assert_int_equal(ftruncate(large, ETC_FILE_MAX + 1), 0);
    assert_int_equal(fchmodat(from, "private", 0700, 0), 0);
    assert_int_equal(fchmodat(from, "closed", 0744, 0), 0);
    assert_int_equal(fchmodat(from, "sudoers.d", 0750, 0), 0);
    assert_int_equal(mkfifoat(from, "pipe", 0644), 0);
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/socket", from);
    _cleanup_close_ int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);

    _cleanup_(words_release) struct words ours = { 0 };
    words_addf(&ours, "%s/ours", p.from);
    assert_int_equal(etc_make(p.run, p.from, &ours, NULL), 0);
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
        if (copied(&p, left_out[i]))
            fail_msg("%s is copied", left_out[i]);
    assert_true(copied(&p, "public.pem"));
    expect(&p, "sudoers", "root ALL");
    expect(&p, "sudoers.d/x", "me ALL");
    place_remove(&p);
}

/* A link is one in the copy: whatever it leads to on the host, nothing of that is in there. */
static void links_are_not_followed(void **state)
{
    struct place p;
    struct stat st;
    place_make(&p);
    scratch_mkdir("%s/elsewhere", p.scratch);
    scratch_write("secret", "%s/elsewhere/file", p.scratch);
    _cleanup_close_ int from = scratch_open("%s", p.from);
    assert_int_equal(symlinkat("../elsewhere", from, "directory"), 0);
    assert_int_equal(symlinkat("../elsewhere/file", from, "file"), 0);
    assert_int_equal(symlinkat("file", from, "sudoers"), 0);
    make(&p);
    const char *const names[] = { ETC_NAME "/directory", ETC_NAME "/file", ETC_NAME "/sudoers" };
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fstatat(p.run, names[i], &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_true(S_ISLNK(st.st_mode));
    }
    place_remove(&p);
}

/* What a box needs is put into its copy, wherever the host's links lead. */
static void what_is_added_does_not_follow_them(void **state)
{
    struct place p;
    struct stat st;
    struct host host = { .home = (char *)"/nowhere" };
    struct environment c = { .box = "demo", .node = "a" };
    place_make(&p);
    scratch_mkdir("%s/elsewhere", p.scratch);
    scratch_write("the host's", "%s/elsewhere/gitconfig", p.scratch);
    _cleanup_free_ char *elsewhere = mem_printf("%s/elsewhere", p.scratch);
    _cleanup_free_ char *file = mem_printf("%s/gitconfig", elsewhere);
    _cleanup_close_ int from = scratch_open("%s", p.from), other = scratch_open("%s", elsewhere);
    assert_int_equal(fchmod(other, 0700), 0);
    assert_int_equal(symlinkat(elsewhere, from, "profile.d"), 0);
    assert_int_equal(symlinkat(file, from, "gitconfig"), 0);
    make(&p);
    assert_int_equal(copies_make(p.run, &host, &c, NULL), 0);
    assert_int_equal(faccessat(other, "zz-ag-box.sh", F_OK, 0), -1);
    assert_int_equal(fstat(other, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    _cleanup_(buf_release) struct buf text = { 0 };
    assert_int_equal(fd_read_file(other, "gitconfig", 100, &text, NULL), 0);
    assert_string_equal(buf_string(&text), "the host's");
    place_remove(&p);
}

/* Some programs give a configuration through a FIFO. Fails if it is opened and waited for. */
static void what_is_no_file_is_not_waited_for(void **state)
{
    struct place p;
    struct environment c = { .box = "demo", .node = "a" };
    place_make(&p);
    scratch_mkdir("%s/home/.claude", p.scratch);
    scratch_write("be brief", "%s/home/.claude/CLAUDE.md", p.scratch);
    _cleanup_free_ char *home = mem_printf("%s/home", p.scratch);
    struct host host = { .home = home };
    _cleanup_close_ int at = scratch_open("%s", home);
    assert_int_equal(mkfifoat(at, ".gitconfig", 0600), 0);
    assert_int_equal(mkfifoat(at, ".claude/settings.json", 0600), 0);
    make(&p);
    alarm(TOO_LONG_S);
    assert_int_equal(copies_make(p.run, &host, &c, NULL), 0);
    alarm(0);
    _cleanup_close_ int copies = scratch_open("%s/run/" COPIES_NAME, p.scratch);
    _cleanup_(buf_release) struct buf text = { 0 };
    assert_int_equal(fd_read_file(copies, "claude/CLAUDE.md", 100, &text, NULL), 0);
    assert_string_equal(buf_string(&text), "be brief");
    assert_int_equal(faccessat(copies, "claude/settings.json", F_OK, 0), -1);
    place_remove(&p);
}

struct changing {
    int directory;
    volatile bool end;
};

/* One name is a public file, a secret one and a link to a secret in turn, as fast as can be. */
static void *change(void *arg)
{
    static const char *const others[] = { "secret", "link" };
    struct changing *c = arg;
    for (unsigned i = 0; !c->end; i++)
        if (renameat2(c->directory, "name", c->directory, others[i % 2], RENAME_EXCHANGE) < 0)
            abort();
    return NULL;
}

static void files_that_are_replaced_meanwhile(void **state)
{
    struct place p;
    place_make(&p);
    assert_int_equal(mount("none", p.scratch, "tmpfs", 0, NULL), 0); /* that is fast */
    scratch_mkdir("%s/run", p.scratch);
    scratch_mkdir("%s/many", p.from);
    has(&p, "../secret", "secret", 0644);
    has(&p, "many/name", "public", 0644);
    has(&p, "many/secret", "secret", 0600);
    struct changing c = { .directory = scratch_open("%s/many", p.from) };
    assert_int_equal(symlinkat("../../secret", c.directory, "link"), 0);
    _cleanup_close_ int run = scratch_open("%s/run", p.scratch);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, change, &c), 0);
    unsigned public = 0;
    for (int i = 0; i < ROUNDS; i++) {
        static const char *const names[] = { ETC_NAME "/many/name", ETC_NAME "/many/secret", ETC_NAME "/many/link" };
        assert_int_equal(etc_make(run, p.from, NULL, NULL), 0);
        for (size_t k = 0; k < 3; k++) {
            char text[16] = "";
            _cleanup_close_ int fd = openat(run, names[k], O_RDONLY | O_NOFOLLOW);
            if (fd >= 0)
                assert_true(read(fd, text, sizeof(text) - 1) >= 0);
            assert_string_not_equal(text, "secret");
            public += text[0] != '\0';
        }
    }
    c.end = true;
    pthread_join(thread, NULL);
    close(c.directory);
    assert_true(public > 0);
    assert_int_equal(umount2(p.scratch, MNT_DETACH), 0);
    place_remove(&p);
}

static void what_is_far_too_large_is_an_error(void **state)
{
    struct place p;
    struct error e = { 0 };
    place_make(&p);
    _cleanup_close_ int from = scratch_open("%s", p.from);
    for (int i = 0; i <= ETC_TOTAL_MAX / ETC_FILE_MAX + 1; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%d", i);
        _cleanup_close_ int fd = openat(from, name, O_WRONLY | O_CREAT, 0644);
        assert_int_equal(ftruncate(fd, ETC_FILE_MAX), 0);
    }
    assert_int_equal(etc_make(p.run, p.from, NULL, &e), -E2BIG);
    assert_true(e.hint[0] != '\0');
    place_remove(&p);

    place_make(&p);
    _cleanup_free_ char *path = mem_strdup(p.from);
    for (int i = 0; i < ETC_DEPTH_MAX + 1; i++) {
        char *below = mem_printf("%s/d", path);
        free(path);
        path = below;
    }
    scratch_mkdir("%s", path);
    assert_int_equal(etc_make(p.run, p.from, NULL, &e), -E2BIG);
    place_remove(&p);
}

/* Until an event comes, and what follows from it is done. */
static void wait_for_change(const struct place *p, int *watch)
{
    struct pollfd f = { .fd = *watch, .events = POLLIN };
    assert_int_equal(poll(&f, 1, 10000), 1);
    assert_true(etc_changed(*watch));
    etc_follow(p->run, p->from, watch);
}

static void replace(const struct place *p, const char *name, const char *text)
{
    _cleanup_free_ char *from = mem_printf("%s/new", p->scratch), *to = mem_printf("%s/%s", p->scratch, name);
    scratch_write(text, "%s", from);
    assert_int_equal(rename(from, to), 0);
}

static void some_are_kept_current(void **state)
{
    struct place p;
    place_make(&p);
    has(&p, "hosts", "old", 0644);
    has(&p, "other", "old", 0644);
    _cleanup_close_ int from = scratch_open("%s", p.from);
    assert_int_equal(symlinkat("../resolver/deep/stub.conf", from, "resolv.conf"), 0);
    assert_int_equal(symlinkat("/usr/share/zoneinfo/Etc/UTC", from, "localtime"), 0);
    make(&p);
    _cleanup_close_ int watch = -1;
    etc_follow(p.run, p.from, &watch);
    assert_false(copied(&p, "resolv.conf")); /* it leads nowhere yet */
    expect(&p, "hosts", "old");

    scratch_mkdir("%s/resolver/deep", p.scratch);
    wait_for_change(&p, &watch);
    replace(&p, "resolver/deep/stub.conf", "first");
    wait_for_change(&p, &watch);
    expect(&p, "resolv.conf", "first");
    replace(&p, "resolver/deep/stub.conf", "second");
    wait_for_change(&p, &watch);
    expect(&p, "resolv.conf", "second");
    assert_false(etc_changed(watch));

    replace(&p, "host/hosts", "new");
    replace(&p, "host/other", "new");
    wait_for_change(&p, &watch);
    expect(&p, "hosts", "new");
    expect(&p, "other", "old");

    assert_int_equal(symlinkat("/usr/share/zoneinfo/Asia/Tokyo", from, "new"), 0);
    assert_int_equal(renameat(from, "new", from, "localtime"), 0);
    wait_for_change(&p, &watch);
    char target[64] = "";
    assert_true(readlinkat(p.run, ETC_NAME "/localtime", target, sizeof(target) - 1) > 0);
    assert_string_equal(target, "/usr/share/zoneinfo/Asia/Tokyo");

    /* A secret does not come by this way either. */
    assert_int_equal(fchmodat(from, "hosts", 0600, 0), 0);
    replace(&p, "host/resolv.conf", "third");
    wait_for_change(&p, &watch);
    expect(&p, "resolv.conf", "third");
    assert_false(copied(&p, "hosts"));
    place_remove(&p);
}

static ino_t inode_of(const struct place *p, const char *name)
{
    struct stat st;
    _cleanup_free_ char *path = mem_printf(ETC_NAME "/%s", name);
    assert_int_equal(fstatat(p->run, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_ino;
}

static void what_has_not_changed_is_not_replaced(void **state)
{
    struct place p;
    place_make(&p);
    has(&p, "hosts", "same", 0644);
    has(&p, "timezone", "Etc/UTC", 0644);
    _cleanup_close_ int from = scratch_open("%s", p.from);
    assert_int_equal(symlinkat("/usr/share/zoneinfo/Etc/UTC", from, "localtime"), 0);
    make(&p);
    ino_t hosts = inode_of(&p, "hosts"), timezone = inode_of(&p, "timezone"), localtime = inode_of(&p, "localtime");
    replace(&p, "host/hosts", "same");
    replace(&p, "host/resolv.conf", "first");
    etc_follow(p.run, p.from, NULL);
    expect(&p, "resolv.conf", "first");
    assert_int_equal(inode_of(&p, "hosts"), hosts);
    assert_int_equal(inode_of(&p, "timezone"), timezone);
    assert_int_equal(inode_of(&p, "localtime"), localtime);
    assert_false(copied(&p, ".ag-box.new"));

    struct stat st; /* of the same length; of another mode */
    replace(&p, "host/hosts", "emas");
    assert_int_equal(fchmodat(from, "timezone", 0664, 0), 0);
    etc_follow(p.run, p.from, NULL);
    expect(&p, "hosts", "emas");
    assert_int_equal(fstatat(p.run, ETC_NAME "/timezone", &st, 0), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0664);
    place_remove(&p);
}

static void where_a_link_no_longer_leads_nothing_is_watched(void **state)
{
    struct place p;
    place_make(&p);
    _cleanup_close_ int from = scratch_open("%s", p.from), watch = -1;
    scratch_mkdir("%s/before", p.scratch);
    scratch_mkdir("%s/after", p.scratch);
    scratch_write("before", "%s/before/resolv.conf", p.scratch);
    scratch_write("after", "%s/after/resolv.conf", p.scratch);
    assert_int_equal(symlinkat("../before/resolv.conf", from, "resolv.conf"), 0);
    make(&p);
    etc_follow(p.run, p.from, &watch);
    expect(&p, "resolv.conf", "before");
    assert_int_equal(symlinkat("../after/resolv.conf", from, "new"), 0);
    assert_int_equal(renameat(from, "new", from, "resolv.conf"), 0);
    wait_for_change(&p, &watch);
    expect(&p, "resolv.conf", "after");
    replace(&p, "before/resolv.conf", "newer");
    assert_false(etc_changed(watch));
    replace(&p, "after/resolv.conf", "newest");
    wait_for_change(&p, &watch);
    expect(&p, "resolv.conf", "newest");
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_everybody_may_read_is_copied_as_it_is),
        cmocka_unit_test(secrets_are_not),
        cmocka_unit_test(links_are_not_followed),
        cmocka_unit_test(what_is_added_does_not_follow_them),
        cmocka_unit_test(what_is_no_file_is_not_waited_for),
        cmocka_unit_test(files_that_are_replaced_meanwhile),
        cmocka_unit_test(what_is_far_too_large_is_an_error),
        cmocka_unit_test(some_are_kept_current),
        cmocka_unit_test(what_has_not_changed_is_not_replaced),
        cmocka_unit_test(where_a_link_no_longer_leads_nothing_is_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
