#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Runs cluster jobs in which processes are killed, and judges what is left and who goes on.

smartio.py INJECT KILL.INI MORE.INI steps|random [COUNT]; the verdicts as TAP.
"""
import collections
import concurrent.futures
import json
import os
import random
import re
import subprocess
import sys
import tempfile

inject, kill_job, more_job, what = sys.argv[1:5]
count = int(sys.argv[5]) if len(sys.argv) > 5 else 13

DEAD_NS, RESTART_NS = 1_000_000_000, 100_000_000
# A run ends when all have had as many I/Os as they have in so many ms, however long that takes; less where two share a device.
RUN_MS, MORE_MS = 900, 1200
# On a slow machine what was held may be lent anew only when the others have had theirs, and what has to happen at once for
# a step may not: they are given so many times more.
LONGER = (1, 4, 16)
TOO_EARLY = re.compile("was not lent anew|had no I/Os after|was (not )?killed")
FIRST_AT_MS, LATER_MS = {"revoke": 150, "cable": 150, "dark": 120}, 150
LESS = {"wanted": 0.5, "waits": 0.4}
# The longest that a survivor's I/O may take: to notice, to ask a manager that is not there, and a busy machine's share.
STATED_NS = 4 * DEAD_NS + 2_000_000_000
NEVER = ["memory_changed", "windows_left", "requesters_left", "mapped_left_bytes", "pinned_left_bytes"]

# Who takes which step: each is reached in its job, so each has to kill.
TAKERS = {
    "host=lender": "register grant deny domain dma_window msi_window release reset available unregister manager_reset manager_admin",
    "host=borrower": "request config bars shadow probe unbind remove",
    "user=near": "client_segment client_create client_ready client_delete",
    "user=guest": "request config bars remove guest_register guest_reset guest_bar guest_bus_master guest_probed guest_pinned guest_mapped",
}
# Who has nothing to do with the dead, or is begun anew: each has I/Os afterwards.
GO_ON = {"host=lender": "other", "host=borrower": "other far", "host=third": "other guest near", "user=near": "other guest far near",
         "user=guest": "other near far guest", "user=far": "other guest near far"}
# What is lent anew afterwards.
REGRANTED = {"host=lender": "disk", "host=third": "disk", "user=guest": "second"}
BEFORE = "[inject before]\naction = host_kill\nat = 150ms\nfor = 100ms\nrestart = yes\n"
# In the other job: the step, whose, what has to happen for it, who goes on, what is lent anew.
MORE = [
    ("revoke", "host=lender", "revoke", "", "waits", "disk"),
    ("revoked", "host=lender", "revoke dark", "", "", "disk"),
    ("peer_window", "host=user", "", "", "plain", "gpu"),
    ("guest_unmapped_memory", "user=guest", "", "", "plain both wanted", "grown"),
    ("borrower_dead", "host=lender", "", "host = user", "", "disk"),
    ("lender_dead", "host=user", "", "host = lender", "", "disk"),
    ("client_dead", "host=boss", "", "user = both", "", ""),
    ("failover", "user=both", "cable", "", "plain both", ""),
    ("failback", "user=both", "cable", "", "plain both", ""),
    ("", "", "cable", "host = boss", "wanted", ""),
]
with open(re.sub("tests/e2e/.*", "bpf/cluster_steps.def", os.path.abspath(__file__))) as file:
    STEPS = re.findall(r'^CLUSTER_STEP\(\w+, "(\w+)"\)', file.read(), re.M)
NOT_KILLED_AT = {"intx_masked"}  # told by the lender's look, which each of its other steps has killed


class Case:
    def __init__(self, name, job, ms, settings, sections, victim, go_on, regranted):
        self.name, self.job, self.sections = name, job, sections
        self.victim, self.go_on, self.regranted = victim, go_on.split(), regranted
        self.ms, self.given = ms, settings
        self.last(1)

    def last(self, times):
        """A run of it takes so many times as long, and what has to happen does so later: a slow machine has lent by then."""
        self.ios = ios_of(self.job, self.ms * times)
        self.settings = self.given + ["cluster.duration=120s"] + [f"{name}.ios={ios}" for name, ios in self.ios.items()]
        for name in (setting.removesuffix(".enabled=yes") for setting in self.given):
            self.settings.append(f"{name}.at={FIRST_AT_MS[name] + (times - 1) * LATER_MS}ms")


def kill_section(target, line):
    return f"[inject kill]\naction = host_kill\nrestart = yes\nfor = 100ms\n{target.replace('=', ' = ')}\n{line}\n" if target else ""


def sections_of(text, kind):
    return re.findall(rf"^\[{kind} ([\w-]+)\]\n((?:[^\[\n].*\n)*)", text, re.M)


def keys_of(body):
    return dict(re.findall(r"(\w+) = (.*)", body))


def ios_of(text, ms):
    """Of each user that is not limited by `for`."""
    found = {}
    for kind in "borrow", "vm", "client":
        for name, body in sections_of(text, kind):
            keys = keys_of(body)
            if "for" not in keys:
                found[name] = int(int(keys["rate"].removesuffix("/s")) * ms / 1000 * LESS.get(name, 1))
    return found


def names_of(text):
    """Agents' numbers, and of each user by name the agent and the device that its I/Os are told with."""
    agents, users = {}, {}
    devices = [name for name, _ in sections_of(text, "device")]
    for kind in "host", "vm", "client":
        for name, _ in sections_of(text, kind):
            agents[name] = len(agents)
    for kind in "borrow", "vm", "client":
        for name, body in sections_of(text, kind):
            keys = keys_of(body)
            users[name] = agents[keys["host"] if kind == "borrow" else name], devices.index(keys["device"])
    return agents, users, devices


