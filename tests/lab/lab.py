#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Runs scenarios in guest kernels and tells what held: lab.py run|shell|list [OPTION...]."""
import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

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


def kernel_tree(kernel):
    """(tree, release) of a guest kernel, fetched if need be."""
    run = subprocess.run([os.path.join(HERE, "kernels.sh"), "image", kernel], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode == 75:
        raise image.Unavailable(image.last_words(run))
    if run.returncode:
        raise image.Missing(f"kernel {kernel} cannot be had: {image.last_words(run)}")
    sys.stderr.write(run.stderr)
    tree = run.stdout.strip()
    return tree, os.listdir(os.path.join(tree, "lib", "modules"))[0]


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
            args = machine.command(part, os.path.join(tree, "vmlinuz"), initramfs, directory, False)
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
                before = self.report.counts()
                self.report.not_ok(f"{part.kernel}: the guest comes up", wrong or "it ended by itself")
                self.tail("console", console)
                self.tail("qemu", read(directory, "qemu.log"))
                for one in part.scenarios:
                    self.judge(part.kernel, one, before)
                continue
            for one in part.scenarios:
                where = f"{part.kernel} {one.name}"
                before = self.report.counts()
                for line in read(directory, one.name, "log").splitlines():
                    self.report.line(where, line)
                if one in finished:
                    self.finish(where, part, one, directory)
                elif one is next(s for s in part.scenarios if s not in finished):
                    self.report.not_ok(f"{where}: ends", wrong or "the guest died in it")
                    self.last_words(console)
                self.judge(part.kernel, one, before)
            # What a scenario's own dmesg has was told there.
            told = {line.strip() for s in finished for line in read(directory, s.name, "dmesg").splitlines()}
            rest = [line for line in (console + read(directory, "boot.dmesg")).splitlines()
                    if line.strip() not in told]
            self.complaints(f"{part.kernel} guest", trouble(rest, known_messages([])), directory)
            if wrong and len(finished) == len(part.scenarios):
                self.report.not_ok(f"{part.kernel} {part.name()}: the guest powers off", wrong)

    def judge(self, kernel, one, before):
        """A scenario that failed in the first round counts by its second run, alone on a quiet host."""
        if self.report.provisional and self.report.failed > before[1]:
            failed = self.report.failed - before[1]
            self.report.take_back(before)
            self.again.append((kernel, one))
            self.report.retry(f"{kernel} {one.name}", f"{failed} checks once not ok, runs once more, alone")

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
        counted = re.search(r"^counted (\d+) (\d+) (\d+)$", log, re.M)
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
            if run.returncode:
                if "not ok - " not in run.stdout:
                    self.report.not_ok(f"{where}: its part on the host ends well", f"exit {run.returncode}")
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
                    self.report.not_ok(f"{boot.kernel} {boot.name()}: the guest can be built", str(error))
                sys.stdout.flush()


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


def build_files(scenarios, kernels):
    """Has make build both programs, and what scenarios take from the build directory: {path: error} of what fails."""
    wanted = {path for one in scenarios for kernel in kernels for path in one.list("files", kernel)
              if path.startswith("build/")}
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS")}

    def make(*targets):
        run = subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "-C", ROOT, *targets], capture_output=True,
                             text=True, check=False, env=environment)
        return run.returncode and run.stderr.strip()[-800:]

    error = make("all") if not os.environ.get("FAULTLINE") else None
    if error:
        raise image.Missing(f"make all: {error}")
    if not wanted or not make(*sorted(wanted)):
        return {}
    # One that does not build is no reason to go without the others.
    return {path: f"make {path}: {error}" for path in sorted(wanted) if (error := make(path))}


def startable(scenarios, kernel, broken, report):
    """Those for which this host has every program and file; the others have failed."""
    good = []
    for one in (one for one in scenarios if one.runs_on(kernel)):
        wrong = next((broken[path] for path in one.list("files", kernel) if path in broken), None) or \
            image.missing(one, kernel)
        if wrong:
            report.not_ok(f"{kernel} {one.name}: what it needs is there", wrong)
        else:
            good.append(one)
    return good


def buildable(scenarios, kernel, report):
    """Those whose modules can be had. A module that cannot fails the scenarios that need it, and no others."""
    wanted = {name: [one for one in scenarios if name in one.list("own modules", kernel)]
              for one in scenarios for name in one.list("own modules", kernel)}
    silent, without = None, set()
    for name, users in wanted.items():
        try:
            image.own_module(kernel, name)
        except image.Unavailable as error:
            silent = error
            without.update(users)
        except image.Missing as error:
            for one in (one for one in users if one not in without):
                report.not_ok(f"{kernel} {one.name}: its modules are built", str(error))
            without.update(users)
    if silent:
        names = ", ".join(one.name for one in scenarios if one in without)
        report.skip(f"modules for kernel {kernel}", f"{silent}: no {names}")
    return [one for one in scenarios if one not in without]


