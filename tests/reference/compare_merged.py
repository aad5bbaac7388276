#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Whether each host of a merged recording is what its own recording is, table by table.

    compare_merged.py FAULTLINE MERGED OBJECTIVES FILE...

FILEs are what was merged, in that order. Of each verb every table, its text and its JSON, with --host, is that of
the host's own file; without it, the rows of a host are those of its own file, behind a column `host`.
"""
import csv
import json
import os
import shutil
import subprocess
import sys

FAULTLINE, MERGED, OBJECTIVES, *FILES = sys.argv[1:]
passed = failed = 0


def run(*words):
    result = subprocess.run([FAULTLINE, *words], capture_output=True, check=False)
    return result.returncode, result.stdout, result.stderr


def tables(verb, options, recording, *host):
    shutil.rmtree("tables", ignore_errors=True)
    status, _, complaint = run(verb, recording, "--csv=tables", *options, *host)
    found = {}
    for name in sorted(os.listdir("tables")) if os.path.isdir("tables") else ():
        with open(os.path.join("tables", name), encoding="utf-8", errors="surrogateescape", newline="") as file:
            found[name] = file.read()
    return status, complaint, found


def rows(text):
    return list(csv.reader(text.splitlines(keepends=True)))


def of_host(table, host):
    """The rows of one host among those of all, without the column that says so."""
    head, *rest = rows(table)
    return None if head[0] != "host" else [head[1:]] + [row[1:] for row in rest if row[0] == host]


def differences(verb, options, host, path):
    own, other = tables(verb, options, path), tables(verb, options, MERGED, "--host", host)
    if own[:2] != other[:2]:
        yield f"ends with {other[:2]} instead of {own[:2]}"
    if own[2].keys() != other[2].keys() or not own[2]:
        yield f"tables {sorted(other[2])} instead of {sorted(own[2])}"
    for name, text in own[2].items():
        if text != other[2].get(name):
            yield name
    if run(verb, path, *options) != run(verb, MERGED, *options, "--host", host):
        yield "text"
    own, other = run(verb, path, "--json", *options), run(verb, MERGED, "--json", *options, "--host", host)
    if json.loads(own[1]) | {"recording": MERGED} != json.loads(other[1]):
        yield "JSON"


def among_all(verb, options, hosts):
    everything = tables(verb, options, MERGED)[2]
    for host, path in zip(hosts, FILES):
        for name, text in tables(verb, options, path)[2].items():
            if of_host(everything[name], host) != rows(text):
                yield f"{name} of {host}"


def check(name, wrong):
    global passed, failed
    wrong = list(wrong)
    passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{'not ok' if wrong else 'ok'} - {name}{': ' if wrong else ''}{', '.join(wrong)}")


def main():
    hosts = [row["host"] for row in json.loads(run("report", MERGED, "--json", "--table", "hosts")[1])["tables"]["hosts"]]
    verbs = (("report", ()), ("footprint", ()), ("timeline", ("--all",)), ("slo", ("-c", OBJECTIVES)),
             ("report", ("--raw-time",)))
    for verb, options in verbs:
        for host, path in zip(hosts, FILES):
            check(f"{verb} {' '.join(options)} --host {host}", differences(verb, options, host, path))
        check(f"{verb} {' '.join(options)} of all hosts", among_all(verb, options, hosts))
    for host, path in zip(hosts, FILES):
        window = ("--since", "+1s", "--until", "+2s")
        check(f"report of a second of {host}", differences("report", window, host, path))
    print(f"{passed} passed, {failed} failed")
    return failed or len(hosts) != len(FILES)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
