# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: MIT
# packages.sh - which Debian packages building and testing need, and how to install those that are missing.
# Sourced by contrib/quickstart and contrib/check. The names are the same on Debian 12 and 13.

# e2fsprogs: chattr, with which quickstart cleans up behind itself; a minimal Debian 13 lacks it.
PACKAGES_BUILD="gcc libc6-dev meson ninja-build pkg-config git fuse3 libfuse3-dev libcurl4-openssl-dev libsodium-dev libzstd-dev
libsqlite3-dev libjansson-dev libexpat1-dev libseccomp-dev uthash-dev scdoc e2fsprogs"
# What it runs with, beside what it is linked to.
PACKAGES_RUN="bubblewrap tmux fuse3 openssh-client procps util-linux"
PACKAGES_TEST="libcmocka-dev libmicrohttpd-dev nettle-dev python3 attr acl jq sqlite3 bubblewrap tmux util-linux
mount procps psmisc iproute2 make patch xfsprogs btrfs-progs"
# Where Debian has them: the formatter's version is fixed; nix-bin is for tests/box/nix.sh.
PACKAGES_OPTIONAL="clang-format-14 nix-bin"
# For tests/nspawn, which are skipped without.
PACKAGES_MACHINES="systemd-container debootstrap"
# Only for --full.
PACKAGES_FULL="valgrind"
# For tests/kernel/run, on the Debian whose kernel it boots.
PACKAGES_KERNEL="qemu-system-x86 busybox-static e2fsprogs"

packages_is_installed() {
    [ "$(dpkg-query --show --showformat '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# packages_install "NAMES" ["OPTIONAL NAMES"]: nothing at all when every one is there.
packages_install() {
    local missing=() name
    for name in $1; do
        packages_is_installed "$name" || missing+=("$name")
    done
    [ ${#missing[@]} = 0 ] || apt-get update -qq || return 1
    for name in ${2:-}; do
        if ! packages_is_installed "$name" && [ -n "$(apt-cache madison "$name" 2>/dev/null)" ]; then
            missing+=("$name")
        fi
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "installing: ${missing[*]}"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
