/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * overlay - the kernel's overlayfs over the lower: where all writes go (rules O1, O3, O4, P3).
 *
 * An upper directory is valid only over the snapshot it was made on; who mounts which over what is the journal's
 * business.
 */

#include "index/base/error.h"

struct overlay {
    const char *lower; /* paths; any bytes are allowed */
    const char *upper;
    const char *work; /* on upper's file system */
    const char *target;
    const char *source; /* what mountinfo shows */
};

/* Makes the directories upper and work (their parent exists). The merged root shows the upper's attributes: mode 0755,
 * uid 0. */
int overlay_make_upper(const struct overlay *o, struct error *e);
/* Options index=off,redirect_dir=on,metacopy=on,xino=on; nosuid, nodev; redirect_max raised first, as far as that is
 * allowed. */
int overlay_mount(const struct overlay *o, struct error *e);

/*
 * Read-only and back, for the whole overlay, whoever sees it through whichever bind. -EBUSY ERROR_BUSY, and nothing
 * changed, while any file is open for writing, written through a mapping, or open and unlinked; readers and working
 * directories do not hinder. After success nothing can change any more, and everything is on disk (syncfs).
 */
int overlay_freeze(const char *target, struct error *e);
int overlay_thaw(const char *target, struct error *e);
int overlay_sync(const char *target, struct error *e);
