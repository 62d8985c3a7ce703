/* SPDX-License-Identifier: MIT */
#include "cli/advice.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Whatever else is to be done comes after it. */
static void make_room(const struct config *c, struct error *e)
{
    static const char directory[] = "file://";
    char then[sizeof(e->hint)];
    memcpy(then, e->hint, sizeof(then));
    bool store = e->kind == ERROR_STORE && c && c->store && strncmp(c->store, directory, strlen(directory)) == 0;
    if (store)
        error_hint(e, "make room for the store in %s (df -h %s)%s%s", c->store + strlen(directory),
                   c->store + strlen(directory), then[0] ? "; then: " : "", then);
    else if (then[0])
        error_hint(e, "make room first (df -h shows where); then: %s", then);
    else if (c)
        error_hint(e, "make room (df -h shows where); %s/cache may be deleted at any time", c->state_dir);
    else
        error_hint(e, "make room: df -h shows where");
}

void advice_give(const struct config *c, struct error *e)
{
    if ((e->code == -ENOSPC || e->code == -EDQUOT) && e->kind != ERROR_USAGE)
        make_room(c, e);
    else if (e->hint[0])
        return;
    else if ((e->code == -EACCES || e->code == -EPERM) && geteuid() != 0)
        error_hint(e, "ag-box is root's: run it as root");
    else if (e->kind == ERROR_UNKNOWN)
        error_hint(e, "ag-box ls shows the boxes of this store, ag-box ls --snapshots NAME what there is of one");
    else if (e->kind == ERROR_STORE)
        error_hint(e, "nothing is lost: try again later; ag-box doctor looks at the store");
}