def plan_boots(scenarios, kernels, report):
    """(boot, (tree, release)) for every guest that can be had; what cannot is reported."""
    boots = []
    broken = build_files(scenarios, kernels)
    for kernel in kernels:
        try:
            tree = kernel_tree(kernel)
            good = buildable(startable(scenarios, kernel, broken, report), kernel, report)
            boots += [(boot, tree) for boot in scenario.plan(good, [kernel])]
        except image.Unavailable as error:
            report.skip(f"kernel {kernel}", str(error))
        except image.Missing as error:
            for one in (one for one in scenarios if one.runs_on(kernel)):
                report.not_ok(f"{kernel} {one.name}: its kernel is there", str(error))
    # The longest first, so that the last one does not run alone for long.
    return sorted(boots, key=lambda pair: -len(pair[0].scenarios))


def run_scenarios(options):
    begin = time.monotonic()
    report = Report()
    kernels = options.kernel or scenario.KERNELS
    chosen = scenario.load(options.scenarios, options.scenario or ())
    boots = plan_boots(chosen, kernels, report)
    directory = tempfile.mkdtemp(prefix="faultline-lab.", dir=os.environ.get("TMPDIR", "/var/tmp"))
    runner = Runner(directory, report)
    report.provisional = not options.once
    runner.run(boots, options.jobs)
    report.provisional = False
    trees = {boot.kernel: tree for boot, tree in boots}
    if len(runner.again) > AGAIN_MAX:
        report.not_ok("scenarios", f"{len(runner.again)} failed; at most {AGAIN_MAX} run once more")
    else:
        runner.run([(scenario.Boot(kernel, [one]), trees[kernel]) for kernel, one in runner.again], 1)
    if report.failed or options.keep:
        print(f"# consoles, logs and recordings are in {directory}")
    else:
        shutil.rmtree(directory)
    tell_costs(runner.costs)
    print(f"# {len(boots)} guests in {time.monotonic() - begin:.0f} s")
    print(f"lab: {report.passed} passed, {report.failed} failed, {report.skipped} skipped, {report.retried} retried")
    return 1 if report.failed else 0


def shell(options):
    kernel = (options.kernel or ["new"])[0]
    tree, found = kernel_tree(kernel)
    chosen = [s for s in scenario.load(options.scenarios, options.scenario or ()) if s.runs_on(kernel)] if options.scenario else []
    for error in build_files(chosen, [kernel]).values():
        raise image.Missing(error)
    boot = scenario.Boot(kernel, chosen)
    if not chosen:
        boot = scenario.Boot(kernel, [scenario.Scenario(os.path.join(HERE, "guest", "shellrc"))])
    directory = tempfile.mkdtemp(prefix="faultline-lab.", dir=os.environ.get("TMPDIR", "/var/tmp"))
    try:
        initramfs = os.path.join(directory, "initramfs")
        image.build(boot, tree, found, initramfs)
        args = machine.command(boot, os.path.join(tree, "vmlinuz"), initramfs, directory, True)
        print(f"{kernel} = {found}; Ctrl-D or Ctrl-A X ends it")
        return subprocess.run(args, preexec_fn=machine.die_with_parent, check=False).returncode
    finally:
        shutil.rmtree(directory)


def parse():
    parser = argparse.ArgumentParser(prog="lab.py", description=__doc__)
    parser.add_argument("action", choices=("run", "shell", "list"))
    parser.add_argument("-k", "--kernel", action="append", choices=scenario.KERNELS, help="only this kernel (all)")
    parser.add_argument("-s", "--scenario", action="append", help="only this scenario (all)")
    parser.add_argument("-j", "--jobs", type=int, default=int(os.environ.get("FAULTLINE_LAB_JOBS") or
                                                              min(3, os.cpu_count() + 1)), help="guests at once; they wait more than they compute (3)")
    parser.add_argument("--scenarios", default=os.path.join(HERE, "scenarios"), help="directory of the scenarios")
    parser.add_argument("--once", action="store_true", help="what fails is not run a second time")
    parser.add_argument("--keep", action="store_true", help="keep consoles, logs and recordings of a run that passed")
    return parser.parse_args()


def end_now(number, _):
    """At once, not when the last guest has ended: guests end with this process."""
    sys.stdout.flush()
    os._exit(128 + number)


def main():
    options = parse()
    signal.signal(signal.SIGTERM, end_now)
    signal.signal(signal.SIGINT, end_now)
    try:
        if options.action == "list":
            for one in scenario.load(options.scenarios):
                print(one.name, " ".join(k for k in scenario.KERNELS if one.runs_on(k)))
            return 0
        return shell(options) if options.action == "shell" else run_scenarios(options)
    except (scenario.Wrong, image.Missing) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