def run(case):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        os.mkdir(folder + "/run", 0o700)
        with open(folder + "/job.ini", "w") as file:
            file.write(case.job + case.sections)
        command = [inject, "run", folder + "/job.ini", "--json=-", f"--truth={folder}/truth"]
        for setting in case.settings:
            command += ["--set", setting]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "FAULTLINE_RUN_DIR": os.path.abspath(folder) + "/run"})
        try:
            with open(folder + "/truth") as file:
                truth = [json.loads(line) for line in file]
            return done, json.loads(done.stdout)["tables"]["results"][0], truth
        except (OSError, ValueError, KeyError, IndexError):
            return done, {}, []


def times(truth, what, **wanted):
    return [r["time_ns"] for r in truth if r["what"] == what and all(r[key] == value for key, value in wanted.items())]


def judge_others(case, truth, notes):
    """After the last kill: who must has I/Os, who has none has an error, and what was held is lent anew."""
    agents, users, devices = names_of(case.job)
    killed, end = times(truth, "killed"), times(truth, "run_end")
    if not killed or not end:
        return ["nobody was killed" if end else "no end was told"]
    kill, end = killed[-1], end[0]
    if case.victim and not times(truth, "killed", agent=agents[case.victim.split("=")[1]]):
        return [f"{case.victim} was not killed"]
    dead = {r["agent"] for r in truth if r["what"] == "killed"}
    wrong = []
    for name, (agent, device) in users.items():
        ios = [r for r in truth if r["what"] in ("io_read", "io_write") and r["agent"] == agent and r["device"] == device]
        after = sum(r["code"] == 0 and r["time_ns"] > kill + RESTART_NS for r in ios)
        errors = sum(r["code"] != 0 for r in ios)
        before = sum(r["code"] == 0 and r["time_ns"] < kill for r in ios)
        if sum(r["code"] == 0 for r in ios) >= case.ios.get(name, sys.maxsize):
            continue  # has all that it wanted
        if name in case.go_on and not after:
            wrong.append(f"{name} had no I/Os after the kill, {before} before, {errors} errors")
        elif name != "reader" and agent not in dead and before and not after and not errors and name not in notes:
            wrong.append(f"{name} neither goes on nor has an error")
    if case.regranted and not [t for t in times(truth, "step", number=STEPS.index("grant"), device=devices.index(case.regranted)) if t > kill]:
        wrong.append(f"{case.regranted} was not lent anew")
    return wrong


def judge_applied(case, truth):
    """A shared controller applies no write twice. A stock driver asks again for what its cable may have lost, as Linux does."""
    devices = names_of(case.job)[2]
    shared = {devices.index(keys_of(body)["device"]) for _, body in sections_of(case.job, "manager")}
    applied = collections.Counter((r["device"], r["address"], r["value"]) for r in truth if r["what"] == "applied" and r["device"] in shared and r["value"])
    return [f"a write to {devices[device]} at {address:#x} was applied {times} times" for (device, address, _), times in applied.items() if times > 1]


