#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""make-project.py DIR [--secret] - makes DIR, with one of everything that a tree may hold; .auth-secret, which pins a box
to its node, only with --secret. The same in every run."""
import os
import socket
import stat
import struct
import sys

BEGIN = 1_700_000_000 * 10 ** 9  # the times are fixed, so that two of these trees have one digest


def write(path, data, mode=0o644):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(fd, "wb") as f:
        f.write(data)
    os.chmod(path, mode)


def noise(length, seed):
    """Bytes that do not compress, without a random source."""
    out, x = bytearray(), seed
    while len(out) < length:
        x = (x * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        out += struct.pack("<Q", x ^ x >> 29)
    return bytes(out[:length])


def acl(*entries):
    """A POSIX ACL as the kernel stores it: version 2, then (tag, permissions, id)."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)


NOBODY = 0xffffffff
ACCESS = acl((1, 6, NOBODY), (2, 4, 1234), (4, 4, NOBODY), (16, 6, NOBODY), (32, 0, NOBODY))
DEFAULT = acl((1, 7, NOBODY), (4, 5, NOBODY), (8, 7, 4321), (16, 7, NOBODY), (32, 5, NOBODY))


def sources():
    os.makedirs("src/lib")
    for i in range(40):
        write("src/lib/module-%02d.c" % i, b"".join(b"int value_%d_%d(void);\n" % (i, j) for j in range(i * 3)))
    write("file", b"content\n")
    write("src/empty", b"")
    write("src/run", b"#!/bin/sh\necho run\n", 0o755)
    write("README.md", b"# A project\n")
    os.makedirs("src-before-slash")  # between "src" and "src/…" in the order of whole paths
    write("src-before-slash/x", b"order\n")
    os.mkdir("empty-directory", 0o711)
    write("big", noise(2 * 2 ** 20 + 77, 1))
    with open("sparse", "wb") as f:
        f.seek(3 * 2 ** 20)
        f.write(b"in the middle")
        f.truncate(4 * 2 ** 20)
    with open("all-hole", "wb") as f:
        f.truncate(2 ** 20 + 1)


def names():
    os.mkdir(b"names")
    for raw in (b"caf\xc3\xa9", b"latin-\xe9", b"\xff\xfe", b"new\nline", b"tab\tq\"uote", b"back\\slash", b" lead trail ",
                b"-dash", b"*?[x]", b"\x01\x7f", b"#hash", b"n" * 255, b"\xf0\x9f\x98\x80" * 63):
        write(b"names/" + raw, raw)
    deep = "deep"
    for i in range(30):
        deep += "/level-%02d-with-a-long-name-for-its-age" % i
    os.makedirs(deep)
    write(deep + "/bottom", b"down here\n")


def links():
    os.mkdir("links")
    write("links/one", b"three names\n")
    os.link("links/one", "links/two")
    os.link("links/one", "src/three")
    os.symlink("../file", "links/to-file")
    os.symlink("/nowhere/at all", "links/dangling")
    os.symlink(b"bytes-\xff", "links/not-utf8")
    os.symlink("t" * 1000, "links/long")
    os.symlink("../src", "links/to-directory")


def special():
    os.mkdir("special")
    os.mkfifo("special/fifo", 0o640)
    os.link("special/fifo", "special/fifo-too")
    try:
        os.mknod("special/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pass  # a container may forbid it; the rest still tells
    s = socket.socket(socket.AF_UNIX)
    s.bind("special/socket")
    s.close()
    if SECRET:
        write(".auth-secret", b"token\n", 0o600)
        write("src/.auth-secret", b"another\n", 0o600)
        os.link("src/.auth-secret", "src/alias-of-secret")


def attributes():
    os.setxattr("file", "user.note", b"a\0b\xff")
    os.setxattr("file", "user.empty", b"")
    os.setxattr("src", "user.on-directory", b"x" * 300)
    os.setxattr("README.md", "trusted.note", b"root only")
    os.setxattr("links/to-file", "trusted.on-link", b"1", follow_symlinks=False)
    os.setxattr("src/run", "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0))
    os.setxattr("README.md", "system.posix_acl_access", ACCESS)
    os.setxattr("src/lib", "system.posix_acl_default", DEFAULT)
    for path, uid, gid, mode in (("src/empty", 1000, 1000, 0o600), ("empty-directory", 12345, 54321, 0o2770),
                                 ("links/one", 0, 33, 0o4755), ("names", 0, 0, 0o1777)):
        os.chown(path, uid, gid)
        os.chmod(path, mode)
    os.chown("links/dangling", 77, 88, follow_symlinks=False)


def times():
    for at, directories, files in os.walk(b".", topdown=False):
        for name in sorted(directories) + sorted(files):
            path = os.path.join(at, name)
            if os.path.isdir(path) and not os.path.islink(path):
                continue
            stamp = BEGIN + sum(path) * 10 ** 9 + len(path) * 1_000_003
            os.utime(path, ns=(stamp, stamp), follow_symlinks=False)
        stamp = BEGIN + 86400 * 10 ** 9 + sum(at) * 1_000_000_007
        os.utime(at, ns=(stamp, stamp))
    os.utime("links/one", ns=(BEGIN, BEGIN))
    os.utime("special/fifo", ns=(BEGIN, BEGIN))
    if SECRET:
        os.utime("src/.auth-secret", ns=(BEGIN, BEGIN))
    os.utime("src/empty", ns=(-86400 * 10 ** 9 + 5, -86400 * 10 ** 9 + 5))  # before 1970


if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--secret"]):
    sys.exit(__doc__)
SECRET = len(sys.argv) == 3
os.umask(0o022)
os.makedirs(sys.argv[1], exist_ok=True)
os.chdir(sys.argv[1])
for part in (sources, names, links, special, attributes, times):
    part()
