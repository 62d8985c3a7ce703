/* SPDX-License-Identifier: MIT */
#include "cli/flake.h"

#include "cli/interrupt.h"
#include "cli/place.h"
#include "cli/program.h"
#include "index/base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#define LINK "flake"
#define STORE "/nix/store/" /* nothing else of nix's is shown in a box */
/* Where installers put it; a service's PATH lacks it. */
#define NIX_OF_PROFILE "/nix/var/nix/profiles/default/bin/nix"
#define MAKE_MINUTES 10
#define RECORDED "base-flake" /* among the tools in a meta */

char *flake_tools(const struct config *c, const char *name)
{
    _cleanup_free_ char *link = place_in_box(c, name, LINK), *real = realpath(link, NULL);
    _cleanup_free_ char *bin = mem_printf("%s/bin", real ? real : "");
    bool usable = real && strncmp(real, STORE, strlen(STORE)) == 0 && access(bin, X_OK) == 0;
    return usable ? mem_steal(real) : NULL;
}

void flake_leave(const struct stack *s)
{
    unlinkat(s->box_dir, LINK, 0);
}

int flake_check(char **ret_nix, struct error *e)
{
    _cleanup_free_ char *nix = program_find("nix");
    if (!nix && access(NIX_OF_PROFILE, X_OK) == 0)
        nix = mem_strdup(NIX_OF_PROFILE);
    if (!nix) {
        error_say(e, ERROR_USAGE, -ENOENT, "nix is not on the PATH");
        return error_hint(e, "apt-get install nix-setup-systemd, or Nix by its own installer"), -ENOENT;
    }
    if (access(FLAKE_PLACE "/flake.nix", R_OK) < 0) {
        error_say(e, ERROR_USAGE, -ENOENT, "there is no " FLAKE_PLACE "/flake.nix");
        return error_hint(e, "contrib/install puts one there"), -ENOENT;
    }
    if (ret_nix)
        *ret_nix = mem_steal(nix);
    return 0;
}

/* The last of its lines that begins with "error:", without that: hints follow it, and what it was at stands before it.
 */
static bool find_reason(struct program_call *call, char to[160])
{
    static const char mark[] = "error:";
    bool found = false;
    char *rest = (char *)(uintptr_t)buf_string(&call->errors);
    for (char *line; (line = strsep(&rest, "\n"));) {
        while (isspace((unsigned char)*line))
            line++;
        if (strncmp(line, mark, sizeof(mark) - 1) != 0)
            continue;
        line += sizeof(mark) - 1;
        while (isspace((unsigned char)*line))
            line++;
        line[strcspn(line, ";")] = '\0'; /* behind it comes the log of a builder */
        if (*line) {
            snprintf(to, 160, "%s", line);
            found = true;
        }
    }
    return found;
}

static int say_why(struct program_call *call, struct error *e)
{
    char reason[160], other[128];
    program_complaint(call, other); /* before its lines are taken apart */
    if (call->code == -ETIMEDOUT)
        error_say(e, ERROR_FAILED, -ETIMEDOUT, "nix was not done after %d minutes", MAKE_MINUTES);
    else
        error_say(e, ERROR_FAILED, -EIO, "nix says: %s", find_reason(call, reason) ? reason : other);
    return error_hint(e, FLAKE_BUILD " tells more"), -EIO;
}

static int limit_ms(void)
{
#ifdef AGBOX_FAULT
    const char *said = getenv("AGBOX_TEST_NIX_MS");
    if (said)
        return atoi(said);
#endif
    return MAKE_MINUTES * 60 * 1000;
}

/* NAME=VALUE: whether nix gets it. */
static bool is_passed(const char *variable)
{
    static const char *const names[] = { "PATH",       "HOME",        "USER",       "LANG",          "LC_*",
                                         "TMPDIR",     "NIX_*",       "http_proxy", "https_proxy",   "no_proxy",
                                         "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",   "SSL_CERT_FILE", "XDG_*" };
    _cleanup_free_ char *name = mem_copy(variable, strcspn(variable, "="));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (fnmatch(names[i], name, 0) == 0)
            return true;
    return false;
}

