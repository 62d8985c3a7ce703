/* SPDX-License-Identifier: MIT */
#include "fusefs/lower.h"

#include "fusefs/listing.h"
#include "index/base/log.h"
#include "index/base/mem.h"

#include <errno.h>
#include <sys/statvfs.h>

/* Waiting reads must not fill the kernel's quota of background requests, or cached reads would wait behind them. */
#define BACKGROUND_MAX (REQUESTS_SLOTS / 4 * 3)

/*
 * With file handles overlayfs finds the base's inode of whatever was copied up, so that all names of a file are one
 * inode of the overlay whatever the kernel has forgotten (contrib/DESIGN.md). Not from Linux 6.16 on: there an entry
 * that hangs nowhere has no epoch and is refused before we are asked, and overlayfs says ESTALE.
 */
#define FIRST_WITH_EPOCHS 44u /* minor version of the protocol */

static void op_init(void *arg, struct fuse_conn_info *conn)
{
    conn->want = conn->capable &
                 (FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_READDIRPLUS | FUSE_CAP_CACHE_SYMLINKS |
                  FUSE_CAP_POSIX_ACL | FUSE_CAP_NO_OPEN_SUPPORT | FUSE_CAP_NO_OPENDIR_SUPPORT | FUSE_CAP_ASYNC_DIO);
    if (conn->proto_minor < FIRST_WITH_EPOCHS)
        conn->want |= conn->capable & FUSE_CAP_EXPORT_SUPPORT;
    conn->max_write = LOOP_MAX_WRITE; /* reads too: libfuse derives the pages of a request from it */
    conn->max_readahead = LOOP_MAX_WRITE;
    conn->max_background = BACKGROUND_MAX;
    conn->congestion_threshold = BACKGROUND_MAX;
    conn->time_gran = 1;
}

static void fail(fuse_req_t req, uint64_t id, const struct error *e)
{
    const struct lower *l = fuse_req_userdata(req);
    if (e->code == -ECANCELED) {
        loop_keep_request();
        fuse_reply_none(req);
        return;
    }
    if (e->kind != ERROR_DAMAGED && e->kind != ERROR_STORE) {
        fuse_reply_err(req, -e->code);
        return;
    }
    _cleanup_(buf_release) struct buf path = { 0 };
    if (inode_path(l->inodes, id, &path, NULL) < 0)
        buf_printf(&path, "node %llu", (unsigned long long)id);
    log_warn("%s: %s", buf_string(&path), e->text);
    fuse_reply_err(req, EIO);
}

/* What the kernel asks when it has a node id and no name: "." for the inode of a file handle, then "/", which is how it
 * calls an entry that hangs nowhere, whether that one is still valid. */
static bool names_itself(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "/") == 0;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    const struct lower *l = fuse_req_userdata(req);
    struct inode n;
    struct error e = { 0 };
    struct fuse_entry_param p = { .entry_timeout = LISTING_FOREVER };
    int r = names_itself(name) ? inode_get(l->inodes, parent, &n, &e) : inode_lookup(l->inodes, parent, name, &n, &e);
    bool unknown_origin = r < 0 && r != -ECANCELED && strcmp(name, ".") == 0;
    if (unknown_origin) /* what was copied up is there without it */
        log_warn("the inode of a file handle, node %llu: %s", (unsigned long long)parent, e.text);
    if (unknown_origin || (r == -ENOENT && e.kind == ERROR_UNKNOWN)) {
        fuse_reply_entry(req, &p); /* node 0: absent, for ever */
        return;
    }
    if (r < 0) {
        fail(req, parent, &e);
        return;
    }
    listing_param(&n, &p);
    inode_release(&n);
    fuse_reply_entry(req, &p);
}

static void op_getattr(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
    const struct lower *l = fuse_req_userdata(req);
    struct inode n;
    struct error e = { 0 };
    if (inode_get(l->inodes, id, &n, &e) < 0) {
        fail(req, id, &e);
        return;
    }
    fuse_reply_attr(req, &n.stat, LISTING_FOREVER);
    inode_release(&n);
}

static void op_readlink(fuse_req_t req, fuse_ino_t id)
{
    const struct lower *l = fuse_req_userdata(req);
    struct inode n;
    struct error e = { 0 };
    if (inode_get(l->inodes, id, &n, &e) < 0) {
        fail(req, id, &e);
        return;
    }
    if (n.n.type == ENTRY_SYMLINK)
        fuse_reply_readlink(req, n.n.target);
    else
        fuse_reply_err(req, EINVAL);
    inode_release(&n);
}

static void op_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
    fuse_reply_err(req, ENOSYS); /* said once: from then on the kernel opens by itself, keeping its cache */
}

