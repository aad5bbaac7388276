# SPDX-License-Identifier: GPL-2.0
"""Boots guests, judges what came out of them, and repeats what a busy host may have disturbed."""
import concurrent.futures
import contextlib
import os
import re
import subprocess
import sys
import tarfile

import image
import machine
import scenario

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = image.ROOT
WATCHDOG = os.path.join(ROOT, "tests", "watchdog.py")
# What a healthy kernel never says. Both the console and dmesg are searched.
TROUBLE = re.compile(
    r"BUG[: ]|WARNING: |Oops|Kernel panic|general protection|unable to handle|Call Trace:|cut here"
    r"|detected stall|expedited stalls|kthread starved|soft lockup|hard LOCKUP|blocked for more than|INFO: task|hung_task"
    r"|possible (recursive|circular|irq lock)|lockdep|inconsistent lock|suspicious RCU|sleeping function"
    r"|scheduling while atomic|refcount_t|list_(add|del) corruption|UBSAN|KASAN|KFENCE|DEBUG_LOCKS"
    r"|Bad page|bad: scheduling|Out of memory|invoked oom-killer|segfault at|trap (invalid|divide)")
CHECKED = re.compile(r"^(ok|skip) - ", re.M)
COUNTED = re.compile(r"^counted (\d+) (\d+) (\d+)$", re.M)  # the last words of a scenario, in the guest and here
AGAIN_MAX = 8  # scenarios that may run a second time: more of them are no accident


class Report:
    """What the runs showed, counted; prints as it learns."""

    def __init__(self):
        self.passed = self.failed = self.skipped = self.retried = 0
        self.provisional = False  # what fails now runs once more

    def ok(self, name):
        self.passed += 1
        print(f"ok - {name}")

    def not_ok(self, name, why=""):
        self.failed += 1
        print(f"{'once not ok' if self.provisional else 'not ok'} - {name}" + (f": {why}" if why else ""))

    def retry(self, name, why):
        self.retried += 1
        print(f"retried - {name}: {why}")

    def counts(self):
        return self.passed, self.failed, self.skipped

    def take_back(self, counts):
        self.passed, self.failed, self.skipped = counts

    def skip(self, name, why):
        self.skipped += 1
        proof = subprocess.run([os.path.join(ROOT, "tests", "proofs.sh"), "lab", name], capture_output=True, text=True,
                               check=False)
        if proof.returncode:
            print(f"skip - {name}: {why}")
            self.not_ok(name, proof.stdout.strip())
        else:
            print(f"skip - {name}: {why} (tried again: {proof.stdout.strip()})")

    def line(self, where, line):
        """One line of a scenario's log, in the words of tests/e2e/lib.sh."""
        if line.startswith("ok - "):
            self.ok(f"{where}: {line[5:]}")
        elif line.startswith("not ok - "):
            self.not_ok(f"{where}: {line[9:]}")
        elif line.startswith("skip - "):
            name, _, why = line[7:].partition(": ")
            self.skip(f"{where}: {name}", why)
        elif line:
            print(f"    {line}")


