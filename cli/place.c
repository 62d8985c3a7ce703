/* SPDX-License-Identifier: MIT */
#include "cli/place.h"

#include "index/base/mem.h"
#include "index/base/text.h"
#include "index/hash.h"

#include <string.h>

char *place_box(const struct config *c, const char *name)
{
    return mem_printf("%s/%s%s", c->state_dir, strcmp(name, TEXT_GLOBALS) == 0 ? "" : "box/", name);
}

char *place_in_box(const struct config *c, const char *name, const char *what)
{
    _cleanup_free_ char *box = place_box(c, name);
    return mem_printf("%s/%s", box, what);
}

char *place_run(const struct config *c, const char *name)
{
    return mem_printf("%s/%s", c->run_dir, name);
}

char *place_in_run(const struct config *c, const char *name, const char *what)
{
    return mem_printf("%s/%s/%s", c->run_dir, name, what);
}

char *place_aside(const char *path, const char *id)
{
    const char *slash = strrchr(path, '/');
    return mem_printf("%.*s/.%.200s.agbox-%s", (int)(slash - path), path, slash + 1, id);
}

char *place_keys(const struct config *c)
{
    static const struct hash_key key = { { 0 } };
    struct hash h;
    char text[17];
    hash_bytes(&key, c->store, strlen(c->store), &h);
    text_hex(text, h.b, 8);
    return mem_printf("%s/keys/%s", c->state_dir, text);
}
