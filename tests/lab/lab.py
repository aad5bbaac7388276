#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Runs scenarios in guest kernels and tells what held: lab.py run|shell|list [OPTION...]."""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import image
import machine
import runner
import scenario

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = image.ROOT


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
    image.kernel_file(tree)  # before several guests ask for it at once
    return tree, os.listdir(os.path.join(tree, "lib", "modules"))[0]


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
    report = runner.Report()
    kernels = options.kernel or scenario.KERNELS
    chosen = scenario.load(options.scenarios, options.scenario or ())
    for one in chosen if options.sample else ():
        one.keep_sample()
    boots = plan_boots(chosen, kernels, report)
    directory = tempfile.mkdtemp(prefix="faultline-lab.", dir=os.environ.get("TMPDIR", "/var/tmp"))
    guests = runner.Runner(directory, report)
    guests.run_all(boots, options.jobs, options.once)
    if report.failed or options.keep:
        print(f"# consoles, logs and recordings are in {directory}")
    else:
        shutil.rmtree(directory)
    runner.tell_costs(guests.costs)
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
        args = machine.command(boot, image.kernel_file(tree), initramfs, directory, True)
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
    parser.add_argument("--sample", action="store_true", help="each on the kernels of its sample only")
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
