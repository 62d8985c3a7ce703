/* SPDX-License-Identifier: MIT */
#pragma once

/* commands - the commands there are; cmd_table in commands.c gives their order. */

#include "cli/cmd.h"

extern const struct cmd cmd_init, cmd_key, cmd_track, cmd_up, cmd_park, cmd_snapshot, cmd_set, cmd_ls, cmd_status,
    cmd_hydrate, cmd_restore, cmd_mount, cmd_umount, cmd_diff, cmd_digest, cmd_check, cmd_prune, cmd_drop, cmd_doctor,
    cmd_debug, cmd_attach, cmd_exec, cmd_globals, cmd_resume, cmd_boxfs, cmd_boxfs_serve, cmd_boxrun, cmd_mountfs,
    cmd_mountfs_serve;
