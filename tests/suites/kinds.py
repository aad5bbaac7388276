#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds docs/events.md to bpf/event_kinds.def: its table has a row for each kind. --write makes the table."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE, PAGE = ROOT / "bpf" / "event_kinds.def", ROOT / "docs" / "events.md"
ENTRY = re.compile(r'^EVENT_KIND\((\w+), (\d+), "(\w+)", "(\w*)", (SINGLE|COUNTED), "([^"]+)",((?:\s*"[^"]*")+)\)$', re.M)
TABLE = re.compile(r"(?<=<!-- kinds -->\n).*(?=<!-- end of kinds -->)", re.S)
HEAD = "| number | kind | group | | in reports | what it is; its fields |\n|---|---|---|---|---|---|\n"


def entries(text):
    """(number, name, group, counted, title, fields) of each; ValueError where the file is not understood."""
    found, last = [], 0
    for c_name, number, name, group, counting, title, fields in ENTRY.findall(text):
        if name != c_name.lower():
            raise ValueError(f"EVENT_{c_name} is called {name}")
        if int(number) <= last:
            raise ValueError(f"{name}: number {number} comes after {last}")
        last = int(number)
        found.append((last, name, group, counting == "COUNTED", title, "".join(re.findall(r'"([^"]*)"', fields))))
    if len(found) != len(re.findall(r"^EVENT_KIND\(", text, re.M)):
        raise ValueError("an entry has another form than the file's head says")
    return found


def table(kinds):
    def row(number, name, group, counted, title, fields):
        fields = fields.replace("*", r"\*").replace("|", r"\|")
        return f"| {number} | `{name}` | {group} | {'counted' if counted else ''} | {title} | {fields} |\n"
    return HEAD + "".join(row(*kind) for kind in kinds)


def main():
    try:
        wanted = table(entries(SOURCE.read_text()))
    except ValueError as error:
        sys.exit(f"bpf/event_kinds.def: {error}")
    page = PAGE.read_text()
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(TABLE.sub(lambda _: wanted, page))
    elif TABLE.search(page)[0] != wanted:
        sys.exit("docs/events.md: the table is not that of bpf/event_kinds.def: tests/suites/kinds.py --write")


if __name__ == "__main__":
    main()
