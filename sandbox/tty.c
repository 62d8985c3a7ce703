/* SPDX-License-Identifier: MIT */
#include "sandbox/tty.h"

#include "index/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

int tty_open(uint16_t rows, uint16_t cols, int *ret_master, int *ret_slave)
{
    int unlock = 0;
    _cleanup_close_ int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
        return -errno;
    /* By the master and not by its name: what /dev/pts is does not matter. */
    _cleanup_close_ int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0)
        return -errno;
    if (tty_resize(master, rows ? rows : 24, cols ? cols : 80) < 0)
        return -errno;
    *ret_master = mem_steal_fd(&master);
    *ret_slave = mem_steal_fd(&slave);
    return 0;
}

int tty_resize(int master, uint16_t rows, uint16_t cols)
{
    struct winsize size = { .ws_row = rows, .ws_col = cols };
    if (rows == 0 || cols == 0)
        return 0;
    return ioctl(master, TIOCSWINSZ, &size) < 0 ? -errno : 0;
}

int tty_control(int slave)
{
    return ioctl(slave, TIOCSCTTY, 0) < 0 ? -errno : 0;
}

static bool lies_in(const char *directory, const char *term)
{
    _cleanup_free_ char *by_letter = mem_printf("%s/%c/%s", directory, term[0], term);
    _cleanup_free_ char *by_number = mem_printf("%s/%02x/%s", directory, (unsigned char)term[0], term);
    return access(by_letter, R_OK) == 0 || access(by_number, R_OK) == 0;
}

bool tty_is_known(const char *term)
{
    static const char *const directories[] = { "/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo" };
    if (!term[0] || term[0] == '.' || strchr(term, '/'))
        return false;
    for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++)
        if (lies_in(directories[i], term))
            return true;
    return false;
}