def known_messages(extra):
    """Patterns of lines that look like trouble and are none, each with its reason above it."""
    patterns = list(extra)
    with open(os.path.join(HERE, "known-messages"), encoding="utf-8") as file:
        patterns += [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [re.compile(pattern) for pattern in patterns]


def trouble(lines, known):
    return [line for line in lines
            if TROUBLE.search(line) and not any(pattern.search(line) for pattern in known)]


def extract(directory):
    """Unpacks what came out of the guest; an archive that broke off gives what it has whole."""
    path = os.path.join(directory, "results.tar")
    try:
        with tarfile.open(path, ignore_zeros=True) as archive:
            archive.extractall(directory, filter="data") if hasattr(tarfile, "data_filter") else \
                archive.extractall(directory)
    except (tarfile.TarError, EOFError, FileNotFoundError):
        pass
    if os.path.exists(path):
        os.unlink(path)


def read(*path):
    try:
        with open(os.path.join(*path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


class Runner:
    """Runs boots, up to some at a time, and reports them in the order in which they end."""

    def __init__(self, directory, report):
        self.directory, self.report = directory, report
        self.first_round = False  # what fails now runs once more
        self.again = []  # (kernel, scenario) that failed in a guest shared with others, or on a busy host
        self.costs = []  # (kernel, CPU seconds by phase and part) of each guest
        self.number = 0

    def boot(self, boot, tree, release, number):
        """Runs one boot. A guest that dies takes one scenario with it; the rest get another."""
        remaining, outcomes, tries = list(boot.scenarios), [], 0
        while remaining:
            tries += 1
            part = scenario.Boot(boot.kernel, remaining)
            directory = os.path.join(self.directory, f"{boot.kernel}-{number}.{tries}")
            os.makedirs(directory)
            initramfs = os.path.join(directory, "initramfs")
            image.build(part, tree, release, initramfs)
            args = machine.command(part, image.kernel_file(tree), initramfs, directory, False)
            seconds, wrong, costs = machine.run(args, directory, part.cpu_limits())
            self.costs.append((boot.kernel, costs))
            os.unlink(initramfs)
            for disk in part.disks():
                os.unlink(os.path.join(directory, f"{disk}.disk"))
            extract(directory)
            finished = [s for s in part.scenarios if read(directory, s.name, "status")]
            outcomes.append((part, directory, seconds, wrong, finished))
            left = [s for s in part.scenarios if s not in finished]
            # The first that did not finish is the one the guest died in.
            if read(directory, "boot"):
                remaining = left[1:]
            else:
                # It did not come up: a second try, which is told, tells whether it ever does.
                remaining = left if tries == 1 else []
        return outcomes

    def tell(self, outcomes):
        for part, directory, seconds, wrong, finished in outcomes:
            up = re.search(r"^up (\d+)", read(directory, "boot"), re.M)
            print(f"# {part.kernel} {part.name()}: {seconds:.1f} s" +
                  (f", up after {int(up[1]) / 1000:.1f} s" if up else "") + f", {directory}")
            console = read(directory, "console")
            if not up and part is not outcomes[-1][0]:
                self.report.retry(f"{part.kernel} {part.name()}", f"it did not come up, {wrong or 'ended by itself'}")
                self.last_words(console)
                continue
            if not up:
                self.fail_all(part, "its guest comes up", wrong or "it ended by itself")
                self.tail("console", console)
                self.tail("qemu", read(directory, "qemu.log"))
                continue
            for one in part.scenarios:
                with self.judged(part.kernel, one) as where:
                    for line in read(directory, one.name, "log").splitlines():
                        self.report.line(where, line)
                    if one in finished:
                        self.finish(where, part, one, directory)
                    elif one is next(s for s in part.scenarios if s not in finished):
                        self.report.not_ok(f"{where}: ends", wrong or "the guest died in it")
                        self.last_words(console)
            # What a scenario's own dmesg has was told there.
            told = {line.strip() for s in finished for line in read(directory, s.name, "dmesg").splitlines()}
            rest = [line for line in (console + read(directory, "boot.dmesg")).splitlines()
                    if line.strip() not in told]
            self.complaints(f"{part.kernel} guest", trouble(rest, known_messages([])), directory)
            if wrong and len(finished) == len(part.scenarios):
                self.report.not_ok(f"{part.kernel} {part.name()}: the guest powers off", wrong)

    @contextlib.contextmanager
    def judged(self, kernel, one):
        """A scenario that fails in here in the first round counts by its second run, alone on a quiet host."""
        before, self.report.provisional = self.report.counts(), self.first_round
        yield f"{kernel} {one.name}"
        self.report.provisional = False
        failed = self.report.failed - before[1]
        if self.first_round and failed:
            self.report.take_back(before)
            self.again.append((kernel, one))
            self.report.retry(f"{kernel} {one.name}", f"{failed} checks once not ok, runs once more, alone")

    def fail_all(self, boot, what, why):
        """Each scenario of a guest that is not to be had."""
        for one in boot.scenarios:
            with self.judged(boot.kernel, one) as where:
                self.report.not_ok(f"{where}: {what}", why)

    def complaints(self, where, lines, directory):
        if not lines:
            self.report.ok(f"{where}: the kernel has no complaints")
            return
        self.report.not_ok(f"{where}: the kernel has no complaints", f"{len(lines)} lines, see {directory}")
        for line in lines[:10]:
            print(f"    | {line.strip()}")

    def last_words(self, console):
        """From where the kernel begins to complain, or else the end of what it said."""
        lines = console.strip().splitlines()
        first = next((i for i, line in enumerate(lines) if TROUBLE.search(line)), max(len(lines) - 12, 0))
        for line in lines[first:first + 25]:
            print(f"    console | {line.rstrip()}")

    def tail(self, name, text):
        for line in text.strip().splitlines()[-12:]:
            print(f"    {name} | {line.rstrip()}")

    def finish(self, where, part, one, directory):
        """What the guest's log alone does not say: how the scenario ended, and the part done here."""
        status = read(directory, one.name, "status")
        log = read(directory, one.name, "log")
        counted = COUNTED.search(log)
        if not counted and "not ok - " not in log:
            self.report.not_ok(f"{where}: runs to its end", status.split("\n")[0])
        elif counted and not int(counted[1]) + int(counted[3]):
            self.report.not_ok(f"{where}: checks something", "nothing was checked")
        known = known_messages(line.partition(" -- ")[0] for line in one.all("expected message", part.kernel))
        self.complaints(where, trouble(read(directory, one.name, "dmesg").splitlines(), known), directory)
        seconds = re.search(r"^seconds (\d+)", status, re.M)
        print(f"# {where}: {seconds[1] if seconds else '?'} s")
        if one.has_host or os.path.exists(os.path.join(directory, one.name, "recordings")):
            run = subprocess.run([WATCHDOG, "run", "--", "bash", os.path.join(HERE, "host.sh"), one.path, part.kernel],
                                 cwd=os.path.join(directory, one.name), stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True, errors="replace", check=False)
            for line in run.stdout.splitlines():
                self.report.line(where, line)
            # Whatever leaves before it has counted may do so before a check that fails.
            failures = "not ok - " in run.stdout
            if not failures and (not COUNTED.search(run.stdout) or run.returncode or "Traceback" in run.stderr):
                self.report.not_ok(f"{where}: its checks on the host run to their end", f"exit {run.returncode}")
            elif not failures and not CHECKED.search(run.stdout):
                self.report.not_ok(f"{where}: something is checked on the host", "nothing was")
            if run.returncode or "Traceback" in run.stderr:
                self.tail("host", run.stderr)

    def run(self, boots, jobs):
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            futures = {pool.submit(self.boot, boot, *tree, self.number + number): boot
                       for number, (boot, tree) in enumerate(boots)}
            self.number += len(boots)
            for future in concurrent.futures.as_completed(futures):
                boot = futures[future]
                try:
                    self.tell(future.result())
                except (image.Missing, scenario.Wrong, OSError) as error:
                    self.fail_all(boot, "its guest can be built", str(error))
                sys.stdout.flush()

    def run_all(self, boots, jobs, once):
        """Every boot, then alone what failed; `once` is without that."""
        self.first_round = not once
        self.run(boots, jobs)
        self.first_round = False
        trees = {boot.kernel: tree for boot, tree in boots}
        if len(self.again) > AGAIN_MAX:
            names = ", ".join(f"{kernel} {one.name}" for kernel, one in self.again)
            self.report.not_ok("scenarios", f"{len(self.again)} failed ({names}); at most {AGAIN_MAX} run once more")
        else:
            self.run([(scenario.Boot(kernel, [one]), trees[kernel]) for kernel, one in self.again], 1)


def tell_costs(guests):
    """CPU time of the emulators, the dearest first: by scenario and kernel, and what its parts took."""
    phases, parts = {}, {}
    for kernel, costs in guests:
        for phase, seconds in costs.items():
            row = phases.setdefault("between scenarios" if phase == "end" else phase, {})
            row[kernel] = row.get(kernel, 0.0) + sum(seconds.values())
            if phase not in ("boot", "end"):
                for part, cost in seconds.items():
                    parts[part] = parts.get(part, 0.0) + cost
    print(f"# {'CPU seconds':20}" + "".join(f"{kernel:>8}" for kernel in scenario.KERNELS) + f"{'all':>8}")
    for phase, row in sorted(phases.items(), key=lambda item: -sum(item[1].values())):
        print(f"# {phase:20}" + "".join(f"{row.get(kernel, 0.0):8.1f}" for kernel in scenario.KERNELS) +
              f"{sum(row.values()):8.1f}")
    print("# of the scenarios: " + ", ".join(f"{part} {cost:.1f}" for part, cost in
                                             sorted(parts.items(), key=lambda item: -item[1])))
