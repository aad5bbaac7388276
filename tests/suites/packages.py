#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Is all that the scripts call in tests/setup.sh? packages.py [SETUP] asks Debian whose each command is.

A command or Python module is good if its package is one that the folder's set names, one that those
depend on, or one that every Debian has (essential, required, apt) with make, git and ca-certificates.
A command that is not here is good if the set names a package as it is named. What this host happens to
have besides does not count. Guests have busybox and what scenarios name.
"""
import glob
import importlib.util
import os
import re
import shutil
import subprocess
import sys

import commands

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PATH = "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
ALWAYS = ("apt", "make", "git", "ca-certificates")
# Whose set of packages a file may count on: the first pattern that matches its path.
SETS = (("tests/setup.sh", "base"), ("tests/fresh", "fresh"), ("tests/lab/self-test.sh", "check"), ("tests/lab/", "lab"),
        ("tests/vm/", "lab"), ("dashboards/vm-demo.sh", "lab"),
        ("dashboards/", "demo"), ("bench/", "bench"), ("injectors/kmod/", "lab"), ("", "check"))
# Ours, and what is only tried: if it is not there nothing is missing.
OURS = {"faultline", "faultline-inject", "x"}


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


class Debian:
    """Packages that are installed here: what they depend on and which files are theirs."""

    def __init__(self):
        self.needs, self.provided, self.always, self.files = {}, {}, set(ALWAYS), {}
        for line in run("dpkg-query", "-W", "-f", "${Package}\t${Pre-Depends}, ${Depends}\t${Provides}\t${Essential}"
                        "\t${Priority}\n").splitlines():
            name, needs, provides, essential, priority = line.split("\t")
            self.needs[name] = re.findall(r"[^,]+", re.sub(r"\([^)]*\)|:\w+|\s", "", needs))
            for virtual in filter(None, re.sub(r"\([^)]*\)|\s", "", provides).split(",")):
                self.provided.setdefault(virtual, set()).add(name)
            if essential == "yes" or priority == "required":
                self.always.add(name)

    def closure(self, names):
        """These packages and all that comes with them."""
        found, left = set(), list(names)
        while left:
            name = left.pop()
            if name in found:
                continue
            found.add(name)
            for need in self.needs.get(name, ()):
                # Of alternatives the first that is here; apt takes the first that it can.
                one = next((a for a in need.split("|") if a in self.needs or a in self.provided), None)
                left += [one] if one in self.needs else self.provided.get(one, ())
        return found

    def owner(self, path):
        """The package that a file is from; /bin and /usr/bin are one, alternatives lead elsewhere."""
        if not self.files:
            # dpkg's own lists: it reads all of them for each file that it is asked for.
            for listing in sorted(glob.glob("/var/lib/dpkg/info/*.list")):
                package = os.path.basename(listing).removesuffix(".list").partition(":")[0]
                with open(listing, encoding="utf-8", errors="surrogateescape") as file:
                    for line in file:
                        self.files.setdefault(line.rstrip("\n"), package)
        spellings = [spelling for name in (path, os.path.realpath(path))
                     for spelling in (name, name.removeprefix("/usr"), "/usr" + name)]
        return next((self.files[spelling] for spelling in spellings if spelling in self.files), None)


def module_file(name):
    """The file of an importable module outside the standard library, None for one within."""
    if name in sys.stdlib_module_names or name in sys.builtin_module_names:
        return None
    spec = importlib.util.find_spec(name)
    return spec.origin if spec else ""


def guest_words(text):
    """What a scenario has in its guest, by its header."""
    words = []
    for key, value in re.findall(r"(?m)^# (programs|files|paths)(?: \S+)?: *(.*)$", text):
        words += [os.path.basename(word) for word in value.split()]
    return set(words)


def files():
    for path in run("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard").split():
        if path == "Makefile" or re.match(r"(tests|dashboards|bench|injectors/kmod)/", path):
            yield path


class Check:
    """Holds what every file calls against what may be counted on there."""

    def __init__(self, setup):
        self.debian, self.setup = Debian(), setup
        self.sets, self.owners, self.failed, self.passed = {}, {}, [], 0
        self.busybox = set(run("busybox", "--list").split())
        with open(os.path.join(ROOT, "tests/lab/image.py"), encoding="utf-8") as file:
            self.in_guests = set(re.findall(r'"(\w+)"', re.search(r"PROGRAMS = \((.*)\)", file.read())[1]))
        self.shared, self.texts, self.runners = {}, {}, {}

    def packages(self, path):
        name = next(name for prefix, name in SETS if path.startswith(prefix))
        if name not in self.sets:
            wanted = run("bash", self.setup, "list", name).split() if name != "base" else []
            if name != "base" and not wanted:
                sys.exit(f"not ok - {self.setup} has no set '{name}'")
            self.sets[name] = name, self.debian.closure([*wanted, *self.debian.always]), set(wanted)
        return self.sets[name]

    def judge(self, what, place, found):
        """what: a command or a module, found: its file, or nothing."""
        name, packages, wanted = self.packages(place)
        if found not in self.owners:
            self.owners[found] = self.debian.owner(found) if found else None
        package = self.owners[found]
        # What only benchmarks need is not here when the check runs: a package of that name will bring it.
        if package in packages or not package and what in wanted:
            self.passed += 1
        else:
            self.failed.append(f"{place}: {what}: " + (f"package {package} is not in the set '{name}' of tests/setup.sh" if package
                               else f"nothing that is installed here has it, and a package {what} is not in the set '{name}'"))

    def read(self, path):
        """What a file calls."""
        with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
            text = file.read()
        calls = commands.Calls()
        calls.runners.update(self.runners)
        guest = path.startswith(("tests/lab/guest/", "tests/lab/scenarios/", "tests/lab/self/"))
        if path == "Makefile":
            commands.makefile(text, path, calls)
        elif path.endswith(".py"):
            commands.python(text, path, calls)
        elif path.endswith(".sh") or re.match(r"#!/bin/(ba)?sh", text) or path == "tests/lab/guest/shellrc":
            commands.shell(text, path, calls)
        elif path.endswith(".c"):
            for line in re.findall(r'\b(?:system|popen)\("([^"]*)"', text):
                commands.shell(line, path, calls)
        else:
            return
        self.shared[path], self.texts[path] = calls, (text, guest)
        if path.endswith(("lib.sh", "words.sh")):
            self.runners.update(calls.runners)

    def file(self, path):
        calls, (text, guest) = self.shared[path], self.texts[path]
        for name, place in calls.imports.items():
            if not any(os.path.exists(os.path.join(ROOT, directory, name + ".py")) for directory in (
                    os.path.dirname(path), "tests", "tests/reference", "tests/hostile", "tests/lab", "bench")):
                origin = module_file(name)
                if origin is not None:
                    self.judge(f"Python's {name}", place, origin)
        for name, place in calls.commands.items():
            if name in OURS or name in self.functions(path) - calls.programs or os.path.exists(os.path.join(ROOT, "build/bench", name)):
                continue
            if guest and (name in self.busybox or name in self.in_guests or name in guest_words(text)):
                self.passed += 1
            else:
                self.judge(name, place, shutil.which(name, path=PATH) or "")
        if guest:
            for name in re.findall(r"(?m)^# programs(?: \S+)?: *(.*)$", text):
                for word in name.split():
                    self.judge(word, path, shutil.which(word, path=PATH) or "")
            for name in re.findall(r"(?m)^# paths(?: \S+)?: *(.*)$", text):
                for word in name.split():
                    self.judge(word, path, word)

    def functions(self, path):
        """Those of what it may source or be sourced by: files of its folder, and what suites and scenarios share."""
        shared = [p for p in self.shared if p.endswith(("lib.sh", "words.sh", "lab/host.sh", "guest/rxe.sh")) or os.path.dirname(p) == os.path.dirname(path)]
        return {"guest", "host", "workload"}.union(*(self.shared[p].functions for p in shared))


def main():
    check = Check(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "tests/setup.sh"))
    paths = sorted(files(), key=lambda path: not path.endswith(("lib.sh", "words.sh")))
    for path in paths:
        check.read(path)
    for path in check.shared:
        check.file(path)
    for line in check.failed:
        print(f"not ok - {line}")
    if not check.failed:
        print(f"ok - {check.passed} calls of {len(check.shared)} files are of packages in tests/setup.sh")
    print(f"{int(not check.failed)} passed, {len(check.failed)} failed, 0 skipped")
    return 1 if check.failed or check.passed < 300 else 0


if __name__ == "__main__":
    sys.exit(main())
