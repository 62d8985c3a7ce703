/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * credentials - which of two copies of an agent's login is the newer one: the host's, or the box's (rule B5).
 *
 * Agents refresh their logins, and a refresh makes the older copy worthless, so the one with the later expiry wins.
 * What is known of a login, by agent:
 *
 *     Claude Code  claudeAiOauth.expiresAt; the account is in ~/.claude.json (oauthAccount), beside it
 *     Codex        `exp` of the JWT tokens.access_token; account_id, and the token's `sub`
 *     Grok         the latest expires_at of all entries; each entry's name and user_id
 *
 * Everything in a box is a guess of its owner's: a login leaves it only if it is well-formed, names the account that
 * the host's names, and expires within a time that logins have. Only what is the login is taken over from another copy,
 * not the rest of the file. Nothing here proves who made a token. Pure: no files, no clock.
 */

#include "index/base/buf.h"

#define CREDENTIALS_MAX (64 * 1024)
#define CREDENTIALS_ACCOUNT_MAX (8 * 1024 * 1024)
#define CREDENTIALS_DAYS_MAX 400

enum credentials_agent { CREDENTIALS_CLAUDE, CREDENTIALS_CODEX, CREDENTIALS_GROK, CREDENTIALS_AGENTS };

/* Below HOME: the login, and the file that names its account (NULL: the login itself does). */
extern const char *const credentials_path[CREDENTIALS_AGENTS];
extern const char *const credentials_account_path[CREDENTIALS_AGENTS];

struct credentials_copy {
    struct bytes file;    /* no bytes: there is none */
    struct bytes account; /* the file of credentials_account_path; no bytes: none */
};

enum credentials_verdict { CREDENTIALS_KEEP, CREDENTIALS_TO_BOX, CREDENTIALS_TO_HOST };

/* ret gets what the losing copy's file is to hold; nothing for CREDENTIALS_KEEP. A copy that is not understood is kept.
 */
enum credentials_verdict credentials_decide(enum credentials_agent agent, const struct credentials_copy *host,
                                            const struct credentials_copy *box, int64_t now_s, struct buf *ret);
