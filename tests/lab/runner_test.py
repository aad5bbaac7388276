#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What the runner makes of guests that fail, fail once or do not come up: told and counted, and none is forgotten."""
import contextlib
import io
import os
import sys
import tempfile

import image
import runner
import scenario

HERE = os.path.dirname(os.path.abspath(__file__))
results = {"passed": 0, "failed": 0}


class Scripted(runner.Runner):
    """Guests whose outcomes are written down: script[round] of each scenario's name, or 'down' or 'unbuilt'."""

    def __init__(self, directory, script):
        super().__init__(directory, runner.Report())
        self.script, self.ran = script, []

    def boot(self, boot, tree, release, number):
        self.ran.append(boot.name())
        words = {one.name: self.script[one.name][0] for one in boot.scenarios}
        for one in boot.scenarios:
            self.script[one.name] = self.script[one.name][1:]
        if "unbuilt" in words.values():
            raise image.Missing("no room")
        directory = tempfile.mkdtemp(dir=self.directory)
        if "down" in words.values():
            return [(boot, directory, 1.0, "it hangs", [])]
        self.write(directory, "boot", "up 1000\n")
        for name, word in words.items():
            os.mkdir(os.path.join(directory, name))
            self.write(directory, f"{name}/status", "exit 0\nseconds 1\n")
            self.write(directory, f"{name}/log", f"{word} - it holds\ncounted 1 0 0\n")
        # Not of a scenario: what the whole guest said.
        self.write(directory, "console", "BUG: at boot\n" if self.script.get("console") else "")
        return [(boot, directory, 1.0, None, list(boot.scenarios))]

    @staticmethod
    def write(directory, name, text):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write(text)


def run(script, boots, once=False, host=""):
    """(what was printed, guests that ran, counts) of guests, each a list of scenarios' names; host: their part there."""
    with tempfile.TemporaryDirectory() as directory:
        def one(name):
            path = os.path.join(directory, f"{name}.sh")
            Scripted.write(directory, f"{name}.sh", f"#\nguest() {{ :; }}\n{host}")
            return scenario.Scenario(path)
        guests = Scripted(directory, dict(script))
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            guests.run_all([(scenario.Boot("6.1", [one(name) for name in names]), ("", "")) for names in boots], 1, once)
        report = guests.report
        return said.getvalue(), guests.ran, (report.passed, report.failed, report.skipped, report.retried)


def equal(name, actual, expected):
    results["passed" if actual == expected else "failed"] += 1
    print(f"ok - {name}" if actual == expected else f"not ok - {name}: got {actual!r}, expected {expected!r}")


def failures(said):
    return [line[len("not ok - 6.1 "):].split(":")[0] for line in said.splitlines() if line.startswith("not ok")]


def main():
    # A scenario that ends well has two checks: its own, and that the kernel has no complaints; so has each guest one.
    said, ran, counts = run({"a": ["not ok", "ok"], "b": ["ok"]}, [["a", "b"]])
    equal("what fails once runs again, alone, and is counted", (len(ran), failures(said), counts), (2, [], (6, 0, 0, 1)))
    said, ran, counts = run({"a": ["not ok", "not ok"], "b": ["ok"]}, [["a", "b"]])
    equal("what fails twice has failed", (len(ran), failures(said), counts), (2, ["a"], (5, 1, 0, 1)))
    said, ran, counts = run({"a": ["not ok"], "b": ["ok"]}, [["a", "b"]], once=True)
    equal("without a second try at once", (len(ran), failures(said), counts), (1, ["a"], (4, 1, 0, 0)))

    names = [f"s{number}" for number in range(runner.AGAIN_MAX + 1)]
    said, ran, counts = run({name: ["not ok", "ok"] for name in names}, [names])
    equal("more than may run again is a failure", (len(ran), counts[1], counts[3]), (1, 1, len(names)))
    equal("which names them", all(f"6.1 {name}" in said.splitlines()[-1] for name in names), True)

    for word, why in (("down", "it hangs"), ("unbuilt", "no room")):
        said, ran, counts = run({name: [word, word] for name in "abc"}, [["a", "b", "c"]])
        equal(f"{word}: each scenario runs again, and fails", (len(ran), failures(said), counts[:2] + counts[3:]),
              (4, ["a", "b", "c"], (0, 3, 3)))
        equal(f"{word}: with the reason", said.count(why) >= 3, True)
        said, ran, counts = run({name: [word, "ok"] for name in "abc"}, [["a", "b", "c"]])
        equal(f"{word}, once: each runs again, and passes", (len(ran), failures(said), counts), (4, [], (9, 0, 0, 3)))

    said, ran, counts = run({"a": ["ok"], "console": ["BUG"]}, [["a"]])
    equal("what no scenario caused is said and counts at once", (len(ran), failures(said), counts[1]), (1, ["guest"], 1))

    said, ran, counts = run({"a": ["ok"]}, [["a"]], host="host() { ok it; }\n")
    equal("a part on the host counts", (failures(said), counts), ([], (4, 0, 0, 0)))
    for leaves in ("exit 0", "exit 3", "kill -KILL $$"):
        said, ran, counts = run({"a": ["ok"]}, [["a"]], once=True, host=f"host() {{ {leaves}; not_ok it; }}\n")
        equal(f"a part on the host that leaves before its checks ({leaves}) fails", (failures(said), counts[1]), (["a"], 1))
        equal("and why", said.count("its checks on the host run to their end: exit"), 1)
    for does, why in (("echo 'Traceback (most recent call last):' >&2; ok it", "run to their end: exit 0"),
                      ("ok it; false", "run to their end: exit 1"), (":", "something is checked on the host: nothing was")):
        said, ran, counts = run({"a": ["ok"]}, [["a"]], once=True, host=f"host() {{ {does}; }}\n")
        equal(f"one that does no more than '{does}' fails, and why", (failures(said), said.count(why)), (["a"], 1))

    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "a.sh")

        def runs(header):
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/bash\n{header}\nguest() {{ :; }}\n")
            try:
                one = scenario.Scenario(path)
            except scenario.Wrong as error:
                return str(error).split(": ", 1)[1]
            whole = [kernel for kernel in scenario.KERNELS if one.runs_on(kernel)]
            one.keep_sample()
            return whole, [kernel for kernel in scenario.KERNELS if one.runs_on(kernel)]

        equal("without a sample it is all", runs("# kernels: 6.12 new"), (["6.12", "new"], ["6.12", "new"]))
        equal("a sample is a part", runs("# kernels: 6.12 new\n# sample: new"), (["6.12", "new"], ["new"]))
        equal("or nothing", runs("# kernels: 6.12 new\n# sample: none"), (["6.12", "new"], []))
        equal("and of what it runs on", runs("# kernels: 6.12 new\n# sample: 6.1"), "sample: '6.1' is no kernel that it runs on")
    print(f"{results['passed']} passed, {results['failed']} failed, 0 skipped")
    return 1 if results["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
