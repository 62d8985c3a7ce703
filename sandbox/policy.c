/* SPDX-License-Identifier: MIT */
#include "sandbox/policy.h"

#include "index/base/mem.h"
#include "sandbox/places.h"

#include <errno.h>

/* Rule B2. With all of them, root in a box could remount / writable. Of these none reaches beyond the box's own files
 * and processes. */
static const char *const kept[] = {
    "CAP_CHOWN",  "CAP_DAC_OVERRIDE", "CAP_FOWNER",  "CAP_FSETID",           "CAP_SETUID",
    "CAP_SETGID", "CAP_KILL",         "CAP_SETFCAP", "CAP_NET_BIND_SERVICE",
};

static const char *const never_a_project[] = { "/proc", "/dev", "/sys", "/run/box", PLACES_HOME };

/*
 * Of /proc, what root may write without any capability: sysctls are the host's, and one of them names a program that
 * the host's kernel starts. bwrap, started by root, leaves some of these writable. They are mounts on /proc, and so the
 * kernel also lets no user namespace in the box have a /proc of its own, in which they would be missing.
 */
static const char *const not_writable[] = { "/proc/sys",    "/proc/sysrq-trigger", "/proc/irq",  "/proc/bus",
                                            "/proc/fs",     "/proc/acpi",          "/proc/scsi", "/proc/mtrr",
                                            "/proc/asound", "/proc/dynamic_debug" };

