/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * check - one question of `ag-box doctor`: is this as it has to be? Each answers what it has seen, and unless that is
 * well, what to do next. Nothing is changed, but for a probe object in the store, which goes again.
 */

#include "cli/config.h"
#include "cli/ui.h"

enum check_state { CHECK_OK, CHECK_WARN, CHECK_FAIL };

struct check_answer {
    enum check_state state;
    char what[320];
    char next[256]; /* empty when all is well */
};

/* What checks know of each other. */
struct checking {
    const struct config *config; /* NULL: it cannot be loaded, and only the machine is looked at */
    struct store *store;         /* NULL: it does not answer */
    int64_t store_now_ns;        /* its clock when it answered, and ours then; 0: it has not */
    int64_t our_now_ns;
    struct ui *ui;
};

struct check {
    const char *name;
    bool needs_config, needs_store; /* else it is left out */
    void (*run)(struct checking *c, struct check_answer *a);
};

void check_ok(struct check_answer *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void check_warn(struct check_answer *a, const char *next, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void check_fail(struct check_answer *a, const char *next, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Fails with it; its hint comes first. */
void check_error(struct check_answer *a, const char *next, const struct error *e);

/* check-machine */
void check_fuse(struct checking *c, struct check_answer *a);
void check_overlay(struct checking *c, struct check_answer *a);
void check_bwrap(struct checking *c, struct check_answer *a);
void check_userns(struct checking *c, struct check_answer *a);
void check_tmux(struct checking *c, struct check_answer *a);
void check_systemd(struct checking *c, struct check_answer *a);
void check_freezer(struct checking *c, struct check_answer *a);
void check_tiocsti(struct checking *c, struct check_answer *a);
void check_disk(struct checking *c, struct check_answer *a);
void check_timers(struct checking *c, struct check_answer *a);
/* check-store */
void check_store(struct checking *c, struct check_answer *a);
void check_rights(struct checking *c, struct check_answer *a);
void check_clock(struct checking *c, struct check_answer *a);
/* check-tools */
void check_nodes(struct checking *c, struct check_answer *a);
void check_tools(struct checking *c, struct check_answer *a);
void check_nix(struct checking *c, struct check_answer *a);