static void op_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset, struct fuse_file_info *fi)
{
    const struct lower *l = fuse_req_userdata(req);
    struct inode n;
    struct error e = { 0 };
    int r = inode_get(l->inodes, id, &n, &e);
    if (r < 0) {
        fail(req, id, &e);
        return;
    }
    char *answer = NULL;
    size_t len = 0;
    if (n.n.type != ENTRY_FILE)
        r = error_say(&e, ERROR_FAILED, -EISDIR, "not a file");
    else {
        if (l->touched)
            l->touched(l->touched_arg, inode_position(&n));
        r = reader_read(l->reader, inode_position(&n), &n.n, (uint64_t)offset, size, &answer, &len, &e);
    }
    inode_release(&n);
    if (r < 0)
        fail(req, id, &e);
    else
        fuse_reply_buf(req, answer, len);
    if (answer)
        answers_give(l->answers, answer);
}

static void op_lseek(fuse_req_t req, fuse_ino_t id, off_t offset, int whence, struct fuse_file_info *fi)
{
    const struct lower *l = fuse_req_userdata(req);
    struct inode n;
    struct error e = { 0 };
    uint64_t at;
    int r = inode_get(l->inodes, id, &n, &e);
    if (r == 0) {
        r = reader_seek(l->reader, inode_position(&n), &n.n, (uint64_t)offset, whence, &at, &e);
        inode_release(&n);
    }
    if (r < 0)
        fail(req, id, &e);
    else
        fuse_reply_lseek(req, (off_t)at);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t id, size_t size, off_t offset, struct fuse_file_info *fi)
{
    const struct lower *l = fuse_req_userdata(req);
    struct error e = { 0 };
    size_t len;
    if (size > ANSWER_SIZE)
        size = ANSWER_SIZE;
    _cleanup_free_ char *entries = mem_new(1, size); /* may wait for pages: no answer buffer yet */
    if (listing_read(l->inodes, req, id, (uint64_t)offset, entries, size, &len, &e) < 0) {
        fail(req, id, &e);
        return;
    }
    char *answer = answers_take(l->answers);
    memcpy(answer, entries, len);
    fuse_reply_buf(req, answer, len);
    answers_give(l->answers, answer);
}

/* Sends an attribute or the list of names; size 0 asks for the length only. */
static void reply_value(fuse_req_t req, const void *value, size_t len, size_t size)
{
    const struct lower *l = fuse_req_userdata(req);
    if (size == 0)
        fuse_reply_xattr(req, len);
    else if (len > size || len > ANSWER_SIZE)
        fuse_reply_err(req, ERANGE);
    else {
        char *answer = answers_take(l->answers);
        memcpy(answer, value, len);
        fuse_reply_buf(req, answer, len);
        answers_give(l->answers, answer);
    }
}

static void op_getxattr(fuse_req_t req, fuse_ino_t id, const char *name, size_t size)
{
    const struct lower *l = fuse_req_userdata(req);
    struct inode n;
    struct error e = { 0 };
    if (l->no_xattrs || entry_xattr_left_out(name)) {
        fuse_reply_err(req, l->no_xattrs ? ENOSYS : ENODATA);
        return;
    }
    if (inode_get(l->inodes, id, &n, &e) < 0) {
        fail(req, id, &e);
        return;
    }
    const struct xattr *found = NULL;
    for (size_t i = 0; i < n.n.xattr_count && !found; i++)
        if (strcmp(n.n.xattrs[i].name, name) == 0)
            found = &n.n.xattrs[i];
    if (found)
        reply_value(req, found->value, found->len, size);
    else
        fuse_reply_err(req, ENODATA);
    inode_release(&n);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t id, size_t size)
{
    const struct lower *l = fuse_req_userdata(req);
    struct inode n;
    struct error e = { 0 };
    if (inode_get(l->inodes, id, &n, &e) < 0) {
        fail(req, id, &e);
        return;
    }
    _cleanup_(buf_release) struct buf names = { 0 };
    buf_string(&names);
    for (size_t i = 0; i < n.n.xattr_count; i++)
        if (!entry_xattr_left_out(n.n.xattrs[i].name))
            buf_add(&names, n.n.xattrs[i].name, strlen(n.n.xattrs[i].name) + 1);
    inode_release(&n);
    reply_value(req, names.data, names.len, size);
}

static void op_statfs(fuse_req_t req, fuse_ino_t id)
{
    const struct lower *l = fuse_req_userdata(req);
    struct statvfs s = {
        .f_bsize = 4096,
        .f_frsize = 4096,
        .f_blocks = (fsblkcnt_t)((l->bytes + 4095) / 4096),
        .f_files = tree_count(inode_map_tree(l->inodes)),
        .f_namemax = NAME_LEN_MAX,
    };
    fuse_reply_statfs(req, &s);
}

const struct fuse_lowlevel_ops lower_operations = {
    .init = op_init,
    .lookup = op_lookup,
    .getattr = op_getattr,
    .readlink = op_readlink,
    .open = op_open,
    .opendir = op_open,
    .read = op_read,
    .lseek = op_lseek,
    .readdirplus = op_readdirplus,
    .getxattr = op_getxattr,
    .listxattr = op_listxattr,
    .statfs = op_statfs,
};
