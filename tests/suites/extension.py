#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What is said to be one line to add is one line: a toy is added to a copy of the tree, which is built and
asked where the toy can be seen."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "hostile"))
import extension_cluster  # noqa: E402
import extension_model  # noqa: E402
import extension_path  # noqa: E402
import extension_analyzer  # noqa: E402
from forge import START_NS, Recording  # noqa: E402

SOURCES = ("bpf", "lib", "tools", "injectors", "docs", "tests/suites", "tests/unit")
BUILT = ("build/bpf", "build/lib", "build/tools", "build/injectors")  # what the toy does not touch is not compiled again
# Further from the other kinds than a word of 64 bits reaches, and in a group that there was not.
TOY = 300
ADDED = {
    "bpf/event_kinds.def": f'EVENT_KIND(TOY_RING, {TOY}, "toy_ring", "toy", COUNTED, "toy rang", "a toy; value: how loud")\n',
}
passed = failed = 0


def check(name, good, seen=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"{'ok' if good else 'not ok'} - {name}")
    if not good:
        print("    " + str(seen).strip().replace("\n", "\n    "))


def run(tree, *words):
    result = subprocess.run(words, cwd=tree, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return result.returncode, result.stdout, result.stderr


def copy_to(tree):
    """With the times of all files: make builds only what comes of those that are changed here."""
    for folder in (*SOURCES, *BUILT):
        shutil.copytree(ROOT / folder, tree / folder, symlinks=True)
    shutil.copy2(ROOT / "Makefile", tree)
    for path, line in ADDED.items():
        with open(tree / path, "a", encoding="utf-8") as file:
            file.write(line)
    extension_path.add_to(tree)
    extension_analyzer.add_to(tree)
    extension_model.add_to(tree)
    extension_cluster.add_to(tree)


def build(tree):
    # What is built here runs for a second: it need not be fast.
    status, _, complaint = run(tree, "env", "CFLAGS=-O0", "make", f"-j{os.cpu_count()}", "./faultline",
                             "./faultline-inject")
    check("the copy with the toy builds", status == 0, complaint[-2000:])
    return status == 0


def see_in_unit_tests(tree):
    """Those that go over the registries take the toy as it is: none of them has a list of its own to add it to."""
    tests = [f"build/tests/unit/test_{name}" for name in ("watched", "silent", "probe_table")]
    # None of them uses the programs, and of the files that unit tests share only this one.
    status, _, said = run(tree, "env", "CFLAGS=-O0", "make", f"-j{os.cpu_count()}", *tests,
                          extension_analyzer.COLUMNS_TEST, "TOOL_SRC=", "EMU_SRC=", "HELP_SRC=tests/unit/scratch.c")
    check("unit tests build with the toy", status == 0, said[-2000:])
    for test in tests:
        status, out, said = run(tree, test)
        check(f"{os.path.basename(test)} passes with the toy", status == 0, (out + said)[-2000:])


def make_recording(path):
    """Three toys one by one, five more counted by a frame."""
    r = Recording(preamble=False).host(kinds="toy").clock().device(1)
    r.events([dict(time=START_NS + i, kind=TOY, device=1, value=i) for i in range(3)])
    window = START_NS // 10**9 + 1
    r.aggregate(window, rows=[dict(window=window, device=1, kind=TOY, queue=0xffff, count=5)])
    r.end().write(path)


def rows(tree, table):
    return run(tree, "./faultline", "report", "toy.flt", "--csv=-", "--table", table)[1].split("\n")


def see_in_options(tree):
    _, _, said = run(tree, "./faultline", "record", "--kind", "none", "-o", "refused.flt")
    accepted = said.partition("accepted: ")[2].split("\n")[0].split(", ")
    check("record --kind offers the kind", "toy_ring" in accepted, said)
    check("record --kind offers its group", "toy" in accepted, said)


def see_in_capture(tree):
    """Programs load with filters of the new size, and what was asked for is in the recording."""
    status, _, said = run(tree, "./faultline", "record", "-q", "--kind", "toy_ring,cpu_fault", "--duration", "300ms",
                          "-o", "live.flt")
    check("record takes the kind", status == 0, said)
    _, probes, _ = run(tree, "./faultline", "report", "live.flt", "--csv=-", "--table", "probes")
    check("programs are attached with it", "\npage_fault_user,on," in probes, probes)
    _, report, said = run(tree, "./faultline", "report", "live.flt", "--json")
    check("the recording says that it was asked for, by its group", '"asked_kinds":"cpu_fault, toy"' in
          report.replace('": "', '":"'), report[:2000] + said)


def see_in_reports(tree):
    make_recording(tree / "toy.flt")
    check("its events are in report --csv", f"toy rang,{TOY},3" in rows(tree, "events"), rows(tree, "events"))
    counts = [row.split(",") for row in rows(tree, "counts") if row.startswith("toy rang,")]
    check("in its counts they are beside those of frames", [row[4] for row in counts] == ["8"], counts)


def see_in_docs(tree):
    _, _, said = run(tree, "python3", "tests/suites/kinds.py")
    check("docs without it are refused", "docs/events.md" in said, said)
    run(tree, "python3", "tests/suites/kinds.py", "--write")
    status, _, said = run(tree, "python3", "tests/suites/kinds.py")
    page = (tree / "docs/events.md").read_text(encoding="utf-8")
    check("docs are made of the same line", status == 0 and
          f"\n| {TOY} | `toy_ring` | toy | counted | toy rang | a toy; value: how loud |\n" in page, said)


def main():
    with tempfile.TemporaryDirectory(prefix="extension.") as folder:
        tree = pathlib.Path(folder)
        copy_to(tree)
        see_in_docs(tree)
        if build(tree):
            see_in_options(tree)
            see_in_capture(tree)
            see_in_reports(tree)
            extension_model.see_in_jobs(tree, run, check)
            extension_cluster.see_in_jobs(tree, run, check)
            extension_path.see_in_doctor(tree, run, check)
            extension_path.see_in_capture(tree, run, check)
            extension_analyzer.see_in_reports(tree, run, check)
            see_in_unit_tests(tree)
            extension_analyzer.see_in_docs(tree, run, check)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
