/* SPDX-License-Identifier: MIT */
#include "index/base/crash.h"
#include "index/base/mem.h"
#include "index/base/remove.h"
#include "index/copy.h"
#include "index/names.h"
#include "index/reach.h"
#include "index/stash-slot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

struct returning {
    struct stash *stash;
    int root;          /* of the tree the slot's path is in */
    const char *tree;  /* "project", "home" */
    struct copy *copy; /* from the stash into it */
    stash_stays stays;
    void *arg;
    struct buf from, to; /* of the entry at hand, beneath the stash and beneath root */
};

static int tell(struct returning *r, struct error *e)
{
    if (!r->stays)
        return 0;
    _cleanup_free_ char *path = mem_printf("%s/%s", r->tree, buf_string(&r->to));
    _cleanup_free_ char *where = mem_printf("stash/%s", buf_string(&r->from));
    return r->stays(r->arg, path, where, e);
}

/* What lies under r->from is in the tree now. */
static int remove_returned(struct returning *r, struct error *e)
{
    _cleanup_close_ int parent = -1;
    const char *name;
    int code = reach_parent(r->stash->fd, buf_string(&r->from), &parent, &name);
    if (code < 0)
        return error_set(e, ERROR_FAILED, code, "open stash/%s", buf_string(&r->from));
    code = remove_tree(parent, name, NULL);
    return code < 0 ? error_set(e, ERROR_FAILED, code, "remove stash/%s", buf_string(&r->from)) : 0;
}

static int return_entry(struct returning *r, struct error *e);

/* A directory met a directory: name by name. What is left of it afterwards stays. Takes fd. */
static int merge(struct returning *r, int fd, struct error *e)
{
    _cleanup_close_ int directory = fd, parent = -1;
    _cleanup_(names_release) struct names l = { 0 };
    int code = names_read(directory, &l, e);
    close(mem_steal_fd(&directory)); /* any depth needs but one */
    for (size_t i = 0; code == 0 && i < l.count; i++) {
        const char *name = names_get(&l, i);
        ssize_t up = reach_down(&r->from, name, e), back = up < 0 ? up : reach_down(&r->to, name, e);
        if (back < 0)
            return (int)back;
        code = return_entry(r, e);
        reach_up(&r->from, up);
        reach_up(&r->to, back);
    }
    if (code < 0)
        return code;
    const char *name;
    code = reach_parent(r->stash->fd, buf_string(&r->from), &parent, &name);
    if (code == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY)
        code = -errno;
    return code < 0 ? error_set(e, ERROR_FAILED, code, "remove stash/%s", buf_string(&r->from)) : 0;
}

static int both_directories(int a, const char *x, int b, const char *y)
{
    struct stat s, t;
    if (fstatat(a, x, &s, AT_SYMLINK_NOFOLLOW) < 0 || fstatat(b, y, &t, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    return S_ISDIR(s.st_mode) && S_ISDIR(t.st_mode);
}

/* Something has its place. */
static int meet(struct returning *r, struct error *e)
{
    _cleanup_close_ int from = -1, to = -1, directory = -1;
    const char *name, *there;
    int code = reach_parent(r->stash->fd, buf_string(&r->from), &from, &name);
    if (code == 0)
        code = reach_parent(r->root, buf_string(&r->to), &to, &there);
    if (code == 0)
        code = both_directories(from, name, to, there);
    if (code < 0)
        return error_set(e, ERROR_FAILED, code, "look at %s", buf_string(&r->to));
    if (code) {
        directory = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(mem_steal_fd(&from));
        close(mem_steal_fd(&to));
        return directory < 0 ? error_set(e, ERROR_FAILED, -errno, "open %s", buf_string(&r->from))
                             : merge(r, mem_steal_fd(&directory), e);
    }
    bool alike = false;
    code = copy_alike(from, name, to, there, &alike, e);
    if (code < 0)
        return code;
    return alike ? remove_returned(r, e) : tell(r, e);
}

static int return_entry(struct returning *r, struct error *e)
{
    _cleanup_close_ int parent = -1;
    const char *name;
    int code = r->root < 0 ? -ENOENT : reach_parent(r->root, buf_string(&r->to), &parent, &name);
    if (code < 0)
        return reach_vanished(code) ? tell(r, e)
                                    : error_set(e, ERROR_FAILED, code, "open the directory of %s", buf_string(&r->to));
    close(mem_steal_fd(&parent));
    crash_point("stash-return.before");
    code = copy_entry(r->copy, buf_string(&r->from), buf_string(&r->to), e);
    crash_point("stash-return.after");
    if (code == -EEXIST)
        return meet(r, e);
    return code < 0 ? code : remove_returned(r, e);
}

static int return_slot(struct returning *r, uint32_t number, const char *below, struct error *e)
{
    buf_clear(&r->from);
    buf_clear(&r->to);
    buf_printf(&r->from, "%08u/%s", number, STASH_ENTRY);
    buf_add(&r->to, below, strlen(below));
    return return_entry(r, e);
}

static int return_one(struct returning *project, struct returning *home, uint32_t number, struct error *e)
{
    _cleanup_close_ int slot = -1;
    _cleanup_free_ char *path = NULL;
    int r = stash_slot_open(project->stash, number, &slot, &path, e);
    if (r < 0)
        return r;
    if (strncmp(path, "project/", 8) == 0)
        return return_slot(project, number, path + 8, e);
    return strncmp(path, "home/", 5) == 0 ? return_slot(home, number, path + 5, e) : 0;
}

int stash_return(struct stash *s, int project, int home, stash_stays stays, void *arg, struct error *e)
{
    struct returning in_project = { .stash = s, .root = project, .tree = "project", .stays = stays, .arg = arg };
    struct returning in_home = { .stash = s, .root = home, .tree = "home", .stays = stays, .arg = arg };
    in_project.copy = copy_new(s->fd, project);
    in_home.copy = copy_new(s->fd, home);

    int r = 0;
    size_t count = s->count;
    _cleanup_free_ uint32_t *numbers = mem_copy(s->numbers ? s->numbers : &(uint32_t){ 0 }, count * sizeof(*numbers));
    while (r == 0 && count > 0)
        r = return_one(&in_project, &in_home, numbers[--count], e);

    if (r == 0)
        r = stash_slot_tidy(s, e);
    copy_free(in_project.copy);
    copy_free(in_home.copy);
    buf_release(&in_project.from);
    buf_release(&in_project.to);
    buf_release(&in_home.from);
    buf_release(&in_home.to);
    return r < 0 ? (error_prefix(e, "lay excluded entries back"), r) : 0;
}
