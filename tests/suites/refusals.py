# SPDX-License-Identifier: GPL-2.0
"""What every verb refuses, from one table: the same mistake has the same exit code whatever the verb, is told in one
sentence, and leaves nothing on standard output and no file."""
import os
import re
import subprocess
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
USAGE, INPUT = 2, 3
# Arguments with which a verb reads the file INPUT, and what is accepted where it stands.
READERS = [
    ("faultline", "report", "INPUT"), ("faultline", "timeline", "INPUT"), ("faultline", "explain", "INPUT", "--slowest"),
    ("faultline", "explain", "-", "--slowest", "-c", "INPUT"), ("faultline", "footprint", "INPUT"),
    ("faultline", "doctor", "INPUT"), ("faultline", "slo", "INPUT", "-c", "slo.ini"), ("faultline", "slo", "-", "-c", "INPUT"),
    ("faultline", "diff", "INPUT", "-"), ("faultline", "diff", "-", "INPUT"),
    ("faultline", "top", "-b", "-i", "INPUT"), ("faultline", "top", "-b", "-i", "-", "-c", "INPUT"),
    ("faultline", "merge", "-o", "merged.flt", "INPUT"),
    ("faultline", "serve", "--listen", "none", "--textfile", ".", "-i", "INPUT"),
    ("faultline", "serve", "--listen", "none", "--textfile", ".", "-i", "nosuch.flt", "-c", "INPUT"),
    ("faultline", "export", "INPUT", "--parquet", "kept"),
    ("faultline", "export", "nosuch.flt", "--parquet", "kept", "-c", "INPUT"), ("faultline", "sim", "./INPUT"), ("faultline", "sim", "--trace", "INPUT"), ("faultline", "accesses", "./INPUT"),
    ("faultline", "accesses", "--trace", "INPUT"), ("faultline", "protect", "INPUT"), ("faultline", "fleet", "./INPUT"), ("faultline", "fabric", "./INPUT"),
    ("faultline-inject", "run", "./INPUT"),
    ("faultline-inject", "check", "./INPUT"), ("faultline-inject", "vm", "--print-arguments", "./INPUT"),
]
# One argument more than each verb takes. What `record` and `slow` have behind their options is a command.
TOO_MANY = [
    ("faultline", "report", "a", "b"), ("faultline", "timeline", "a", "b"), ("faultline", "diff", "a", "b", "c"), ("faultline", "explain", "a", "b@+1s", "c"), ("faultline", "footprint", "a", "b"),
    ("faultline", "doctor", "a", "b"), ("faultline", "slo", "-c", "slo.ini", "a", "b"), ("faultline", "top", "-b", "1", "1", "1"),
    ("faultline", "sim", "a", "b"), ("faultline", "accesses", "a", "b"), ("faultline", "fleet", "a", "b"), ("faultline", "fabric", "a", "b"), ("faultline", "serve", "-i", "a", "b"), ("faultline", "help", "report", "b"),
    ("faultline", "--version", "b"), ("faultline", "-h", "b"), ("faultline-inject", "run", "a", "b"),
    ("faultline-inject", "check", "a", "b"), ("faultline-inject", "help", "rate", "depth"), ("faultline-inject", "list", "a"),
    ("faultline-inject", "recover", "a"), ("faultline-inject", "vm", "--print-arguments", "a", "b"), ("faultline-inject", "iopf", "dma", "burst"), ("faultline-inject", "odp", "a"),
    ("faultline-inject", "pageout", "a"), ("faultline-inject", "vfio", "fault", "stale"), ("faultline-inject", "--version", "b"),
]
# What would change nothing, or stands where nothing is.
MEANINGLESS = [
    (("faultline", "help", "reprot"), "reprot"), (("faultline", "sim", "--keys", "bogus"), "--keys"),
    (("faultline", "protect", "--keys", "run.flt"), "--keys"), (("faultline", "fleet", "--keys", "fleet-adp"), "--keys"), (("faultline", "fabric", "--keys", "--short"), "--keys"),
    (("faultline", "sim", "--keys", "--set", "trace.tenants=4"), "--keys"), (("faultline", "accesses", "--keys", "--csv=out"), "--keys"),
    (("faultline-inject", "help", "--markdown", "rate"), "--markdown"),
    (("faultline-inject", "run", "-n", "rtt", "--csv"), "--csv: accepted: without --dry-run"),
    (("faultline-inject", "run", "-n", "rtt", "--truth", "t.jsonl"), "--truth: accepted: without --dry-run"),
    (("faultline-inject", "run", "-n", "rtt", "--console", "c.log"), "--console: accepted: without --dry-run"),
    (("faultline-inject", "vm", "rtt"), "accepted: --print-arguments"), (("faultline-inject", "vm", "--print-arguments"), "no job file"),
    (("faultline-inject", "pageout", "-n", "-p", "1", "--json"), "--json: accepted: without --dry-run"),
    (("faultline-inject", "slow", "-n", "--name", "a", "--size", "1M", "--delay", "1ms", "--csv"), "--csv: accepted"),
    (("faultline-inject", "odp", "-n", "-d", "rxe0", "--csv=x"), "--csv: accepted: without"),
    (("faultline-inject", "vfio", "fault", "-n", "-d", "0000:00:04.0", "--csv"), "--csv: accepted: without"),
    (("faultline-inject", "iopf", "burst", "-n", "--csv"), "--csv: accepted: without"),
    (("faultline-inject", "iopf", "unplug", "--csv"), "--csv: unplug has no results"),
    (("faultline", "record", "-f", "-o", "kept", "--"), "no command behind it"),
    (("faultline", "record", "-f", "-o", "kept", "--", ""), "no command behind it"),
    (("faultline", "merge", "-o", "merged.flt"), "no recording given"), (("faultline", "merge", "a.flt"), "no output given"),
    (("faultline", "merge", "-o", "-", "a.flt"), "--output: invalid path '-'; accepted: a path"),
    (("faultline", "sim", "--host", "a"), "--host a: accepted: with --trace"), (("faultline", "doctor", "--host", "a"), "--host a: accepted: with a recording"),
    (("faultline", "top", "-b", "--host", "a"), "--host needs a recording"), (("faultline", "report", "-", "--host", ""), "--host: '' is no host"),
    (("faultline", "record", "-f", "-o", ""), "--output: invalid path ''; accepted: a path, or -"),
    (("faultline", "top", "-b", "-o", ""), "--output: invalid path ''; accepted: a path"), (("faultline", "top", "-b", "-o", "-"), "--output: invalid path '-'; accepted: a path"),
    (("faultline-inject", "run", "rtt", "--truth", ""), "--truth: invalid path ''; accepted: a path"),
    (("faultline-inject", "run", "rtt", "--truth", "-"), "--truth: invalid path '-'; accepted: a path"),
    (("faultline-inject", "iopf", "flood", "--truth", ""), "--truth: invalid path ''; accepted: a path"),
    (("faultline-inject", "iopf", "flood", "--truth", "-"), "--truth: invalid path '-'; accepted: a path"), (("faultline", "record", "-f", "-o", "kept", "--", "./kept"), "is the program"),
    (("faultline", "record", "-f", "-o", "kept", "--emulator", "kept", "--", "true"), "is the program"),
    (("faultline", "record", "--emulator", "nosuch", "--", "true"), "--emulator 'nosuch': No such file"),
    (("faultline", "doctor", "--emulator", ""), "--emulator '': No such file"),
    (("faultline-inject", "run", "rtt", "--csv=both.csv", "--truth", "both.csv"), "--truth both.csv: the results"),
    (("faultline-inject", "slow", "--name", "a", "--size", "1M", "--delay", "1ms", "--"), "no command behind it"),
    (("faultline-inject", "slow", "--name", "a", "--size", "1M", "--delay", "1ms", "--", ""), "no command behind it"),
    (("faultline-inject", "vfio", "fault", "-d", "bus"), "--device: invalid address 'bus'; accepted"),
    (("faultline-inject", "vfio", "fault", "--iommu", "bus"), "--iommu: invalid value 'bus'; accepted"),
    (("faultline-inject", "vfio", "fault", "--count", "bus"), "--count: invalid number 'bus'"),
    (("faultline-inject", "vfio", "fault", "--interval", "bus"), "--interval: invalid duration 'bus'"),
]
# Options whose 0 is a value like any other, and what it means; any other quantity refuses it.
ZERO = {
    ("record", "around"): "of a fault that triggers only itself is saved",
    ("odp", "offset"): "the start of a page", ("odp", "evictions"): "no pass begins with one",
    ("odp", "timeout"): "4.096 us * 2^0, as verbs have it", ("odp", "retries"): "none", ("odp", "rnr-timer"): "a code",
    ("odp", "late"): "at once", ("odp", "hold"): "no wait", ("iopf", "hold"): "nobody holds", ("iopf", "delay"): "at once",
    ("iopf", "pause"): "no pause", ("iopf", "device"): "the first", ("iopf", "seed"): "a seed", ("pageout", "seed"): "a seed",
    ("run", "seed"): "a seed", ("check", "seed"): "a seed", ("slow", "priority"): "of swap, 0 to 32767",
    ("vfio", "interval"): "no pause, its default", ("diff", "least-time"): "any change is told",
}
QUANTITY = re.compile(r"^\[?=(n|time|duration|size|bytes|pages|pages/s|sizes|x)\]?$")


