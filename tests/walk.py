#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""walk.py [--dump] [--exclude NAME]... DIR - the digest of a tree, worked out a second time.

Written from what a digest promises (interface and index/digest.h), not from its code: it collects everything, sorts it,
then hashes. It prints the same SHA-256 as `ag-box digest` (--dump: the text instead), so that the two can be held
against each other. --exclude takes plain names only (no pattern): an entry of that name is left out at any depth, with what lies below it.
"""
import hashlib
import os
import resource
import stat
import sys

SECRET = b".auth-secret"
KINDS = {
    stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink",
    stat.S_IFIFO: "fifo", stat.S_IFCHR: "character", stat.S_IFBLK: "block",
}


def escaped(raw):
    return "".join(chr(c) if 0x21 <= c <= 0x7e and c != 0x5c else "\\x%02x" % c for c in raw)


def content(name, at):
    total, sha = 0, hashlib.sha256()
    fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    with os.fdopen(fd, "rb") as f:
        while piece := f.read(1 << 18):
            total += len(piece)
            sha.update(piece)
    return "%d %s" % (total, sha.hexdigest())


def attributes(name, at):
    where = b"/proc/self/fd/%d/%s" % (at, name)
    try:
        names = [os.fsencode(n) for n in os.listxattr(where, follow_symlinks=False)]
    except OSError as e:
        if e.errno in (95,):
            return []
        raise
    return ["%s=%s" % (escaped(n), os.getxattr(where, n, follow_symlinks=False).hex())
            for n in sorted(names) if not n.startswith((b"trusted.overlay.", b"trusted.SGI_ACL_"))]


def describe(name, at, st):
    kind = KINDS[stat.S_IFMT(st.st_mode)]
    seconds, nanoseconds = divmod(st.st_mtime_ns, 10 ** 9)
    fields = [kind, "%04o" % stat.S_IMODE(st.st_mode), str(st.st_uid), str(st.st_gid),
              "%d.%09d" % (seconds, nanoseconds)]
    if kind == "file":
        fields.append(content(name, at))
    elif kind == "symlink":
        fields.append(escaped(os.readlink(name, dir_fd=at)))
    elif kind in ("character", "block"):
        fields.append("%d:%d" % (os.major(st.st_rdev), os.minor(st.st_rdev)))
    return fields + attributes(name, at)


class Walk:
    def __init__(self):
        self.found = {}    # path -> (inode, fields or None), excluded ones and sockets not among them
        self.secrets = set()

    def visit(self, top, excluded):
        root = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
        self.found[b""] = (None, describe(b".", root, os.fstat(root)))
        todo = [(root, b"", False)]
        while todo:
            at, prefix, hidden = todo.pop()
            for name in map(os.fsencode, os.listdir(at)):
                st = os.stat(name, dir_fd=at, follow_symlinks=False)
                inode = (st.st_dev, st.st_ino)
                if name == SECRET and not stat.S_ISDIR(st.st_mode):
                    self.secrets.add(inode)
                out = hidden or name == SECRET or name in excluded
                if stat.S_ISDIR(st.st_mode):
                    todo.append((os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at),
                                 prefix + name + b"/", out))
                    inode = None
                if not out and not stat.S_ISSOCK(st.st_mode):
                    self.found[prefix + name] = (inode, describe(name, at, st))
            os.close(at)

    def lines(self):
        first = {}
        for path in sorted(self.found):
            inode, fields = self.found[path]
            if inode in self.secrets:
                continue
            if inode in first:
                fields = ["link", escaped(first[inode])]
            elif inode:
                first[inode] = path
            yield " ".join([escaped(path or b".")] + fields) + "\n"


def main(arguments):
    dump, excluded = False, set()
    while arguments and arguments[0].startswith("--"):
        option = arguments.pop(0)
        if option == "--dump":
            dump = True
        elif option == "--exclude" and arguments:
            excluded.add(os.fsencode(arguments.pop(0)))
        else:
            sys.exit(__doc__)
    if len(arguments) != 1:
        sys.exit(__doc__)

    # A descriptor for every directory still to be read.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    walk, sha = Walk(), hashlib.sha256()
    walk.visit(os.fsencode(arguments[0]), excluded)
    for line in walk.lines():
        sha.update(line.encode())
        if dump:
            sys.stdout.write(line)
    if not dump:
        print(sha.hexdigest())


main(sys.argv[1:])
