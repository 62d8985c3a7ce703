/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * crash - named points at which a test can end the process (builds with -Dfault=true only; otherwise nothing is left).
 *
 * AGBOX_CRASH_AT=command:step[#k] sends SIGKILL to the own process when step is reached for the k-th time (default 1)
 * in a process whose command was set by crash_command. AGBOX_CRASH_LIST=file appends each "command:step#k" reached, so
 * that a test learns which steps a command has; `ag-box debug crash-points` lists the steps that exist in the binary.
 * Steps are put where the outside world changes: before and after every request, fsync, rename, mount, journal write.
 */

#ifdef AGBOX_FAULT
struct crash_step {
    const char *name;
};
void crash_command(const char *command);
void crash_reached(const struct crash_step *step);
/* Calls each with every step of the binary, sorted by name. */
void crash_each(void (*each)(const char *step, void *arg), void *arg);
/* The steps live in the section "crash_steps", so that crash_each can find them all. */
#define crash_point(step)                                                                                              \
    do {                                                                                                               \
        static const struct crash_step here = { step };                                                                \
        static const struct crash_step *const listed __attribute__((section("crash_steps"), used)) = &here;            \
        crash_reached(listed);                                                                                         \
    } while (0)
#else
#define crash_command(command) ((void)0)
#define crash_point(step)      ((void)0)
#endif
