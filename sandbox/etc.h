/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * etc - what a box sees at /etc: a copy of what an ordinary user of the host can read there, made anew at each start.
 *
 * A copy, because the host replaces files by rename: whatever hides a single file would be gone then. Left out are
 *
 *  - what an ordinary user could not read, files and directories (sudo's configuration excepted);
 *  - what looks like a private key, by its name or by what it says;
 *  - our own directories, and whatever is no file, directory or link;
 *  - files over ETC_FILE_MAX, which is said in the log.
 *
 * Modes (without set-id bits), owners, the times of files, and links are the host's. What changes while it is copied is
 * in it as it was, as it became, or not at all: what is decided by a file's mode and content is decided by those of the
 * file that is copied. Later changes are not seen, but for those of the files that etc_follow names.
 */

#include "index/base/error.h"
#include "sandbox/words.h"

#include <stdbool.h>

#define ETC_NAME "etc"
#define ETC_FILE_MAX (4 * 1024 * 1024)
#define ETC_TOTAL_MAX (64 * 1024 * 1024)
#define ETC_ENTRIES_MAX 50000
#define ETC_DEPTH_MAX 32

/* Makes run/etc from the directory `from`, in place of what is there. ours: directories of ours, by their real paths.
 * -E2BIG ERROR_FAILED: more than the limits above. */
int etc_make(int run, const char *from, const struct words *ours, struct error *e);

/*
 * Brings resolv.conf (as a file, wherever the host's leads), hosts, localtime, timezone and ld.so.cache of run/etc up
 * to date: what differs, in more than its times, is replaced at once. *watch (-1: none yet) becomes an inotify
 * descriptor that looks at what may change them, so that no change is missed from here on; what it was is closed, and
 * it is the caller's to close. NULL: nothing looks. What fails is logged.
 */
void etc_follow(int run, const char *from, int *watch);

/* Takes all that watch has to tell: whether etc_follow is due. */
bool etc_changed(int watch);
