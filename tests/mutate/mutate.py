#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Breaks code in small ways, one at a time, and asks whether a unit test notices.

    mutate.py [--sample COUNT] [--named] [--seed SEED] [--list] [FILE...]

Mutations are those of sites.py in the files below; without FILE in all of them; and those of named.py. --sample takes
COUNT by the seed and their names, so that the choice changes only where the code does, and half as many of the named ones;
--named takes these alone, all of them. Each is compiled, linked with the unit tests that are nearest (programs.py), one
after the other until one fails, crashes, hangs or spins. One that no test notices is a failure, unless `survivors` says
why. One that does not compile does not count.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import os
import pathlib
import subprocess
import sys
import threading

import named
import programs
import sites

ROOT = programs.ROOT
SURVIVORS = pathlib.Path(__file__).with_name("survivors")
# What only computes: of lib/capture what calls nothing of libbpf; of the emulated machine its rings and
# queues, and the transport of RDMA; and what else reads files that others wrote.
PATTERNS = (*(f"lib/{folder}/*.[ch]" for folder in ("translate", "analyze", "trace", "protect", "fabric")), "lib/capture/*.c",
            *(f"injectors/emu/{name}.c" for name in ("access_*", "ats", "channel", "emq", "iotlb", "pa_bitmap", "page_group",
                                                     "presence", "*_queue", "nic/rx_*", "nic/policy_*", "nic/account", "nic/absent",
                                                     "nic/frame_windows", "nic/flow_ranges", "nic/loss_runs", "rdma/transport*",
                                                     "rdma/fault_*", "rdma/packets")),
            "injectors/real/journal_file.c", "lib/job/options.c", "lib/job/sweep.c")
SEEN_BY = 25  # sources at most that see a header: a mutation of it has to compile them all
TESTS = 8  # that are tried for one mutation, at most
# Not tried in a sample: what takes more than four seconds of CPU time, and machines with deadlines in real time, which
# beside a compiler on each CPU fail with the good code, too.
SLOW = {"test_devices", "test_floor", "test_iotlb_moves", "test_lookup", "test_model_reference", "test_model_table",
        "test_nic_device", "test_nic_hostile", "test_port", "test_trace_damage"}
SAMPLE, SEED = 8, 11  # and half as many of those that have a name
# A /tmp of its own, which goes with the test however that ends: some files there have one name.
PRIVATE = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=1g none /tmp && exec "$@"', "sh"]
REASONS = ("equivalent: ", "cost: ", "slow: ")


def files(known):
    for pattern in PATTERNS:
        for path in sorted(ROOT.glob(pattern)):
            source = str(path.relative_to(ROOT))
            if known.is_pure(source) and len(known.objects(source)) <= SEEN_BY:
                yield source


def find(chosen):
    arguments = ["-std=gnu11", "-D_GNU_SOURCE", f"-I{ROOT}", f"-I{programs.BUILD}"]
    return [mutation for path in chosen for mutation in sites.mutations(path, str(ROOT), arguments)]


def sample(mutations, count, seed):
    return sorted(mutations, key=lambda m: hashlib.sha256(f"{seed} {m.name}".encode()).digest())[:count]


def read_survivors():
    """Name -> reason. `#` begins a comment; the last ` | ` of a line parts the two."""
    listed = {}
    for line in SURVIVORS.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, reason = line.rpartition(" | ")
            if not reason.startswith(REASONS):
                sys.exit(f"not ok - {SURVIVORS.name}: no reason that is known: {line}")
            listed[name] = reason
    return listed


# What compiled links, unless it is us who cannot.
FAILURES = ("survived", "not linked")


