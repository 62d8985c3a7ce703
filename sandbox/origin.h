/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * origin - the directory that a session of an agent was begun in, as the agent has recorded it.
 *
 *     Claude Code  .claude/projects/SLUG/ID.jsonl: `cwd` of the first line that has one. The slug does not tell /a/b-c
 *                  from /a/b/c
 *     Codex        .codex/sessions/YYYY/MM/DD/rollout-TIME-ID.jsonl, or .jsonl.zst: payload.cwd of the first line, a
 *                  session_meta
 *     Grok         .grok/sessions/DIRECTORY/ID/: the name, percent-encoded; what the files below say does not count
 *
 * What is read is a guess of whoever wrote it: an origin is an absolute path without "//", "." and "..", or there is
 * none. Origins are malloc'd, without a slash at the end, shorter than PATH_MAX. Pure: no files.
 */

#include "index/base/buf.h"

#include <stdbool.h>

#define ORIGIN_HEAD_MAX (1024 * 1024) /* Codex begins with all its instructions */

/* head: a file's first bytes, all of them or any number. -ENOENT: they do not tell. -EINVAL of Claude Code's: nor is
 * all understood that is there. */
int origin_of_claude(struct bytes head, char **ret);
int origin_of_codex(struct bytes head, char **ret);
/* -EINVAL: no directory's name is encoded there. */
int origin_of_grok(const char *name, char **ret);

/* origin is project, or below it. */
bool origin_within(const char *origin, const char *project);