def judge_resets(truth, devices):
    """Nobody is given what has not been reset since another had it; a lender that is begun anew does so as it registers it."""
    wrong, lent = [], set()
    for record in truth:
        step = STEPS[record["number"]] if record["what"] == "step" else ""
        if step in ("reset", "register"):
            lent.discard(record["device"])
        elif step == "grant":
            if record["device"] in lent:
                wrong.append(f"{devices[record['device']]} was lent anew without a reset")
            lent.add(record["device"])
    return wrong


def judge(case):
    for times in LONGER:
        case.last(times)
        well, early, line = judge_run(case)
        if not early:
            break
    return well, line


def judge_run(case):
    """(Is all well? Was the run over too early to tell? the verdict)."""
    done, row, truth = run(case)
    wrong = [f"exit {done.returncode}"] if done.returncode else []
    wrong += [f"{key}={row.get(key)}" for key in NEVER if row.get(key) != 0]
    # A guest that gives its device memory which was added later is told errors or old data; nobody answers to posted writes to a
    # peer, of which those that a cable has lost are counted.
    may = {"guest": sys.maxsize if "\nadded = " in case.job else 0, "straight": row.get("lost_writes", 0) + row.get("all_ones", 0)}
    wrong += [f"{name}_wrong={row.get(name + '_wrong')}" for name in names_of(case.job)[1]
              if not 0 <= row.get(name + "_wrong", -1) <= may.get(name, 0)]
    late = {key: value for key, value in row.items() if key.endswith("_wait_ns") and value and value > STATED_NS}
    wrong += [f"{key}={value}" for key, value in late.items()]
    notes = dict(re.findall(r"([\w-]+): ([^;]*)", re.sub(r".*Failed: ", "", done.stderr.replace("\n", " "))))
    wrong += [f"{name} failed, and nothing was said" for name, text in notes.items() if not text.strip()]
    wrong += judge_others(case, truth, notes) + judge_applied(case, truth) + judge_resets(truth, names_of(case.job)[2])
    said = ": " + ", ".join(wrong) + " " + done.stderr[:300].replace("\n", " ") if wrong else ""
    early = not done.returncode and [text for text in wrong if TOO_EARLY.search(text)]
    return not wrong, early, f"{'not ok' if wrong else 'ok'} - {case.name}{said}"


def cases_of_steps(kill_text, more_text):
    for target, steps in TAKERS.items():
        for step in steps.split():
            go_on = GO_ON[target]
            yield Case(f"{target} at {step}", kill_text, RUN_MS, [], kill_section(target, f"step = {step}"), target, go_on, "")
    for step, target, enabled, before, go_on, regranted in MORE:
        settings = [f"{name}.enabled=yes" for name in enabled.split()]
        sections = (BEFORE + before + "\n" if before else "") + kill_section(target, f"step = {step}")
        named = " and ".join(filter(None, [step and f"{target} at {step}", before and f"{before} killed before", enabled]))
        yield Case(named, more_text, MORE_MS, settings, sections, target, go_on, regranted)


def cases_at_random(kill_text):
    draw = random.Random(4099)
    for number in range(count):
        at, target = draw.randrange(0, 400), draw.choice(list(GO_ON))
        yield Case(f"{number}: {target} after {at} ms", kill_text, at + RUN_MS, [],
                   kill_section(target, f"at = {at}ms"), target, GO_ON[target], REGRANTED.get(target, ""))


with open(kill_job) as file:
    kill_text = re.sub(r"\[inject kill\]\n(?:.+\n)*", "", file.read())
with open(more_job) as file:
    more_text = file.read()
if what == "steps":
    taken = set(" ".join(TAKERS.values()).split()) | {step for step, *_ in MORE}
    missing = set(STEPS) - taken - NOT_KILLED_AT
    assert not missing, f"nobody is killed at {missing}"
    cases = cases_of_steps(kill_text, more_text)
else:
    cases = cases_at_random(kill_text)
# They mostly wait.
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    verdicts = list(pool.map(judge, cases))
for _, line in verdicts:
    print(line)
passed = sum(well for well, _ in verdicts)
print(f"{passed} passed, {len(verdicts) - passed} failed")
