# SPDX-License-Identifier: MIT
# The tools of a box with nix=true are those that nix makes of /etc/base-flake, in exec, in login shells and in tmux; nix's
# garbage collector spares them while the box is up. Without nix, a flake, or one that can be built, the box has the node's
# own tools, and a warning says why. Each node has a /nix and an /etc of its own; the flakes need no network.
# lane: wait
# limit: 240
BOXES=yes
. "$TESTS/lib.sh"

command -v nix >/dev/null || skip "nix is not installed (Debian: nix-bin)"
# The place of the mounts is of the machine; nobody else's directory there is touched.
[ -d /nix ] || { mkdir /nix && _at_exit+=("rmdir --ignore-fail-on-non-empty /nix"); }
store file
new_node() {
    node "$1"
    mkdir -p "$WORK/$1/nix" "$WORK/$1/etc" "$WORK/$1/work"
    on "$1" mount -t overlay -o "lowerdir=/etc,upperdir=$WORK/$1/etc,workdir=$WORK/$1/work" none /etc
    on "$1" mount --bind "$WORK/$1/nix" /nix
    on "$1" mkdir -p /etc/nix
    on "$1" sh -c 'printf "build-users-group =\nsandbox = false\nsubstituters =\n" >/etc/nix/nix.conf'
    on "$1" rm -rf /etc/base-flake
}
new_node a
mkdir "$WORK/project"
echo here >"$WORK/project/file"

# flake NODE EXPRESSION: its default package.
flake() {
    on "$1" mkdir -p /etc/base-flake
    cat >"$WORK/flake.nix" <<IN
{ outputs = { self }: { packages.$(uname -m)-linux.default = $2; }; }
IN
    on "$1" cp "$WORK/flake.nix" /etc/base-flake/flake.nix
}
# made SCRIPT: a derivation.
made() {
    printf 'derivation { name = "tools"; system = "%s-linux"; builder = "/bin/sh"; args = [ "-c" %s ]; }' "$(uname -m)" \
        "''export PATH=/bin:/usr/bin; $1''"
}
# tools WORD: git, which the host has, and a tool that it has not; both say WORD.
tools() {
    made "mkdir -p \$out/bin; printf '#!/bin/sh\\necho $1\\n' >\$out/bin/git; chmod +x \$out/bin/git; cp \$out/bin/git \$out/bin/only-here"
}
# doctor TEXT: of its line about nix, and of the one below it.
doctor() {
    on a ag-box doctor >"$WORK/doctor" 2>/dev/null || true
    grep -A 1 "^[a-z]* *nix " "$WORK/doctor" | grep -qF -- "$1" || fail "doctor does not say: $1: $(cat "$WORK/doctor")"
}
git_says() { # TEXT
    local got
    got=$(on a ag-box exec demo -- git --version 2>"$WORK/said") || fail "no git: $(cat "$WORK/said")"
    [[ "$got" == "$1"* ]] || fail "git says $got, expected $1"
}
status() {
    on a ag-box status --json demo >"$WORK/status"
    json_field "$WORK/status" "$1"
}
# The keeper's end is the box's; nothing else is.
stop_box() {
    local pid
    pid=$(status box_pid)
    on a kill "$pid"
    while [ -e "/proc/$pid" ]; do sleep 0.01; done
}
link="$WORK/node/a/state/box/demo/flake"

on a ag-box track demo "$WORK/project"
doctor "ok    nix      no box that is up here has nix=true"
on a ag-box set demo nix=true
doctor "next: contrib/install puts one there"

# --- what is not there

expect_exit 0 on a ag-box exec demo -- git --version
expect_output "git version"
expect_error "warning: demo has this node's own tools, not those of /etc/base-flake: there is no /etc/base-flake/flake.nix; contrib/install puts one there, or ag-box set demo nix=false"
[ "$(status nix) $(status tools)" = "true null" ] || fail "$(cat "$WORK/status")"
expect_exit 0 on a ag-box status demo
expect_output "tools of this node, although nix=true: ag-box doctor says why"
stop_box
flake a "$(tools one)"
on a mount --bind /dev/null "$(type -P nix)"
expect_exit 0 on a ag-box up demo --json
expect_output "nix is not on the PATH; apt-get install nix-setup-systemd"
git_says "git version"
doctor "warn  nix      box demo has nix=true: nix is not on the PATH"
on a umount "$(type -P nix)"
doctor "warn  nix      box demo has nix=true, and runs with this node's own tools"

# --- what is: the flake's come first, whatever starts them

