# SPDX-License-Identifier: GPL-2.0
"""How a comparison says what held: a line each, and the plain closing line."""
import csv

passed = failed = 0


def result(name, problems):
    """Held if there are no problems, of which the first are printed."""
    global passed, failed
    passed, failed = passed + (not problems), failed + bool(problems)
    print(f"not ok - {name}: {len(problems)} problems" if problems else f"ok - {name}")
    for problem in problems[:8]:
        print(f"    {problem}")


def closing():
    """The exit status."""
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


def table(directory, name):
    """A table that `faultline report --csv=DIRECTORY` wrote: a dictionary a row."""
    with open(f"{directory}/{name}.csv", newline="") as file:
        return list(csv.DictReader(file))
