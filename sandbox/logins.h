/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * logins - the agents' logins in a box's HOME and in the host's, brought to the newer one (sandbox/credentials).
 *
 * The box owns its HOME, and may run meanwhile: nothing there is followed, what is no plain file is left alone (rule
 * T5), and a copy that was changed since it was looked at is not replaced. On the host links are followed, as its user
 * has made them. A file is replaced whole, and keeps its mode and owner; a new one has mode 0600. Under a lock of the
 * host's directory, so that of two boxes that refreshed a login each is compared with the newest; whoever keeps that
 * for longer than two seconds has the login stay as it is.
 */

#include <stdbool.h>

/* user_home: of the host's user; home: the box's, open. watch: an inotify descriptor that begins to look at both, so
 * that no change is missed from here on; or -1. What fails for one login is logged, and stops no other. */
void logins_reconcile(const char *user_home, int home, int watch);

/* Takes all that watch (IN_NONBLOCK) has to tell: whether some of it calls for another logins_reconcile. */
bool logins_changed(int watch);
