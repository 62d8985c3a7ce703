/* SPDX-License-Identifier: MIT */
#include "sandbox/environment.h"

#include "sandbox/places.h"

#define PATH "/root/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define NIX_PATH "/nix/var/nix/profiles/default/bin"

void environment_table(const struct environment *c, struct words *ret)
{
    words_add_all(ret, "HOME", PLACES_HOME, "USER", "root", "LOGNAME", "root", "SHELL", "/bin/bash", NULL);
    words_add_all(ret, "PATH", c->nix ? PATH ":" NIX_PATH : PATH, NULL);
    words_add_all(ret, "LANG", "C.UTF-8", "TERM", "xterm-256color", NULL);
    words_add_all(ret, "AGBOX_BOX", c->box, "AGBOX_NODE", c->node, NULL);
    words_add_all(ret, "GIT_CONFIG_SYSTEM", PLACES_GITCONFIG, NULL); /* wherever this git was built to look */
}
