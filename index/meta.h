/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * meta - what travels with a box besides its trees (rule T1): where the project lies, its pin, limits, exclude rules,
 * tool versions and the incarnation. JSON inside the snapshot object.
 *
 * Keys that this version does not know are kept through decode, change and encode, so that an older node does not strip
 * what a newer one wrote. Equal metas encode to equal text. A path that is not UTF-8 stands as path_b64, with an
 * escaped `path` beside it for reading. Owns its pointers. Field by field: FORMAT.md, "Meta".
 */

#include "index/base/buf.h"
#include "index/base/error.h"

#include <stdbool.h>

#define META_TOOLS_MAX 100

struct meta_tool {
    char *name, *version; /* as the tool itself prints it */
};

struct meta {
    char *path;          /* of the project: absolute, any bytes but NUL */
    char pin[64];        /* a node's name; "": any node */
    uint64_t memory_max; /* bytes; 0: the node's default */
    bool nix;
    char **exclude; /* gitignore lines, in order */
    size_t exclude_count;
    struct meta_tool *tools; /* sorted by name */
    size_t tool_count;
    uint8_t incarnation[16];
    struct json_t *document; /* what was decoded, for the keys we do not know; NULL: new */
};

void meta_release(struct meta *m);

/* -EBADMSG ERROR_DAMAGED: not a meta · -ENOTSUP ERROR_USAGE: of a newer version. Any bytes may come (fuzzed). */
int meta_decode(struct bytes json, struct meta *ret, struct error *e);
/* JSON text, malloc'd. Never more than SNAPSHOT_META_MAX unless unknown keys are that long: -E2BIG ERROR_FAILED. */
int meta_encode(const struct meta *m, char **ret, struct error *e);

/*
 * One assignment as `set` takes it: pin=, memory_max=, nix=, path=, exclude+=, exclude-=. An empty value unsets pin and
 * memory_max. -EINVAL ERROR_USAGE says what is allowed. *ret_changed: whether m is another now.
 */
int meta_set(struct meta *m, const char *assignment, bool *ret_changed, struct error *e);
/* For information only: what is not UTF-8, longer than 255 bytes or the 101st tool is left out. */
void meta_set_tool(struct meta *m, const char *name, const char *version);

/* Absolute, at most PATH_LEN_MAX, not the root, without empty, "." or ".." parts and without a slash at its end. */
bool meta_path_valid(const char *path);
