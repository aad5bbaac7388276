#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds the code to its own rule: 90% of files under 400 lines, functions under 50, none over 100.

A function is a column-0 brace pair whose opening line follows a line that ends in ')'.
"""
import sys


def functions(lines):
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{") and number > 1:
            start = number
        elif line.startswith("}") and start is not None:
            yield start, number - start - 1
            start = None


def main(paths):
    sizes, long_functions, count, over = [], [], 0, []
    for path in paths:
        with open(path) as file:
            lines = file.read().split("\n")
        sizes.append((len(lines) - 1, path))
        for start, length in functions(lines):
            count += 1
            if length > 50:
                over.append((length, path, start))
            if length > 100:
                long_functions.append((length, path, start))
    sizes.sort()
    big = [s for s in sizes if s[0] >= 400]
    share = 1 - len(big) / max(1, len(sizes))
    print(f"{len(sizes)} files, {share:.0%} under 400 lines, largest {sizes[-1]}")
    print(f"{count} functions, {len(over)} over 50 lines, {len(long_functions)} over 100")
    for length, path, start in long_functions:
        print(f"{path}:{start}: function of {length} lines")
    if len(over) > count // 10:
        for length, path, start in sorted(over, reverse=True)[:10]:
            print(f"{path}:{start}: {length} lines")
    return 1 if share < 0.9 or long_functions or len(over) > count // 10 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
