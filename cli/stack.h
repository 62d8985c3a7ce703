/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * stack - the parts of the program put together for one command: store, keys, one box's journal, cache and fetch.
 *
 * `_cleanup_(stack_close) struct stack s = STACK_NONE;` then the parts a command needs, in the order of the functions
 * below. Each opens what is missing and nothing twice. stack_close lets go in the reverse order.
 */

#include "cli/config.h"
#include "cli/spawn.h"
#include "cli/ui.h"
#include "index/cache.h"
#include "index/journal.h"
#include "sync/fetch.h"
#include "sync/node.h"
#include "sync/seal.h"

struct stack {
    const struct config *config;
    struct ui *ui;
    int state_dir;
    struct node node;
    unsigned attempts; /* of each request; 0: the store's default */
    struct store *store;
    struct keys keys;
    bool unlocked;
    bool asks_config; /* set before stack_store: see there */

    bool admits_globals; /* set before stack_box, stack_peek: the name may be TEXT_GLOBALS */
    char name[64];       /* of the box; "" none */
    int box_dir, command_lock;
    struct journal *journal;
    struct box_record record; /* as last loaded or stored */
    struct seal_context seal;

    bool keeps_metadata; /* what is read of it is the mounted base's: never evicted (the daemon) */
    struct cache *cache;
    struct fetch *fetch;
    struct spawned daemon; /* called early (cli/mounts), and waits for what there is to mount */
};

#define STACK_NONE                                                                                                     \
    {                                                                                                                  \
        .state_dir = -1, .box_dir = -1, .command_lock = -1                                                             \
    }

/* What it is for; stack_connect needs no more. */
void stack_use(struct stack *s, const struct config *c, struct ui *ui);
/* As stack_use, and the state directory, made if absent (0700; a loose mode is refused). */
int stack_open(struct stack *s, const struct config *c, struct ui *ui, struct error *e);
int stack_connect(struct stack *s, struct error *e); /* the store alone; sends nothing */
/* Store and keys. A copy of config and the unwrapped key are kept on this node (rule F5); config is fetched only if
 * they do not open with the password. -EEXIST ERROR_DAMAGED: it is another store than the one that they are of. */
int stack_store(struct stack *s, struct error *e);
/* Of a store that the configured password opens no more, its config being this now: the key that this node has kept. */
int stack_forget_key(struct stack *s, struct bytes config, struct error *e);
/* Has this node opened the store that is configured? Then nothing here is to advise making it, nor to make it. */
bool stack_knows_store(const struct config *c);
/* When config could not be fetched, as r says: -ENOENT is ERROR_DAMAGED where the store is known, else ERROR_USAGE;
 * what to do about it. Returns r. */
int stack_no_config(const struct config *c, int r, struct error *e);
#define STACK_RECOVERY                                                                                                 \
    "mount or configure the right store; if its config is lost, `ag-box key recover` makes it anew from what "         \
    "`ag-box key export` printed"
/*
 * The box's directory, its `command` lock (waits 10 s for another command, then ERROR_BUSY) and its journal. create:
 * makes them; otherwise a box unknown here leaves journal NULL and the record BOX_NONE, and may be made by a second
 * call. Checks the name.
 */
int stack_check_name(const char *name, struct error *e); /* ERROR_USAGE unless it may be a box's */
int stack_box(struct stack *s, const char *name, bool create, struct error *e);
/* stack_open, stack_store and stack_box: what most commands that change a box begin with. create: but a box that
 * neither this node nor the store knows is -ENOENT ERROR_UNKNOWN, and nothing is made. */
int stack_for_box(struct stack *s, const struct config *c, struct ui *ui, const char *name, bool create,
                  struct error *e);
/* As stack_box, without the lock and read-only: for status and ls. */
int stack_peek(struct stack *s, const char *name, struct error *e);
/* What head_absent says; the box is marked (stack_mark). */
int stack_no_box(const struct stack *s, bool dropped, struct error *e);
/* dropped: the store has no such box. If nothing of it is here either, its directory (which remembers the heads that
 * were seen) gets the mark STACK_DROPPED: completion does not offer it. It goes when the box is there again. */
void stack_mark(const struct config *c, const char *name, bool dropped);
#define STACK_DROPPED "dropped"
#define STACK_LISTED "listed" /* what `ls --snapshots` has shown last, a line each, for completion */
int stack_content(struct stack *s, struct error *e);      /* cache and fetch; needs store and name */
void stack_close(struct stack *s);

int stack_save_record(struct stack *s, struct error *e); /* journal_store of record */
