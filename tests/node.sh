#!/bin/bash
# SPDX-License-Identifier: MIT
# node.sh DIR - the process that keeps a node's mount namespace: gives it an identity of its own, says so, and waits.
set -e
[ -e /etc/machine-id ] && mount --bind "$1/machine-id" /etc/machine-id
mount --bind "$1/boot_id" /proc/sys/kernel/random/boot_id
echo >"$1/ready"
exec sleep infinity