class Trial:
    """Runs unit tests with and without mutations."""

    def __init__(self, scratch, known, listed, is_sample):
        self.listed = listed if is_sample else {}
        self.left_out = SLOW if is_sample else ()
        self.cpu = 20 if is_sample else 100
        self.scratch = pathlib.Path(scratch)
        self.programs = known
        self.good, self.locks = {}, collections.defaultdict(threading.Lock)
        self.private = PRIVATE if not subprocess.run([*PRIVATE, "true"], capture_output=True, check=False).returncode else []

    def run(self, program, directory, cpu, quiet=20, log=subprocess.DEVNULL):
        """(Does it pass? One that waits for ever, or spins, does not; seconds of CPU time)."""
        told = directory / "cpu"
        if not (directory / "docs").exists():
            os.symlink(ROOT / "docs", directory / "docs")  # what tests hold the code against
        done = subprocess.run([sys.executable, str(ROOT / "tests/watchdog.py"), "run", "--cpu", str(cpu), "--quiet",
                               str(quiet), "--every", "1", "--told", str(told), "--", *self.private, str(program)],
                              cwd=directory,
                              env={**os.environ, "FAULTLINE_RUN_DIR": "/tmp/run" if self.private else str(directory / "run"),
                                   "CMOCKA_TEST_ABORT": "1", "ASAN_OPTIONS": "detect_leaks=1:hard_rss_limit_mb=2000"},
                              stdout=log, stderr=log, check=False)
        return not done.returncode, int(told.read_text())

    def try_good(self, test, source):
        """(Does a test pass with the good code, made likewise? CPU seconds, last words). Asked of those only that have caught something.
        It ends, however slow the machine: patience is for that."""
        with self.locks[test]:
            if (test, source) not in self.good:
                directory = self.scratch / test / source.replace("/", "-")
                directory.mkdir(parents=True)
                objects = self.programs.compile(source, (ROOT / source).read_bytes(), directory)
                error = self.programs.link(test, objects, directory / test) if objects else "does not compile"
                with open(directory / "log", "w+", encoding="utf-8", errors="replace") as log:
                    passes, cpu = (False, 0) if error else self.run(directory / test, directory, 1000, 300, log)
                    log.seek(0)
                    self.good[test, source] = passes, cpu, error or "".join(log.readlines()[-20:])
            return self.good[test, source]

    def catches(self, test, source, program, directory):
        """One that was ended may only have been slow: it gets some times what the good code takes here."""
        if self.run(program, directory, self.cpu)[0]:
            return False
        passes, cpu, _ = self.try_good(test, source)
        return passes and (4 * cpu <= self.cpu or not self.run(program, directory, self.cpu + 4 * cpu)[0])

    def tests(self, source):
        return [test for test in self.programs.tests(source) if test not in self.left_out][:TESTS]

    def try_one(self, mutation):
        """(what became of it, what tells more): caught, survived, not compiled or linked. A sample believes the list."""
        if mutation.name in self.listed:
            return "survived", ""
        with programs.scratch() as temporary:
            directory = pathlib.Path(temporary)
            objects = self.programs.compile(mutation.file, mutation.apply((ROOT / mutation.file).read_bytes()), directory)
            if objects is None:
                return "not compiled", ""
            tried = []
            for test in self.tests(mutation.file):
                program = directory / test
                error = self.programs.link(test, objects, program)
                if error:
                    return "not linked", error
                tried.append(test)
                if self.catches(test, mutation.file, program, directory):
                    return "caught", test
                program.unlink()
            return "survived", " ".join(tried)


def report(trial, mutations, listed):
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutation, (outcome, more) in zip(mutations, pool.map(trial.try_one, mutations)):
            place = f"{mutation.file}:{mutation.line}: {mutation.name}"
            reason = listed.get(mutation.name, "")
            if reason.startswith("slow: ") and not trial.listed:
                reason = ""
            if outcome == "survived" and reason:
                outcome, more = "listed", reason
            elif reason:
                more += ", though it is listed as a survivor"
            counts[outcome] += 1
            print(f"{'not ok' if outcome in FAILURES else 'ok'} - {place}: {outcome} ({more})", flush=True)
    broken = {test: words for (test, _), (passes, _, words) in sorted(trial.good.items()) if not passes}
    for test, words in broken.items():
        print(f"not ok - {test} fails with the good code, too")
        print("".join(f"# {line}\n" for line in words.splitlines()), end="")
    tried = counts["caught"] + counts["listed"] + counts["survived"]
    print(f"of {tried} mutations {counts['caught']} were caught ({counts['caught'] / max(1, tried):.0%}), "
          f"{counts['listed']} are listed as survivors, {counts['survived']} are not; "
          f"{counts['not compiled']} did not compile; {sum(os.times()[:4]):.0f} s of CPU time")
    failed = sum(counts[outcome] for outcome in FAILURES) + len(broken)
    print(f"{counts['caught'] + counts['listed']} passed, {failed} failed, 0 skipped")
    return failed != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, nargs="?", const=SAMPLE, help="how many")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--named", action="store_true", help="those that have a name, all of them and no other")
    parser.add_argument("--list", action="store_true", help="say which, and try none")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    listed = read_survivors()
    with programs.scratch() as scratch:
        known = programs.Programs()
        mutations = find(options.files or files(known))
        print(f"{len(mutations)} mutations")
        if not options.files:
            for name in sorted(listed.keys() - {mutation.name for mutation in mutations}):
                sys.exit(f"not ok - a listed survivor is no mutation any more: {name}")
        mistakes = list(named.mutations(options.files))
        if options.sample:
            mutations = sample(mutations, options.sample, options.seed)
            mistakes = sample(mistakes, options.sample // 2, options.seed)
        mutations = mistakes if options.named else mutations + mistakes
        if not options.list:
            return report(Trial(scratch, known, listed, options.sample), mutations, listed)
    for mutation in mutations:
        print(f"{mutation.file}:{mutation.line}: {mutation.name}")
    return 0


sys.exit(main())
