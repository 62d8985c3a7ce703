/* SPDX-License-Identifier: MIT */
#include "sandbox/environment.h"

#include "index/base/mem.h"
#include "sandbox/places.h"

#define OWN_PATH PLACES_HOME "/.local/bin"
#define SYSTEM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define NIX_PATH "/nix/var/nix/profiles/default/bin"

/* What comes before the system's. */
static char *front(const struct environment *c)
{
    return c->tools ? mem_printf("%s/bin:" OWN_PATH, c->tools) : mem_strdup(OWN_PATH);
}

void environment_table(const struct environment *c, struct words *ret)
{
    _cleanup_free_ char *first = front(c);
    words_add_all(ret, "HOME", PLACES_HOME, "USER", "root", "LOGNAME", "root", "SHELL", "/bin/bash", "PATH", NULL);
    words_addf(ret, "%s:" SYSTEM_PATH "%s", first, c->nix ? ":" NIX_PATH : "");
    words_add_all(ret, "LANG", "C.UTF-8", "TERM", "xterm-256color", NULL);
    words_add_all(ret, "AGBOX_BOX", c->box, "AGBOX_NODE", c->node, NULL);
    words_add_all(ret, "GIT_CONFIG_SYSTEM", PLACES_GITCONFIG, NULL); /* wherever this git was built to look */
}

void environment_profile(const struct environment *c, struct buf *ret)
{
    _cleanup_free_ char *first = front(c);
    buf_printf(ret, "case \"$PATH:\" in \"%s:\"*) ;; *) PATH=\"%s:$PATH\" ;; esac\n", first, first);
    if (c->nix)
        buf_printf(ret, "case \":$PATH:\" in *:" NIX_PATH ":*) ;; *) PATH=\"$PATH:" NIX_PATH "\" ;; esac\n");
    buf_printf(ret, "export PATH\n");
}
