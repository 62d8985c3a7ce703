/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * fd - whole reads and writes, and files that are either old or new.
 *
 * All functions restart after signals. Descriptors are the caller's. Safe from any thread; one replacer of a name at a
 * time. Where dir is AT_FDCWD, name may be a whole path, except in fd_replace.
 */

#include "index/base/error.h"

#include "index/base/buf.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

/* Reads exactly len bytes at off. -EIO (ERROR_DAMAGED) if the file ends before. */
int fd_pread_all(int fd, void *data, size_t len, uint64_t off, struct error *e);
int fd_pwrite_all(int fd, const void *data, size_t len, uint64_t off, struct error *e);

/* Replaces ret's bytes by the whole file; -EFBIG (ERROR_DAMAGED) if it holds more than max. */
int fd_read_file(int dir, const char *name, size_t max, struct buf *ret, struct error *e);
/* The same of what may be anything: -EINVAL if it is no regular file; nobody is waited for. */
int fd_read_regular(int dir, const char *name, size_t max, struct buf *ret, struct error *e);

/* mkdir -p of an absolute path, each missing part with mode (less the umask); an existing last part must be a
 * directory. */
int fd_make_directories(const char *path, unsigned mode, struct error *e);

/*
 * Opens path below the directory dir and nowhere else: openat2(2) with RESOLVE_BENEATH | NO_SYMLINKS | NO_MAGICLINKS
 * (design rule T5: whoever controls the tree cannot lead us out of it). O_CLOEXEC is added; mode counts only where
 * flags create. Returns the descriptor or -errno.
 */
int fd_open_beneath(int dir, const char *path, int flags, unsigned mode);

/* Opens /dev/null in place of each of 0, 1 and 2 that is closed: what is opened later is then never taken for them. */
void fd_open_standard(void);

/* A socket's address for a path of any length, by way of a descriptor of its directory: ret_dir, the caller's to close,
 * stays open as long as the address is used. -ENOENT ERROR_UNKNOWN: there is no such directory. */
int fd_socket_address(const char *path, struct sockaddr_un *ret, int *ret_dir, struct error *e);

/* Writes all len bytes. -EIO if the kernel takes none. */
int fd_write_all(int fd, const void *data, size_t len, struct error *e);

/*
 * Replaces dir/name by len bytes. After success, and after any crash, dir/name holds all of the old bytes or all of
 * the new ones: temporary file, fsync, rename, fsync of dir (rename(2), fsync(2); without the last one a power cut
 * may bring the old file back after success was reported). name is one component, no '/'. Mode 0600.
 */
int fd_replace(int dir, const char *name, const void *data, size_t len, struct error *e);