stop_box
doctor "ok    nix      box demo will have its tools from /etc/base-flake"
expect_exit 0 on a ag-box exec demo -- git
expect_output one
expect_error "nix makes the tools of /etc/base-flake; the first time that may take minutes"
! grep -q warning "$WORK/error" || fail "a warning, though all is well"
git_says one
for shell in "sh -c" "bash -lc" "sh -lc" "bash -ic"; do
    expect_exit 0 on a ag-box exec demo -- $shell only-here
    expect_output one
done
expect_exit 0 on a ag-box exec demo -- sh -c 'mkfifo ~/said; tmux -S /run/box/demo/tmux.sock send-keys "git >~/said" Enter; timeout 20 cat ~/said'
expect_output one
made_of_one=$(status tools)
[[ $made_of_one == /nix/store/*-tools ]] || fail "tools: $made_of_one"
expect_exit 0 on a ag-box status demo
expect_output "tools from $made_of_one"
doctor "ok    nix      box demo has its tools from $made_of_one"
expect_exit 0 on a ag-box up demo
! grep -qE 'warning|nix' "$WORK/error" || fail "a box that runs asks nix"

# The setting and the flake count from the next start on.
flake a "$(tools two)"
git_says one
on a nix-store --gc 2>/dev/null
git_says one
on a ag-box snapshot demo
stop_box
on a ag-box up demo 2>"$WORK/error"
git_says two
expect_error "warning: demo has other tools ($(basename "$(status tools)")) than at its last snapshot (${made_of_one#/nix/store/});"
on a nix-store --gc 2>/dev/null
on a test ! -e "$made_of_one" || fail "the tools of an earlier start are not collected"
git_says two

# What a builder may ask of nix's environment is none of our secrets.
stop_box
flake a "$(made "echo \"[\$BOX_PASSWORD\$AWS_SECRET_ACCESS_KEY\$SOME_TOKEN][\$LANG][\$https_proxy]\" >$WORK/seen; exit 3" |
    sed 's/}$/outputHash = "sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="; outputHashMode = "flat"; impureEnvVars = [ "BOX_PASSWORD" "AWS_SECRET_ACCESS_KEY" "SOME_TOKEN" "LANG" "https_proxy" ]; }/')"
on a env BOX_PASSWORD="correct horse" AWS_SECRET_ACCESS_KEY=x SOME_TOKEN=y LANG=C.UTF-8 https_proxy=http://proxy ag-box up demo
expect_file "$WORK/seen" "[][C.UTF-8][http://proxy]"

# --- what cannot be made: the tools of the last start, here also after a reboot; else the node's

stop_box
flake a 'throw "no such tool"'
expect_exit 0 on a ag-box up demo
expect_error "warning: demo has the tools of its last start, not those of /etc/base-flake: nix says: no such tool; nix --extra"
git_says two
on a ag-box park demo
expect_missing "$link"
made_of_two=$(status tools)
[ "$made_of_two" = null ] || fail "a parked box has tools: $made_of_two"
on a nix-store --gc 2>/dev/null
[ -z "$(ls "$WORK/a/nix/store" | grep -- '-tools$')" ] || fail "the tools of a parked box are not collected"
expect_exit 0 on a ag-box up demo
expect_error "demo has this node's own tools, not those of /etc/base-flake: nix says: no such tool"
git_says "git version"
stop_box
flake a "$(made 'echo "it is hard" >&2; exit 3')"
expect_exit 0 on a ag-box up demo
grep -qE "nix says: .*(builder.* failed|Cannot build)" "$WORK/error" || fail "not nix's reason"
stop_box
flake a "$(made 'mkdir $out')"
expect_exit 0 on a ag-box up demo
expect_error "what nix makes of it has no bin/ in /nix/store/"
git_says "git version"

# Ctrl-C while nix works: the tree is up, the box is not started, and nothing of nix is left.
stop_box
flake a "$(made "echo >$WORK/building; exec sleep 600")"
cat >"$WORK/interrupted" <<'END'
ag-box up demo &
while [ ! -e "$WORK/building" ]; do sleep 0.01; done
kill -TERM $!
code=0
wait $! || code=$?
exit $code
END
expect_exit 130 on a bash "$WORK/interrupted"
expect_error "demo is up, but its box did not start: interrupted"
expect_state a demo mounted
[ "$(status box)" = stopped ] || fail "the box is $(status box)"
! pgrep -f "sleep 600" || fail "nix goes on"

# It takes too long: the box starts without.
if on a ag-box debug crash-points >/dev/null 2>&1; then
    expect_exit 0 on a env AGBOX_TEST_NIX_MS=1000 ag-box up demo
    expect_error "nix was not done after 10 minutes; nix --extra"
    git_says "git version"
    ! pgrep -f "sleep 600" || fail "nix goes on"
fi
on a ag-box park demo

# --- switched off again; and all of it from the first start, on another node: the same flake makes the same tools

flake a "$(tools one)"
on a ag-box up demo
git_says one
on a ag-box set demo nix=false
git_says one
stop_box
on a ag-box up demo
git_says "git version"
expect_missing "$link"
on a ag-box set demo nix=true
stop_box
on a ag-box up demo
[ "$(status tools)" = "$made_of_one" ] || fail "other tools of the same flake"
reboot a
on a mount -t overlay -o "lowerdir=/etc,upperdir=$WORK/a/etc,workdir=$WORK/a/work" none /etc
on a mount --bind "$WORK/a/nix" /nix
flake a 'throw "no network"'
expect_exit 0 on a ag-box up demo
expect_error "demo has the tools of its last start, not those of /etc/base-flake: nix says: no network"
git_says one
on a ag-box exec demo -- sh -c 'echo more >>file' # other tools alone are no reason for a snapshot
on a ag-box park demo
new_node b
flake b "$(tools one)"
expect_exit 0 on b ag-box up demo
! grep -q warning "$WORK/error" || fail "a warning, though the tools are the same"
expect_exit 0 on b ag-box exec demo -- only-here
expect_output one
expect_exit 0 on b ag-box status --json demo
[ "$(json_field "$WORK/output" tools)" = "$made_of_one" ] || fail "other tools on another node"
on b ag-box park demo
flake a "$(tools two)"
expect_exit 0 on a ag-box up demo
expect_error "than at its last snapshot (${made_of_one#/nix/store/}); flake.nix and flake.lock"
on a ag-box park demo

# --- ours: an environment of tools that are there; nixpkgs is a stand-in, which has a tool of each name that is asked for

mkdir "$WORK/nixpkgs"
names=$(sed -n '/with pkgs/,/];/s/^ *\([a-z0-9_]*\)$/\1/p' "$TESTS/../contrib/base-flake/flake.nix")
[ "$(wc -w <<<"$names")" -ge 5 ] || fail "which tools? $names"
cat >"$WORK/nixpkgs/flake.nix" <<END
{
  outputs = { self }: let
    run = more: derivation (more // { system = "$(uname -m)-linux"; builder = "/bin/sh"; });
    tool = name: run { inherit name; args = [ "-c" "export PATH=/bin:/usr/bin; mkdir -p \$out/bin; echo >\$out/bin/\${name}" ]; };
  in {
    lib.genAttrs = names: f: builtins.listToAttrs (map (name: { inherit name; value = f name; }) names);
    legacyPackages.$(uname -m)-linux = {
      buildEnv = { name, paths, pathsToLink }: run {
        inherit name paths;
        args = [ "-c" "export PATH=/bin:/usr/bin; mkdir -p \$out/bin; for p in \$paths; do cp \$p/bin/* \$out/bin; done" ];
      };
$(for name in $names; do echo "      $name = tool \"$name\";"; done)
    };
  };
}
END
branch=$(sed -n 's|.*"nixpkgs/\(.*\)";|\1|p' "$TESTS/../contrib/base-flake/flake.nix")
cat >"$WORK/registry.json" <<END
{ "version": 2, "flakes": [ { "from": { "type": "indirect", "id": "nixpkgs", "ref": "$branch" },
                              "to": { "type": "path", "path": "$WORK/nixpkgs" } } ] }
END
# Newer ones take this setting only where flakes are enabled, too.
on a sh -c "printf '%s\n' 'experimental-features = nix-command flakes' 'flake-registry = $WORK/registry.json' >>/etc/nix/nix.conf"
for name in a b; do on "$name" cp "$TESTS/../contrib/base-flake/flake.nix" /etc/base-flake/; done
on a ag-box up demo
expect_exit 0 on a ag-box exec demo -- sh -c "cd ${made_of_one%/*}/*-ag-box-tools/bin && ls $(echo $names)"
ours=$(status tools)
[[ $ours == /nix/store/*-ag-box-tools ]] || fail "tools: $ours"
on a ag-box exec demo -- sh -c 'echo more >>file'
on a ag-box park demo
# The lock that the first start has made brings the same tools to a node that knows no nixpkgs.
on a cp /etc/base-flake/flake.lock "$WORK/"
on b cp "$WORK/flake.lock" /etc/base-flake/
expect_exit 0 on b ag-box up demo
! grep -q warning "$WORK/error" || fail "other tools, although the lock is the same"
on b ag-box status --json demo >"$WORK/status"
[ "$(json_field "$WORK/status" tools)" = "$ours" ] || fail "other tools: $(cat "$WORK/status")"
on b ag-box park demo
for name in a b; do on "$name" umount -l /nix; on "$name" umount -l /etc; done
