# SPDX-License-Identifier: MIT
# contrib/install puts everything where it belongs, also over ssh; uninstall takes away just that. Building is others'
# business: meson and ninja are fakes, which put one file there.
# lane: cpu
. "$TESTS/lib.sh"

top="$TESTS/.."
mkdir "$WORK/bin"
cat >"$WORK/bin/meson" <<'END'
#!/bin/sh
build=; case $1 in setup | configure) build=$2 ;; install) build=$3 ;; esac
mkdir -p "$build/meson-logs"
touch "$build/build.ninja"
case $1 in
setup) echo "$3" | sed 's/^--prefix=//' >"$build/prefix" ;;
configure) echo "$3" | sed 's/^-Dprefix=//' >"$build/prefix" ;;
install)
    prefix=$(cat "$build/prefix")
    mkdir -p "$DESTDIR$prefix/bin"
    printf '#!/bin/sh\necho built\n' >"$DESTDIR$prefix/bin/ag-box"
    printf '# a comment\n%s\n%s\n' "$DESTDIR$prefix/bin" "$DESTDIR$prefix/bin/ag-box" >"$build/meson-logs/install-log.txt"
    ;;
esac
END
printf '#!/bin/sh\necho built\n' >"$WORK/bin/ninja"
cat >"$WORK/bin/ssh" <<END
#!/bin/sh
[ "\$1" = -- ] && [ "\$2" = far ] || exit 255
DESTDIR="$WORK/far" exec sh -c "\$3"
END
chmod +x "$WORK"/bin/*
export PATH="$WORK/bin:$PATH" AGBOX_INSTALL_BUILD="$WORK/build"
files() {
    (cd "$1" && find . -type f | sort)
}

expect_exit 0 env DESTDIR="$WORK/here" "$top/contrib/install"
expect_output "installed below $WORK/here"
for file in usr/local/bin/ag-box etc/sysctl.d/90-ag-box.conf etc/modprobe.d/ag-box.conf etc/box/tmux.conf \
    usr/local/lib/systemd/system/box-snapshot.timer usr/local/lib/systemd/system/box-globals.service \
    usr/local/share/doc/ag-box/nodes.example etc/base-flake/flake.nix; do
    [ -s "$WORK/here/$file" ] || fail "no $file"
done
grep -qx 'ExecStart=/usr/local/bin/ag-box resume' "$WORK/here/usr/local/lib/systemd/system/box-resume.service" ||
    fail "the unit does not run the program"
! grep -r @bindir@ "$WORK/here" || fail "a place that was not filled in"
[ "$(files "$WORK/here")" = "$(sed 's|^|.|' "$WORK/here/usr/local/share/ag-box/manifest" | sort)" ] ||
    fail "the manifest is not what is there"

# What the user has changed stays, also when it is installed once more, and in another place.
echo "set -g mouse on" >"$WORK/here/etc/box/tmux.conf"
echo "{ }" >"$WORK/here/etc/base-flake/flake.nix"
expect_exit 0 env DESTDIR="$WORK/here" "$top/contrib/install"
expect_file "$WORK/here/etc/box/tmux.conf" "set -g mouse on"
expect_file "$WORK/here/etc/base-flake/flake.nix" "{ }"
expect_exit 0 env DESTDIR="$WORK/other" "$top/contrib/install" --prefix /opt/ag-box
grep -qx 'ExecStart=/opt/ag-box/bin/ag-box prune' "$WORK/other/etc/systemd/system/box-prune.service" ||
    fail "the unit does not run the program of that prefix, or is where systemd does not look"
mkdir "$WORK/other/opt/ag-box/share/mine"
expect_exit 0 env DESTDIR="$WORK/other" "$top/contrib/uninstall" --prefix /opt/ag-box
[ "$(cd "$WORK/other/opt" && find . -mindepth 1 | sort)" = "$(printf './ag-box\n./ag-box/share\n./ag-box/share/mine')" ] ||
    fail "left: $(find "$WORK/other/opt")"
rmdir "$WORK/other/opt/ag-box/share/mine"
expect_exit 0 env DESTDIR="$WORK/other" "$top/contrib/install" --prefix /opt/ag-box
expect_exit 0 env DESTDIR="$WORK/other" "$WORK/other/opt/ag-box/share/ag-box/uninstall" --prefix /opt/ag-box
[ -d "$WORK/other/opt" ] && [ -z "$(ls "$WORK/other/opt")" ] || fail "left: $(find "$WORK/other/opt")"

# Over ssh: the same files, from what is committed; nothing is left behind but them.
if git -C "$top" rev-parse -q --verify HEAD:contrib/install >/dev/null 2>&1; then
    before=$(ls -d /var/tmp/ag-box-install.* 2>/dev/null || true)
    expect_exit 0 env -u AGBOX_INSTALL_BUILD "$top/contrib/install" --to far
    [ "$(files "$WORK/far" | grep -v '^\./etc/box')" = "$(files "$WORK/here" | grep -v '^\./etc/box')" ] ||
        fail "other files over ssh: $(diff <(files "$WORK/far") <(files "$WORK/here"))"
    [ "$(ls -d /var/tmp/ag-box-install.* 2>/dev/null || true)" = "$before" ] || fail "its directory is left there"
fi
expect_exit 255 "$top/contrib/install" --to nowhere
expect_exit 2 "$top/contrib/install" --to -oProxyCommand=x
expect_exit 2 "$top/contrib/install" --to
expect_error "install: --to wants a host"
expect_exit 2 "$top/contrib/install" --prefix relative
expect_exit 2 "$top/contrib/install" --prefix '/a b'
expect_exit 2 "$top/contrib/install" --nonsense

# While a box is up here nothing goes; one that was dropped, or parked, is none. (Where its state is, in a mount namespace.)
store file
node a
mkdir -p "$WORK/demo" "$WORK/parked" "$WORK/dropped" "$WORK/prefix/bin" "$WORK/prefix/share/ag-box"
ln -s "$BUILD/cli/ag-box" "$WORK/prefix/bin/ag-box"
echo "$WORK/prefix/share/ag-box/manifest" >"$WORK/prefix/share/ag-box/manifest"
uninstall() {
    expect_exit "$1" on a unshare --mount sh -ec 'mount -t tmpfs none /var/lib
        mkdir /var/lib/ag-box
        mount --bind "$AGBOX_STATE_DIR" /var/lib/ag-box
        [ ! -d /run/systemd ] || mount -t tmpfs none /run/systemd
        exec "$1" --prefix "$2"' sh "$top/contrib/uninstall" "$WORK/prefix"
}
on a ag-box track parked "$WORK/parked"
on a ag-box park parked
on a ag-box track dropped "$WORK/dropped"
on a ag-box park dropped
on a ag-box drop dropped --yes
if on a ag-box debug crash-points >/dev/null 2>&1; then # of an unfinished track that was dropped the store knows nothing
    on a env AGBOX_CRASH_AT=track:put-snap.after ag-box track third "$WORK/demo" || true
    on a ag-box drop third --yes
fi
on a ag-box track demo "$WORK/demo"
uninstall 1
expect_error "demo (full-held)"
! grep -q "parked (\|dropped (\|third (" "$WORK/error" || fail "of boxes that are not here: $(cat "$WORK/error")"
on a ag-box park demo
uninstall 0
expect_missing "$WORK/prefix/share/ag-box/manifest"

# Away again: nothing is left but what the user may have changed, and the state.
mkdir -p "$WORK/here/var/lib/ag-box/box" "$WORK/here/root/.config/box"
echo secret >"$WORK/here/root/.config/box/env"
expect_exit 0 env DESTDIR="$WORK/here" "$WORK/here/usr/local/share/ag-box/uninstall"
[ "$(files "$WORK/here")" = "$(printf './etc/base-flake/flake.nix\n./etc/box/tmux.conf\n./root/.config/box/env')" ] ||
    fail "left: $(files "$WORK/here")"
[ -d "$WORK/here/var/lib/ag-box/box" ] || fail "the state is gone"
expect_exit 1 env DESTDIR="$WORK/here" "$top/contrib/uninstall"
expect_error "nothing that contrib/install has put there"
rm "$WORK/here/etc/base-flake/flake.nix" # it comes again, and goes, since nobody has changed it
expect_exit 0 env DESTDIR="$WORK/here" "$top/contrib/install"
cmp "$WORK/here/etc/base-flake/flake.nix" "$top/contrib/base-flake/flake.nix" || fail "another flake"
cp -a "$WORK/here" "$WORK/locked"
expect_exit 0 env DESTDIR="$WORK/here" "$top/contrib/uninstall"
expect_missing "$WORK/here/etc/base-flake"
echo "{}" >"$WORK/locked/etc/base-flake/flake.lock"
expect_exit 0 env DESTDIR="$WORK/locked" "$top/contrib/uninstall"
[ "$(ls "$WORK/locked/etc/base-flake")" = "$(printf 'flake.lock\nflake.nix')" ] || fail "the tools that boxes have are forgotten"
expect_exit 0 env DESTDIR="$WORK/here" "$top/contrib/install"
echo "{}" >"$WORK/here/etc/base-flake/flake.lock"
expect_exit 0 env DESTDIR="$WORK/here" "$top/contrib/uninstall" --purge
[ -z "$(files "$WORK/here")" ] || fail "left: $(files "$WORK/here")"
expect_missing "$WORK/here/var/lib/ag-box"
