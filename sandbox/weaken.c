/* SPDX-License-Identifier: MIT */
#include "sandbox/weaken.h"

#ifdef AGBOX_FAULT
#include "index/base/mem.h"

/* An option and its arguments. */
static void take_out(struct words *w, size_t at, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(w->items[at + i]);
    memmove(w->items + at, w->items + at + count, (w->count - at - count + 1) * sizeof(*w->items));
    w->count -= count;
}

/* last: its last argument begins so; NULL: whatever it is. */
static void take_out_all(struct words *w, const char *option, size_t count, const char *last)
{
    for (size_t i = 0; i + count <= w->count;)
        if (strcmp(w->items[i], option) == 0 && (!last || strncmp(w->items[i + count - 1], last, strlen(last)) == 0))
            take_out(w, i, count);
        else
            i++;
}

/* What is bound at `to` is bound with this option, from there (NULL: from where it was). */
static void rebind(struct words *w, const char *to, const char *option, const char *from)
{
    for (size_t i = 0; i + 2 < w->count; i++) {
        if (strcmp(w->items[i], "--ro-bind") != 0 || strcmp(w->items[i + 2], to) != 0)
            continue;
        const char *const by[] = { option, from ? from : w->items[i + 1] };
        for (size_t k = 0; k < 2; k++) {
            char *before = w->items[i + k];
            w->items[i + k] = mem_strdup(by[k]);
            free(before);
        }
    }
}

/* Before the root is made read-only. */
static void insert(struct words *w, const char *option, const char *from, const char *to)
{
    size_t at = w->count;
    while (at > 0 && strcmp(w->items[at - 1], "--chdir") != 0)
        at--;
    at = at >= 3 ? at - 3 : 0;
    words_add_all(w, option, from, to, NULL);
    char *added[3];
    memcpy(added, w->items + w->count - 3, sizeof(added));
    memmove(w->items + at + 3, w->items + at, (w->count - at - 3) * sizeof(*w->items));
    memcpy(w->items + at, added, sizeof(added));
}

static void show_hidden(struct words *w)
{
    for (size_t i = 0; i + 2 < w->count;) {
        size_t n = strlen(w->items[i + 1]);
        bool empty = n > 6 && strcmp(w->items[i + 1] + n - 6, "/empty") == 0;
        if (strcmp(w->items[i], "--ro-bind") == 0 && empty)
            take_out(w, i, 3);
        else if (strcmp(w->items[i], "--perms") == 0 && strcmp(w->items[i + 1], "0000") == 0)
            take_out(w, i, 6);
        else
            i++;
    }
}

bool weaken_is(const char *what)
{
    const char *without = getenv("AGBOX_POLICY_WITHOUT");
    return without && strcmp(without, what) == 0;
}

void weaken(struct words *argv, const char *what)
{
    if (strcmp(what, "system") == 0) {
        rebind(argv, "/usr", "--bind", NULL);
        rebind(argv, "/etc", "--bind", NULL);
        take_out_all(argv, "--remount-ro", 2, "/");
    } else if (strcmp(what, "capabilities") == 0) {
        take_out_all(argv, "--cap-drop", 2, NULL);
        take_out_all(argv, "--cap-add", 2, NULL);
    } else if (strcmp(what, "filter") == 0) {
        take_out_all(argv, "--add-seccomp-fd", 2, NULL);
    } else if (strcmp(what, "processes") == 0) {
        take_out_all(argv, "--unshare-pid", 1, NULL);
        take_out_all(argv, "--as-pid-1", 1, NULL);
    } else if (strcmp(what, "hidden") == 0) {
        rebind(argv, "/etc", "--ro-bind", "/etc");
        show_hidden(argv);
    } else if (strcmp(what, "sysctl") == 0) {
        take_out_all(argv, "--ro-bind-try", 3, "/proc/");
    } else if (strcmp(what, "environment") == 0) {
        take_out_all(argv, "--clearenv", 1, NULL);
    } else if (strcmp(what, "places") == 0) {
        insert(argv, "--ro-bind", "/", "/run/host");
    }
}
#endif