static bool covers(const char *above, const char *path)
{
    size_t n = strlen(above);
    return strncmp(above, path, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static int check(const struct policy *p, struct error *e)
{
    for (size_t i = 0; i < sizeof(never_a_project) / sizeof(never_a_project[0]); i++) {
        const char *place = never_a_project[i];
        bool taken = strcmp(place, PLACES_HOME) == 0 ? strcmp(place, p->project) == 0 : covers(place, p->project);
        if (taken) {
            error_say(e, ERROR_USAGE, -EINVAL, "a box cannot show a project at %s", p->project);
            return error_hint(e, "it has its own %s; move the project, or track it at another path", place);
        }
    }
    if (strcmp(p->name, "etc") == 0 || strcmp(p->name, "boxinit") == 0)
        return error_say(e, ERROR_USAGE, -EINVAL, "%s cannot be the name of a box: /run/box/%s is something else in it",
                         p->name, p->name);
    return 0;
}

static void add_privileges(const struct policy *p, struct words *w)
{
    words_add_all(w, "bwrap", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", NULL);
    words_add_all(w, "--hostname", p->name, "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL", NULL);
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        words_add_all(w, "--cap-add", kept[i], NULL);
    words_add(w, "--add-seccomp-fd");
    words_addf(w, "%d", p->filter_fd);
    words_add(w, "--info-fd");
    words_addf(w, "%d", p->info_fd);
}

struct environment policy_environment(const struct policy *p)
{
    return (struct environment){ .box = p->name, .node = p->node, .nix = p->host->nix, .tools = p->tools };
}

static void add_environment(const struct policy *p, struct words *w)
{
    _cleanup_(words_release) struct words table = { 0 };
    struct environment c = policy_environment(p);
    environment_table(&c, &table);
    words_add(w, "--clearenv");
    for (size_t i = 0; i + 1 < table.count; i += 2)
        words_add_all(w, "--setenv", table.items[i], table.items[i + 1], NULL);
}

static void add_system(const struct policy *p, struct words *w)
{
    const struct host *h = p->host;
    words_add_all(w, "--ro-bind", "/usr", "/usr", "--ro-bind", p->etc, "/etc", NULL);
    if (h->nix)
        words_add_all(w, "--ro-bind", "/nix", "/nix", NULL);
    for (size_t i = 0; i < HOST_SYSTEM_COUNT; i++)
        if (h->system[i].kind == HOST_LINK)
            words_add_all(w, "--symlink", h->system[i].target, host_system[i], NULL);
        else if (h->system[i].kind == HOST_DIRECTORY)
            words_add_all(w, "--ro-bind", host_system[i], host_system[i], NULL);
    words_add_all(w, "--proc", "/proc", "--dev", "/dev", NULL);
    for (size_t i = 0; i < sizeof(not_writable) / sizeof(not_writable[0]); i++)
        words_add_all(w, "--ro-bind-try", not_writable[i], not_writable[i], NULL);
}

static void add_private(struct words *w)
{
    words_add_all(w, "--perms", "1777", "--tmpfs", "/tmp", "--perms", "1777", "--tmpfs", "/var/tmp", NULL);
    words_add_all(w, "--perms", "0755", "--tmpfs", "/run", "--symlink", "/run", "/var/run", NULL);
}

/* HOME, and what PID 1 and the programs in the box find in /run/box. */
static void add_own(const struct policy *p, struct words *w)
{
    words_add_all(w, "--bind", p->home_from, PLACES_HOME, NULL);
    words_add_all(w, "--perms", "0755", "--dir", "/run/box", "--perms", "0700", "--dir", NULL);
    words_addf(w, "/run/box/%s", p->name);
    words_add_all(w, "--ro-bind", p->copies, PLACES_COPIES, "--ro-bind", p->init, PLACES_INIT, NULL);
    for (size_t i = 0; i < HOST_CONFIGURATION_COUNT; i++)
        if (p->configuration[i]) {
            words_add(w, "--ro-bind");
            words_addf(w, "%s/%s", p->host->home, host_configuration[i]);
            words_addf(w, "%s/%s", PLACES_HOME, host_configuration[i]);
        }
}

/* What is below the user's configuration can only be hidden where that is shown. */
static bool is_left_out(const struct policy *p, const char *path)
{
    for (size_t i = 0; i < HOST_CONFIGURATION_COUNT; i++) {
        _cleanup_free_ char *shown = mem_printf("%s/%s", PLACES_HOME, host_configuration[i]);
        if (!p->configuration[i] && covers(shown, path))
            return true;
    }
    return false;
}

static void add_hidden(const struct policy *p, struct words *w)
{
    const struct words *files = &p->host->hidden_files, *directories = &p->host->hidden_directories;
    _cleanup_free_ char *empty = mem_printf("%s/empty", p->copies);
    for (size_t i = 0; i < files->count; i++)
        if (!is_left_out(p, files->items[i]))
            words_add_all(w, "--ro-bind", empty, files->items[i], NULL);
    for (size_t i = 0; i < directories->count; i++)
        if (!is_left_out(p, directories->items[i]))
            words_add_all(w, "--perms", "0000", "--tmpfs", directories->items[i], "--remount-ro", directories->items[i],
                          NULL);
}

/* What leads there is made like other directories: of itself bwrap makes it root's alone. */
static void add_project(const struct policy *p, struct words *w)
{
    _cleanup_free_ char *parent = mem_strdup(p->project);
    *strrchr(parent, '/') = '\0';
    if (parent[0])
        words_add_all(w, "--perms", "0755", "--dir", parent, NULL);
    words_add_all(w, "--bind", p->project_from, p->project, "--remount-ro", "/", NULL);
}

static void add_init(const struct policy *p, struct words *w)
{
    words_add_all(w, "--chdir", "/", "--", PLACES_INIT, "--listen", NULL);
    words_addf(w, "%d", p->listen_fd);
    words_add(w, "--ready");
    words_addf(w, "%d", p->ready_fd);
    words_add_all(w, "--name", p->name, "--cwd", p->project, NULL);
}

int policy_argv(const struct policy *p, struct words *ret, struct error *e)
{
    int r = check(p, e);
    if (r < 0)
        return r;
    *ret = (struct words){ 0 };
    add_privileges(p, ret);
    add_environment(p, ret);
    add_system(p, ret);
    add_private(ret);
    add_own(p, ret);
    add_hidden(p, ret);
    add_project(p, ret);
    add_init(p, ret);
    return 0;
}
