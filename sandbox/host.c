/* SPDX-License-Identifier: MIT */
#include "sandbox/host.h"

#include "index/base/mem.h"
#include "sandbox/hidden.h"
#include "sandbox/places.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

const char *const host_system[HOST_SYSTEM_COUNT] = { "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32" };

const char *const host_configuration[HOST_CONFIGURATION_COUNT] = {
    ".claude/output-styles", ".claude/skills", ".claude/plugins", ".config/gh", ".local/bin", ".local/lib",
    ".local/share",
};

void host_release(struct host *h)
{
    free(h->home);
    for (size_t i = 0; i < HOST_SYSTEM_COUNT; i++)
        free(h->system[i].target);
    words_release(&h->hidden_files);
    words_release(&h->hidden_directories);
    *h = (struct host){ 0 };
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void look_at_system(struct host *h)
{
    h->nix = is_directory("/nix");
    for (size_t i = 0; i < HOST_SYSTEM_COUNT; i++) {
        char target[PATH_MAX];
        ssize_t n = readlink(host_system[i], target, sizeof(target));
        if (n > 0 && n < (ssize_t)sizeof(target)) {
            h->system[i].kind = HOST_LINK;
            h->system[i].target = mem_copy(target, (size_t)n);
        } else if (is_directory(host_system[i])) {
            h->system[i].kind = HOST_DIRECTORY;
        }
    }
}

/* Links are followed: many keep their configuration elsewhere. */
static void look_at_configuration(struct host *h)
{
    for (size_t i = 0; i < HOST_CONFIGURATION_COUNT; i++) {
        _cleanup_free_ char *path = mem_printf("%s/%s", h->home, host_configuration[i]);
        h->configuration[i] = is_directory(path);
    }
}

/* In all that a box sees of the host itself; of /etc it sees a copy (sandbox/etc). */
static int hide(struct host *h, const struct words *ours, struct error *e)
{
    struct hidden hidden = { .files = &h->hidden_files, .directories = &h->hidden_directories, .ours = ours };
    int r = hidden_look(&hidden, "/usr", "/usr", HIDDEN_LISTENING, e);
    for (size_t i = 0; r == 0 && i < HOST_SYSTEM_COUNT; i++)
        if (h->system[i].kind == HOST_DIRECTORY)
            r = hidden_look(&hidden, host_system[i], host_system[i], HIDDEN_LISTENING, e);
    if (r == 0 && h->nix)
        r = hidden_look(&hidden, "/nix", "/nix", HIDDEN_LISTENING, e);
    if (r == 0 && is_directory("/nix/var"))
        r = hidden_look(&hidden, "/nix/var", "/nix/var", HIDDEN_ALL, e);
    for (size_t i = 0; r == 0 && i < HOST_CONFIGURATION_COUNT; i++) {
        if (!h->configuration[i])
            continue;
        _cleanup_free_ char *from = mem_printf("%s/%s", h->home, host_configuration[i]);
        _cleanup_free_ char *to = mem_printf("%s/%s", PLACES_HOME, host_configuration[i]);
        r = hidden_look(&hidden, from, to, HIDDEN_ALL, e);
    }
    return r;
}

int host_look(const char *home, const struct words *ours, struct host *ret, struct error *e)
{
    struct host h = { .home = mem_strdup(home) };
    look_at_system(&h);
    look_at_configuration(&h);
    int r = hide(&h, ours, e);
    if (r < 0)
        host_release(&h);
    else
        *ret = h;
    return r;
}
