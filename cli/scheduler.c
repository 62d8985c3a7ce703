/* SPDX-License-Identifier: MIT */
#include "cli/scheduler.h"

#include "cli/program.h"
#include "index/base/fd.h"
#include "index/base/mem.h"
#include "index/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define ANSWER_MS 3000
#define MEMINFO_MAX (64u * 1024)
#define WORDS_MAX 32
#define SSH_FAILED 255
#define SHELL_FOUND_NONE 127

const char *scheduler_pick(const struct scheduler_candidate *c, size_t count, const char *pin, const char *self)
{
    if (*pin)
        return pin;
    const struct scheduler_candidate *best = NULL;
    for (size_t i = 0; i < count; i++) {
        bool ours = strcmp(c[i].name, self) == 0;
        if (c[i].answered && (!best || c[i].available > best->available || (ours && c[i].available == best->available)))
            best = &c[i];
    }
    return best ? best->name : self;
}

int scheduler_meminfo(struct bytes text, uint64_t *ret)
{
    static const char key[] = "MemAvailable:";
    _cleanup_free_ char *copy = mem_copy(text.data, text.len);
    char *rest = copy;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, key, sizeof(key) - 1) != 0)
            continue;
        char *after = NULL, *number = strtok_r(line + sizeof(key) - 1, " \t", &after);
        const char *unit = strtok_r(NULL, " \t\r", &after);
        uint64_t kib;
        if (!number || !unit || strcmp(unit, "kB") != 0 || text_parse_u64(number, UINT64_MAX / 1024, &kib) < 0)
            return -EBADMSG;
        *ret = kib * 1024;
        return 0;
    }
    return -EBADMSG;
}

static void look_here(const char *self, struct scheduler_candidate *ret)
{
    _cleanup_(buf_release) struct buf text = { 0 };
    ret->name = self;
    ret->answered = fd_read_file(AT_FDCWD, "/proc/meminfo", MEMINFO_MAX, &text, NULL) == 0 &&
                    scheduler_meminfo(buf_bytes(&text), &ret->available) == 0;
}

/* The other nodes, asked all at once. */
struct probing {
    const struct nodes_entry *nodes[NODES_MAX];
    const char *argv[NODES_MAX][8];
    struct program_call calls[NODES_MAX];
    size_t count;
};

static void probe(const struct nodes *n, struct probing *p)
{
    p->count = 0;
    for (size_t i = 0; i < n->count; i++) {
        const char *alias = n->entries[i].alias;
        const char *words[] = { "ssh", "-oBatchMode=yes", "-oConnectTimeout=3", "--", alias, "cat", "/proc/meminfo",
                                NULL };
        if (!*alias)
            continue;
        memcpy(p->argv[p->count], words, sizeof(words));
        p->calls[p->count] = (struct program_call){ .argv = p->argv[p->count] };
        p->nodes[p->count++] = &n->entries[i];
    }
    program_ask(p->calls, p->count, ANSWER_MS);
}

/* why: of no answer. */
static void judge(struct probing *p, size_t i, struct scheduler_candidate *ret, char why[128])
{
    struct program_call *call = &p->calls[i];
    ret->name = p->nodes[i]->name;
    ret->answered = call->code == 0 && scheduler_meminfo(buf_bytes(&call->output), &ret->available) == 0;
    if (call->code != 0)
        program_complaint(call, why);
    else
        snprintf(why, 128, "its /proc/meminfo makes no sense");
    program_release(call);
}

const struct nodes_entry *scheduler_look(const struct nodes *n, const char *self, struct ui *ui)
{
    struct probing p;
    struct scheduler_candidate c[NODES_MAX + 1];
    probe(n, &p);
    for (size_t i = 0; i < p.count; i++) {
        char why[128];
        judge(&p, i, &c[i], why);
        if (!c[i].answered)
            ui_warn(ui, "node %s (ssh %s) is left out: %s", c[i].name, p.nodes[i]->alias, why);
    }
    look_here(self, &c[p.count]);
    const char *name = scheduler_pick(c, p.count + 1, "", self);
    for (size_t i = 0; i < p.count; i++)
        if (c[i].name == name) {
            char size[16];
            text_size(size, c[i].available);
            ui_note(ui, "on %s, where most memory is available: %s", name, size);
            return p.nodes[i];
        }
    return NULL;
}

size_t scheduler_missing(const struct nodes *n, char to[256])
{
    struct probing p;
    size_t count = 0, at = 0;
    to[0] = '\0';
    probe(n, &p);
    for (size_t i = 0; i < p.count; i++) {
        struct scheduler_candidate c;
        char why[128];
        judge(&p, i, &c, why);
        if (c.answered)
            continue;
        count++;
        if (at < 256)
            at += (size_t)snprintf(to + at, 256 - at, "%s%s (%s)", at ? ", " : "", c.name, why);
    }
    return count;
}

int scheduler_up_there(const struct nodes_entry *there, const char *const *options, struct ui *ui, struct error *e)
{
    _cleanup_free_ char *ssh = program_find("ssh");
    if (!ssh) {
        error_say(e, ERROR_USAGE, -ENOENT, "%s is reached by ssh, which is not on the PATH", there->name);
        return error_hint(e, "apt-get install openssh-client");
    }
    const char *argv[WORDS_MAX] = { "ssh", "-oConnectTimeout=10" };
    size_t count = 2;
    if (!ui_json(ui) && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
        argv[count++] = "-t"; /* progress, and Ctrl-C */
    const char *rest[] = { "--", there->alias, "ag-box", "up" };
    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++)
        argv[count++] = rest[i];
    for (; *options && count + 1 < WORDS_MAX; options++)
        argv[count++] = *options;
    int code = 0;
    int r = program_run(argv, &code, e);
    if (r < 0)
        return r;
    if (code == SSH_FAILED) {
        error_say(e, ERROR_FAILED, -EHOSTUNREACH, "ssh %s: node %s cannot be reached that way", there->alias,
                  there->name);
        return error_hint(e, "`ssh %s true` must work without questions; --local takes the box up here", there->alias);
    }
    if (code == SHELL_FOUND_NONE) {
        error_say(e, ERROR_FAILED, -ENOENT, "there is no ag-box on node %s (ssh %s), or not on its PATH", there->name,
                  there->alias);
        return error_hint(e, "contrib/install --to %s puts it there", there->alias);
    }
    ui_passed_on(ui, code);
    return 0;
}
