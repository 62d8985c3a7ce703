/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * completion - what bash, zsh and fish need to complete ag-box's command lines, made from the table of commands.
 *
 * The build installs what this makes. Box names are completed from $AGBOX_STATE_DIR/box: those that are known here.
 */

#include "index/base/buf.h"
#include "index/base/error.h"

/* shell: bash, zsh or fish. -EINVAL ERROR_USAGE. */
int completion_script(const char *shell, struct buf *to, struct error *e);
