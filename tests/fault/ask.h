/* SPDX-License-Identifier: MIT */
#pragma once

/* ask - the other end of control: sends a command to a server on this machine and prints its answer. */

/* words: "set" reads its data from stdin. The exit code: 0, 1 the server says no (its reason on stderr), 2 no server.
 */
int ask(const char *port, char **words, int count);
