/* SPDX-License-Identifier: MIT */
#pragma once

/* places - where things lie inside a box. */

#define PLACES_HOME "/root" /* where the agents expect it (rule T1) */
#define PLACES_COPIES "/run/box/etc" /* sandbox/copies */
#define PLACES_INIT "/run/box/boxinit"
#define PLACES_GITCONFIG "/etc/gitconfig"
