#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds docs/trust.md to README's "What to trust", and it and docs/security.md to the tests that they name.

Every sentence of that section has a row and every row is a sentence of it, word by word; each row names
at least one test, and each test named is there: a check that an end-to-end suite or a scenario of the lab
prints, or a function that a unit test registers.
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FOLDERS = {"e2e": "e2e", "hostile": "hostile", "lab": "lab/scenarios"}
PEERS = ("perf record", "bpftrace", "fio")


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def words(text):
    return " ".join(text.split())


def sentences():
    """Of the section, without its bullets. A full stop ends one where a capital or a tick follows."""
    section = re.search(r"^## What to trust\n(.*?)^## ", read("README.md"), re.M | re.S)[1]
    found = []
    for bullet in re.findall(r"^\* (.*?)(?=^\* |\n\n)", section, re.M | re.S):
        found += re.split(r"(?<=\.) (?=[A-Z`])", words(bullet))
    return found


def rows():
    found = {}
    for line in read("docs", "trust.md").split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 2 and cells[0] != "README says":
            found[words(cells[0])] = tests_of(cells[1])
    return found


def tests_of(cell):
    return re.findall(r"`(?:(unit|e2e|hostile|lab)/([\w-]+)|(style)): ([^`]+)`", cell)


def security_rows():
    found = {}
    for line in read("docs", "security.md").split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 3 and cells[0] != "who":
            found[words(cells[1])] = tests_of(cells[2])
    return found


def missing_tests(kept):
    for sentence, tests in kept.items():
        if not tests:
            yield f"no test is named for: {sentence}"
        for kind, suite, style, name in tests:
            wrong = is_there(kind or style, suite, name)
            if wrong:
                yield f"{wrong}, which is to show: {sentence}"


def is_there(kind, suite, name):
    if kind == "unit":
        path = ("tests", "unit", f"test_{suite}.c")
        pattern = rf"(?:cmocka_unit_test\w*|TEST|CASE|IN_WORLD|with_\w+)\({re.escape(name)}\b"
    elif kind in FOLDERS:
        path = ("tests", FOLDERS[kind], f"{suite}.sh")
        pattern = r"^\s*(?:if |then |else )?(?:ok|equal|check|check_that|sees|adopt|compare)\b.*" + re.escape(name)
    else:
        path, pattern = ("tests", "suites", "promises.py"), re.escape(name)
    if not os.path.exists(os.path.join(ROOT, *path)):
        return f"there is no {os.path.join(*path)}"
    if not re.search(pattern, read(*path), re.M):
        return f"{os.path.join(*path)} has no check '{name}'"
    return None


def unkept():
    promised, kept = sentences(), rows()
    if len(promised) < 8:
        yield f"README promises only {len(promised)} sentences: the section was not understood"
    for sentence in promised:
        if sentence not in kept:
            yield f"docs/trust.md has no row for README's sentence: {sentence}"
    for sentence, tests in kept.items():
        if sentence not in promised:
            yield f"README does not say: {sentence}"
    yield from missing_tests(kept)
    if len(security_rows()) < 12:
        yield f"docs/security.md promises only {len(security_rows())} sentences: it was not understood"
    named = {suite for tests in security_rows().values() for kind, suite, _, _ in tests if kind == "hostile"}
    for theme in sorted(file[:-3] for file in os.listdir(os.path.join(ROOT, "tests", "hostile")) if file.endswith(".sh")):
        if theme not in named:
            yield f"docs/security.md names no test of tests/hostile/{theme}.sh"
    yield from missing_tests(security_rows())


def without_peers():
    """What it costs stands beside its peers: a figure of ours and one of theirs in a line."""
    figures = read("docs", "performance.md")
    bench = "".join(read("bench", name) for name in sorted(os.listdir(os.path.join(ROOT, "bench")))
                    if name.endswith(".py"))
    for peer in PEERS:
        if not re.search(rf"^ +\w+ +[\d.,]+ .*{peer}.* [\d.,]+", figures, re.M):
            yield f"docs/performance.md has no line with a figure of ours and one of {peer}"
        if peer.split()[0] not in bench:
            yield f"bench/ does not run {peer}"


def main():
    wrong = [*unkept(), *without_peers()]
    for line in wrong:
        print(line)
    return 1 if wrong else 0


sys.exit(main())