/* Of our environment; the strings are not copied. */
static const char **make_environment(void)
{
    size_t count = 0, passed = 0;
    while (environ[count])
        count++;
    const char **made = mem_new(count + 1, sizeof(*made));
    for (size_t i = 0; i < count; i++)
        if (is_passed(environ[i]))
            made[passed++] = environ[i];
    return made;
}

/*
 * What is built comes from anywhere, and may ask for variables of nix's environment (impureEnvVars): there is only what
 * nix itself needs, and so no secret. --quiet: nobody reads its progress.
 */
static int make(const char *nix, const char *link, struct error *e)
{
    _cleanup_free_ const char **environment = make_environment();
    const char *const argv[] = { nix,
                                 "--extra-experimental-features",
                                 FLAKE_FEATURES,
                                 "build",
                                 "--quiet",
                                 "--out-link",
                                 link,
                                 "path:" FLAKE_PLACE,
                                 NULL };
    struct program_call call = { .argv = argv, .environment = environment };
    program_ask(&call, 1, limit_ms());
    int r = 0;
    if (call.code != 0 && interrupt_seen())
        r = interrupt_check(e);
    else if (call.code != 0)
        r = say_why(&call, e);
    program_release(&call);
    return r;
}

/* The name in nix's store says all of what it was made from. */
static const char *identity(const char *tools)
{
    return tools + strlen(STORE);
}

void flake_record(const struct stack *s, struct meta *m)
{
    _cleanup_free_ char *tools = flake_tools(s->config, s->name);
    if (tools)
        meta_set_tool(m, RECORDED, identity(tools));
}

static void compare(struct stack *s, const struct meta *m, const char *tools)
{
    for (size_t i = 0; i < m->tool_count; i++)
        if (strcmp(m->tools[i].name, RECORDED) == 0 && strcmp(m->tools[i].version, identity(tools)) != 0)
            ui_warn(s->ui,
                    "%s has other tools (%.100s) than at its last snapshot (%.100s); flake.nix and flake.lock "
                    "in " FLAKE_PLACE " of the node that made it bring those",
                    s->name, identity(tools), m->tools[i].version);
}

/* 0: the link leads to what nix makes of the flake now. */
static int ask_nix(struct stack *s, struct error *e)
{
    _cleanup_free_ char *link = place_in_box(s->config, s->name, LINK), *nix = NULL, *tools = NULL;
    int r = flake_check(&nix, e);
    if (r < 0)
        return r;
    if (faccessat(s->box_dir, LINK, F_OK, 0) < 0)
        ui_note(s->ui, "nix makes the tools of " FLAKE_PLACE "; the first time that may take minutes");
    r = make(nix, link, e);
    if (r < 0)
        return r;
    tools = flake_tools(s->config, s->name);
    if (tools)
        return 0;
    error_say(e, ERROR_FAILED, -ENOTDIR, "what nix makes of it has no bin/ in " STORE);
    return error_hint(e, "its default package is to be an environment, as contrib/base-flake has it"), -ENOTDIR;
}

int flake_make(struct stack *s, const struct meta *m, struct error *e)
{
    if (!m->nix)
        flake_leave(s);
    if (!m->nix || interrupt_seen())
        return 0;
    struct error why = { 0 };
    int r = ask_nix(s, &why);
    if (r < 0 && why.kind == ERROR_INTERRUPTED) {
        error_pass(e, &why);
        return r;
    }
    _cleanup_free_ char *tools = flake_tools(s->config, s->name);
    if (r < 0)
        ui_warn(s->ui, "%s has %s, not those of " FLAKE_PLACE ": %s; %s, or ag-box set %s nix=false", s->name,
                tools ? "the tools of its last start" : "this node's own tools", why.text, why.hint, s->name);
    if (tools)
        compare(s, m, tools);
    return 0;
}