def run(words, directory, **how):
    how = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 60, "check": False} | how
    return subprocess.run([os.path.join(ROOT, words[0]), *words[1:]], cwd=directory, **how)


def refused(words, code, said, directory):
    """What is wrong with how these words are refused."""
    before = sorted(os.listdir(directory))
    result = run(words, directory)
    wrong = []
    if result.returncode != code:
        wrong.append(f"exit {result.returncode}, not {code}")
    if said not in result.stderr:
        wrong.append(f"does not say '{said}'")
    if result.stdout:
        wrong.append(f"prints {result.stdout[:60]!r}")
    if sum(line.startswith("faultline") for line in result.stderr.split("\n")) != 1:
        wrong.append("is not one sentence")
    if sorted(os.listdir(directory)) != before:
        wrong.append("leaves files")
    return [f"{' '.join(words)}: {', '.join(wrong)}: {result.stderr[:200]}"] if wrong else []


def quantities(verbs, options_of):
    for program, verb in verbs:
        for name, (_, argument) in options_of(program, verb).items():
            if QUANTITY.match(argument):
                yield program, verb, name


def check_all(check, verbs, options_of):
    with tempfile.TemporaryDirectory() as directory:
        for name, text in (("slo.ini", "[slo a]\nlatency_target = 1ms\n"), ("kept", "kept")):
            with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(os.path.join(directory, "kept"), 0o755)
        os.mkdir(os.path.join(directory, "folder"))
        plain = [verb for verb in verbs if verb[1] not in ("help", "list", "recover")] + \
                [("faultline-inject", verb) for verb in ("help", "list", "recover")]
        check(f"an option that is none has one exit code ({len(plain)} verbs)", [
            wrong for words in plain for wrong in refused((*words, "--no-such-option"), USAGE, "unrecognized option", directory)])
        for kind, word in (("missing file", "nosuch"), ("folder in place of a file", "folder")):
            check(f"a {kind} has one exit code ({len(READERS)} places)", [
                wrong for words in READERS
                for wrong in refused([part.replace("INPUT", word) for part in words], INPUT, word, directory)])
        check(f"an argument too many is refused ({len(TOO_MANY)} verbs)", [
            wrong for words in TOO_MANY for wrong in refused(words, USAGE, words[-1], directory)])
        check(f"what would be ignored is refused ({len(MEANINGLESS)} command lines)", [
            wrong for words, said in MEANINGLESS for wrong in refused(words, USAGE, said, directory)])
        writers = [(program, verb) for program, verb in verbs if "csv" in options_of(program, verb)]
        check(f"a path that is empty is refused ({len(writers)} verbs)", [
            wrong for words in writers for option in ("--csv=", "--json=")
            for wrong in refused((*words, option), USAGE, f"{option[:-1]}: invalid path ''; accepted: a path, or - for", directory)])
        with open(os.path.join(directory, "kept"), "rb") as file:
            check("the file that nothing replaced is as it was", [] if file.read() == b"kept" else ["it is not"])
        found = list(quantities(verbs, options_of))
        wrong = [] if len(found) > 40 else [f"only {len(found)} of them were found"]
        for program, verb, name in found:
            # A second mistake keeps the verb from starting; `sim` looks at values of its job when all options are known.
            behind = [] if name == "tenants" else ["--no-such-option"]
            text = run((program, verb, f"--{name}=0", *behind), directory).stderr
            if (verb, name) in ZERO:
                wrong += [] if "unrecognized option" in text else [f"{verb} --{name}=0 is refused: {text[:200]}"]
            else:
                wrong += [] if "accepted: " in text.split("\n")[0] and name in text else [f"{verb} --{name}=0: {text[:200]}"]
        wrong += [f"{verb} has no --{name}" for verb, name in ZERO if not any(verb == v and name == n for _, v, n in found)]
        check(f"0 is refused where it would mean no limit or a default ({len(found)} quantities)", wrong)
        shown = run(("faultline", "help", "report"), directory)
        check("`help report` is `report --help`", [] if shown.stdout == run(("faultline", "report", "--help"), directory).stdout and
              not shown.returncode and "--burst" in shown.stdout else [shown.stderr or shown.stdout[:200]])
