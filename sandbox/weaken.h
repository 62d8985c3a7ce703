/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * weaken - a policy's command line without one of its protections, for tests that show what each of them is good for:
 * an escape that is refused, and succeeds without its protection. In builds with -Dfault=true only.
 *
 *     system       /, /usr and /etc can be written
 *     capabilities root in the box has all that bwrap leaves it
 *     filter       every system call
 *     processes    the host's processes are seen
 *     hidden       /etc is the host's own, and sockets are seen
 *     sysctl       /proc as bwrap mounts it
 *     propagation  what the host mounts later is seen
 *     scope        the host's abstract sockets are reached
 *     environment  that of whoever started bwrap
 *     links        the host follows those of a box to its logins
 *     places       the whole host is seen, at /run/host
 */

#ifdef AGBOX_FAULT
#include "sandbox/words.h"

#include <stdbool.h>

/* what: one of the words above; anything else changes nothing. weaken_is: does $AGBOX_POLICY_WITHOUT say so? */
void weaken(struct words *argv, const char *what);
bool weaken_is(const char *what);
#endif
