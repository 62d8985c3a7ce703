#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutate-project DIR SEED - changes a tree in every way a program can, the same way for the same seed and tree. Prints
what it does, for whoever looks for the step that went wrong. New names are given to
new files and to such that have several already: any other, with the kernel's cache half dropped, the overlay may show
under two inode numbers (README, "Known limits").
"""
import os
import random
import shutil
import stat
import sys


class Mutator:
    def __init__(self, root, seed):
        self.root = root.encode()
        self.random = random.Random(seed)
        self.count = 0

    def all(self, want):
        found = []
        for directory, names, files in os.walk(self.root):
            names.sort()
            for name in sorted(names) + sorted(files):
                path = os.path.join(directory, name)
                if want(os.lstat(path).st_mode):
                    found.append(path)
        return found

    def pick(self, want):
        found = self.all(want)
        chosen = self.random.choice(found) if found else None
        print("  ", chosen)
        return chosen

    def directory(self):
        return self.random.choice(self.all(stat.S_ISDIR) + [self.root])

    def new_name(self, directory):
        self.count += 1
        return os.path.join(directory, b"m%d-%d" % (self.random.randrange(10**6), self.count))

    def content(self):
        return self.random.randbytes(self.random.choice([0, 1, 100, 5000, 70000, 3000000]))

    def create(self):
        with open(self.new_name(self.directory()), "wb") as f:
            f.write(self.content())

    def overwrite(self):
        path = self.pick(stat.S_ISREG)
        if path:
            with open(path, "r+b") as f:
                f.seek(self.random.randrange(0, 200))
                f.write(b"overwritten %d" % self.random.randrange(1000))

    def truncate(self):
        path = self.pick(stat.S_ISREG)
        if path:
            os.truncate(path, self.random.randrange(0, 100000))

    def unlink(self):
        path = self.pick(lambda mode: not stat.S_ISDIR(mode))
        if path:
            os.unlink(path)

    def make_directory(self):
        os.mkdir(self.new_name(self.directory()), 0o751)

    def remove_directory(self):
        path = self.pick(stat.S_ISDIR)
        if path and self.random.random() < 0.3:
            shutil.rmtree(path)

    def rename(self):
        path = self.pick(lambda mode: True)
        if path:
            target = self.directory()
            if not (target + b"/").startswith(path + b"/"):
                os.rename(path, self.new_name(target))

    def rename_over(self):
        one, other = self.pick(stat.S_ISREG), self.pick(stat.S_ISREG)
        if one and other:
            os.rename(one, other)

    def recreate(self):
        path = self.pick(stat.S_ISDIR)
        if path:
            shutil.rmtree(path)
            os.mkdir(path)
            with open(self.new_name(path), "wb") as f:
                f.write(b"in a recreated directory")

    def replace_by_directory(self):
        path = self.pick(stat.S_ISREG)
        if path:
            os.unlink(path)
            os.mkdir(path)

    def change_mode(self):
        path = self.pick(lambda mode: not stat.S_ISLNK(mode))
        if path:
            os.chmod(path, self.random.choice([0o600, 0o644, 0o755, 0o4755, 0o2711, 0o1777]))

    def change_owner(self):
        path = self.pick(lambda mode: True)
        if path:
            os.chown(path, self.random.randrange(2000), self.random.randrange(2000), follow_symlinks=False)

    def change_time(self):
        path = self.pick(lambda mode: True)
        if path:
            when = self.random.randrange(10**9, 2 * 10**9) * 10**9 + self.random.randrange(10**9)
            os.utime(path, ns=(when, when), follow_symlinks=False)

    def attribute(self):
        path = self.pick(lambda mode: stat.S_ISREG(mode) or stat.S_ISDIR(mode))
        if path:
            os.setxattr(path, b"user.m%d" % self.random.randrange(3), self.random.randbytes(20))

    def link(self):
        path = self.pick(stat.S_ISREG)
        if not path or os.lstat(path).st_nlink == 1:
            path = self.new_name(self.directory())
            with open(path, "wb") as f:
                f.write(self.content())
        os.link(path, self.new_name(self.directory()))

    def symlink(self):
        os.symlink(self.random.choice([b"../gone", b"file", b"/etc/hostname"]), self.new_name(self.directory()))

    def fifo(self):
        os.mkfifo(self.new_name(self.directory()))

    def sparse(self):
        with open(self.new_name(self.directory()), "wb") as f:
            f.seek(5000000)
            f.write(b"behind a hole")
            f.truncate(9000000)

    def run(self, rounds):
        ways = [self.create, self.create, self.overwrite, self.overwrite, self.truncate, self.unlink,
                self.make_directory, self.remove_directory, self.rename, self.rename, self.rename_over, self.recreate,
                self.replace_by_directory, self.change_mode, self.change_owner, self.change_time, self.attribute,
                self.link, self.symlink, self.fifo, self.sparse]
        for _ in range(rounds):
            way = self.random.choice(ways)
            print(way.__name__)
            way()


Mutator(sys.argv[1], sys.argv[2]).run(60)
