/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * import - the sessions that the host's user has had with agents in a project, into the HOME of its box, for `track`.
 *
 * Which they are is what each has recorded (sandbox/origin): the project's path, or one below it. Of Claude Code also
 * what belongs to such a session: the directory beside it (of its subagents and tools), file-history/ID, tasks/ID and
 * todos/ID-agent-*; and the project's memory/, which says nothing of itself, where a session beside it is the project's
 * and none is another's. One that has recorded no directory counts as neither, one that cannot be read or understood as
 * another's. What is the user's and not a project's (history, settings, databases, logins) is left behind. Everything
 * has the place in the box that it had on the host, so that an agent's --resume finds it.
 *
 * ~/.claude, ~/.codex and ~/.grok may be links of the user's, and are followed; below them see sandbox/transfer. The
 * box must not run. What was taken is on disk on return.
 */

#include "sandbox/credentials.h"
#include "sandbox/transfer.h"

struct import_report {
    uint64_t sessions[CREDENTIALS_AGENTS];
    uint64_t files, bytes;
    uint64_t left_out; /* sessions that do not tell whose they are, and what transfer has left out */
};

/* user_home: the host's; home: the box's, open; project: absolute, resolved; check as in struct transfer. */
int import_sessions(const char *user_home, int home, const char *project, int (*check)(struct error *e),
                    struct import_report *ret, struct error *e);
