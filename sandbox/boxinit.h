/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * boxinit - PID 1 of a box: `boxinit --listen FD --ready FD --name NAME --cwd PROJECT`, a static program of its own.
 *
 * It reaps, keeps the box's tmux standing (socket BOXINIT_RUN/NAME/tmux.sock, environment as its own; the program that
 * speaks with it is BOXINIT_RUN/NAME/tmux) and serves
 * commands on the listener (sandbox/message), a listening unix socket that the host has made. The listener and the
 * ready pipe are its own; no child inherits a descriptor, and it is not dumpable, so that nobody in the box can take
 * them.
 *
 * On the ready pipe it writes one byte BOXINIT_READY when tmux stands, or a text that says why it never will (then it
 * exits with 1), and closes it.
 * SIGTERM from outside the box's pid namespace: everything inside gets SIGTERM, commands at a terminal also SIGHUP,
 * once more every second, and what is left after BOXINIT_GRACE_MS SIGKILL; then it exits with 0. Nothing inside can end
 * it by a signal.
 */

#define BOXINIT_RUN "/run/box"
#define BOXINIT_READY 0
#define BOXINIT_GRACE_MS 8000
