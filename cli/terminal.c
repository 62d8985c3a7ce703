/* SPDX-License-Identifier: MIT */
#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* Mouse and focus reports, bracketed paste, alternate screen, scroll region, cursor, keypad, colours. */
#define SET_BACK                                                                                                       \
    "\033[?1000l\033[?1002l\033[?1003l\033[?1004l\033[?1006l\033[?2004l\033[?1049l\033[r\033[?7h\033[?25h\033[?"       \
    "1l\033>"                                                                                                          \
    "\033[m\r\n"

static struct {
    int fd;
    bool raw;
    struct termios before, raw_mode;
} used;

/* From the background the kernel would stop us for it. */
static int set(int when, const struct termios *mode)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
    sigaction(SIGTTOU, &ignore, &before);
    int r = tcsetattr(used.fd, when, mode) < 0 ? -errno : 0;
    sigaction(SIGTTOU, &before, NULL);
    return r;
}

int terminal_raw(int fd, struct error *e)
{
    if (tcgetattr(fd, &used.before) < 0)
        return error_set(e, ERROR_FAILED, -errno, "read the terminal's mode");
    used.fd = fd;
    used.raw_mode = used.before;
    cfmakeraw(&used.raw_mode);
    int r = set(TCSADRAIN, &used.raw_mode);
    if (r < 0)
        return error_set(e, ERROR_FAILED, r, "set the terminal's mode");
    used.raw = true;
    return 0;
}

void terminal_again(void *unused)
{
    (void)unused;
    if (used.raw)
        set(TCSADRAIN, &used.raw_mode);
}

void terminal_restore(bool broken)
{
    if (!used.raw)
        return;
    if (broken)
        (void)!write(used.fd, SET_BACK, strlen(SET_BACK));
    set(TCSAFLUSH, &used.before);
    used.raw = false;
}

void terminal_size(int fd, uint16_t *ret_rows, uint16_t *ret_cols)
{
    struct winsize size = { 0 };
    ioctl(fd, TIOCGWINSZ, &size);
    *ret_rows = size.ws_row;
    *ret_cols = size.ws_col;
}
