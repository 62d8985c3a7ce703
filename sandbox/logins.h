/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * logins - the agents' logins in a box's HOME and in the host's, brought to the newer one (sandbox/credentials).
 *
 * Nothing of the box may run meanwhile. The box owns its HOME: nothing there is followed, what is no plain file is left
 * alone (rule T5). On the host links are followed, as its user has made them. A file is replaced whole, and keeps its
 * mode and owner; a new one has mode 0600. Under a lock of the host's directory, so that of two boxes that refreshed a
 * login each is compared with the newest.
 */

#include "index/base/error.h"

/* user_home: of the host's user; home: the box's, open. What fails for one login is logged, and stops no other. */
void logins_reconcile(const char *user_home, int home);
