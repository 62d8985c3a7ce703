# SPDX-License-Identifier: MIT
# packages.sh - which Debian packages building and testing need, and how to install those that are missing.
# Sourced by contrib/quickstart and contrib/check. The names are the same on Debian 12 and 13.

PACKAGES_BUILD="gcc libc6-dev meson ninja-build pkg-config fuse3 libfuse3-dev libcurl4-openssl-dev libsodium-dev libzstd-dev
libsqlite3-dev libjansson-dev libexpat1-dev uthash-dev git scdoc"
# shellcheck disable=SC2034
PACKAGES_TEST="libcmocka-dev libmicrohttpd-dev nettle-dev clang python3 attr acl jq sqlite3 valgrind xfsprogs e2fsprogs strace
shellcheck"

# packages_install "NAMES": nothing at all when every one is there.
packages_install() {
    local missing="" name
    for name in $1; do
        dpkg-query -W -f '${Status}\n' "$name" 2>/dev/null | grep -q 'ok installed' || missing="$missing $name"
    done
    [ -n "$missing" ] || return 0
    echo "installing:$missing"
    apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}
