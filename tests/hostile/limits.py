#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Holds the figures of docs/limits.md to the source, and the bounds of the source to the page.

Prints what is wrong, a line each, and at the end how many figures were compared."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
ROW = re.compile(r"^\| .* \| ([\d,]+) ?(|KiB|MiB|GiB) \| `(\w+)` of (\S+) \| (.+) \|$")
DEFINE = re.compile(r"^#define (\w+)\s+([^/\n]+)", re.M)
BOUND = re.compile(r"(_MAX|_MOST|_KEPT|_AT_MOST)$")
WHERE = ("bpf", "lib/analyze", "lib/base", "lib/capture", "lib/trace", "injectors/emu/hyv", "injectors/emu/verbs",
         "injectors/emu/verbs_load", "injectors/guest", "injectors/guest/library")
# Bounds of a single value, of a name or of what a format can say, which nothing grows up to.
OF_FORM = {"MAPPING_CLASS_MAX", "FRCD_MOST", "TRACE_FIELDS_MAX", "TRACE_STORED_MAX", "ACCESS_LATENCY_MAX", "FILE_NAME_MAX",
           "LOOKS_MAX", "TAKEN_MAX", "TYPES_MAX", "FUNCTION_MAX", "LAST_MAX", "PORTS_MAX", "BUILD_ID_MAX", "LATE_MAX",
           "UNITS_DURATION_MOST", "CAPTURE_PATTERN_MOST", "BURST_FAULTS_MAX", "STAGE_BAR_MAX", "INTERVAL_MAX", "PRINTABLE_MOST",
           "POLL_MOST"}


def value(expression):
    """Of a C constant."""
    return eval(re.sub(r"(?<=[\da-f])[ul]+\b", "", expression.strip(), flags=re.I), {"__builtins__": {}})  # pylint: disable=eval-used


def main():
    wrong, told, compared = [], set(), 0
    for number, line in enumerate((ROOT / "docs/limits.md").read_text().split("\n"), 1):
        if not line.startswith("|") or re.match(r"^\|(-|\s*what )", line):
            continue
        row = ROW.match(line)
        if not row:
            wrong.append(f"docs/limits.md:{number}: no row of what, bound, source and when reached")
            continue
        figure, unit, name, file, _ = row.groups()
        source = dict(DEFINE.findall((ROOT / file).read_text())) if (ROOT / file).exists() else {}
        told.add((file, name))
        compared += 1
        if name not in source:
            wrong.append(f"docs/limits.md:{number}: there is no {name} in {file}")
        elif value(source[name]) != int(figure.replace(",", "")) * UNITS[unit]:
            wrong.append(f"docs/limits.md:{number}: {name} is {value(source[name])}, not {figure} {unit}")
    for folder in WHERE:
        for path in sorted((ROOT / folder).glob("*.[ch]")):
            for name, expression in DEFINE.findall(path.read_text()):
                file = str(path.relative_to(ROOT))
                if BOUND.search(name) and name not in OF_FORM and (file, name) not in told and re.match(r"^[(\dux <)]+$", expression.strip()):
                    wrong.append(f"{file}: {name} is not in docs/limits.md")
    print("\n".join([*wrong, f"{compared} figures"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
