#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The verbs of unmodified programs at the kernel's rxe against those of the same programs at an emulated device.

    compare_rxe.py DIRECTORY

DIRECTORY is what scenario rxe_verbs has left: `runs`, and of each run the kernel's trace at both, the truth log, what both
have counted, and what the programs have said. Process by process the verbs must be the same, in the same order, on the same
states and sizes, but for those in ALONE, each as often as its reason says.
"""
import collections
import csv
import json
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
STATES = "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"  # enum ib_qp_state
PAIR_STATES = "RESET", "INIT", "RTR", "RTS", "-", "ERR"  # enum verbs_pair_state
QP_STATE = 1  # of ib_qp_attr_mask
LINE = re.compile(r"^\s*.+-(\d+)\s+\[\d+\]\s+\S+\s+[\d.]+: (\w+): \([^)]*\)\s?(.*)$")
WRITTEN = re.compile(r"^# entries-in-buffer/entries-written: (\d+)/(\d+)", re.M)

# Object and method of an ioctl (include/uapi/rdma/ib_user_ioctl_cmds.h).
INVOKE_WRITE = "0", "0"
IOCTLS = {
    ("0", "2"): "query_port", ("0", "3"): "open_device", ("0", "6"): "query_gid", ("1", "0"): "dealloc_pd",
    ("3", "0"): "create_cq", ("3", "1"): "destroy_cq", ("4", "0"): "create_qp", ("4", "1"): "destroy_qp",
    ("5", "0"): "create_srq", ("5", "1"): "destroy_srq", ("7", "1"): "dereg_mr", ("16", "0"): "async_event",
}
WRITES = {"create_comp_channel": "create_channel", "ex_create_cq": "create_cq", "ex_create_qp": "create_qp",
          "ex_modify_qp": "modify_qp", "get_context": "open_device"}
# Two forms of one verb: of memory that a program has anywhere, and of a domain or a shared receive queue.
FORMS = {"reg_mr_pages": "reg_mr", "create_qp_of": "create_qp"}

Run = collections.namedtuple("Run", "name size count server client program pairs shared events")

# Verbs that one of both alone has: how many (least, most) in a run, and why.
ALONE = {
    "rxe": {
        "write_by_ioctl": (lambda run: (1, 1), "libibverbs asks the kernel by a call too short whether it takes writes as ioctls"),
        "async_event": (lambda run: (1, 1), "a descriptor for asynchronous events: there the socket of the device"),
        "query_port": (lambda run: (1, 1), "of the kernel's: there from the host's hello"),
        "query_gid": (lambda run: (run.pairs, run.pairs), "of the kernel's: there from the host's hello"),
        "mmap": (lambda run: (run.pairs + 2,) * 2 if run.shared else (3, 3),
                 "queues are the kernel's memory, mapped by the process: there the process's, named in the verb"),
        "post_send": (lambda run: (run.count, 2 * run.count if run.shared else run.count),
                      "a post enters the kernel, which sends: there a store to the doorbell"),
        "req_notify_cq": (lambda run: (2, 2 * run.count + 2) if run.events else (0, 0),
                          "arming enters the kernel: there a store to the queue's words"),
    },
    "emulated": {
        "query_device": (lambda run: (1, 1), "limits, asked for once: libibverbs asks when the program does"),
        "map_resource": (lambda run: (1, 1), "doorbells, once for all queue pairs: rxe has none, a post is a call"),
    },
}

failed = 0


def equal(name, got, want):
    global failed
    if got == want:
        print(f"ok - {name}")
        return
    failed += 1
    print(f"not ok - {name}: got {got}, expected {want}")


def between(name, got, least, most):
    global failed
    if least <= got <= most:
        print(f"ok - {name} ({got})")
        return
    failed += 1
    print(f"not ok - {name}: got {got}, expected {least} to {most}")


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


VERBS = {int(number): name
         for number, name in re.findall(r"^VERB_KIND\(\w+, (\d+), \"(\w+)\"\)", text(f"{ROOT}/bpf/verb_kinds.def"), re.M)}


def fields_of(words):
    return dict(word.split("=", 1) for word in words.split())


def trace(path):
    """(pid, event, fields) of each line of the kernel's trace, of which none may be overwritten."""
    whole = text(path)
    kept = WRITTEN.search(whole)
    equal(f"{os.path.basename(path)}: the trace is whole", kept and kept[1], kept and kept[2])
    for line in whole.splitlines():
        match = LINE.match(line)
        if match:
            yield int(match[1]), match[2], fields_of(match[3])


def rxe_verbs(events):
    """Verbs of one process: what it asked for by ioctl or write, with what the driver was told of it."""
    verbs, asked = [], None
    for event, fields in events:
        if event.startswith("write_"):
            name = event.removeprefix("write_")
            verbs.append(WRITES.get(name, name))
            asked = None
            continue
        # A driver's part of the verb before.
        if event == "modified":
            verbs[-1] += f" {STATES[int(fields['state'])]}" if int(fields["mask"], 16) & QP_STATE else ""
            continue
        if event == "registered":
            verbs[-1] += f" {fields['length']}"
            continue
        if asked:
            verbs.append(asked)
        asked = None
        if event == "ioctl":
            method = fields["object"], fields["method"]
            if method == INVOKE_WRITE:
                asked = "write_by_ioctl"
            else:
                verbs.append(IOCTLS.get(method, f"ioctl {method[0]}.{method[1]}"))
        elif event == "write":
            asked = "unknown write"
        else:
            verbs.append({"channel_closed": "destroy_channel"}.get(event, event))
    return verbs + [asked] if asked else verbs


def emulated_verbs(events):
    """Verbs of one device: what its backend carried out."""
    verbs = []
    for _, fields in events:
        name = VERBS.get(int(fields["kind"]), fields["kind"])
        name = FORMS.get(name, name)
        if name == "modify_qp":
            name += f" {PAIR_STATES[int(fields['argument'])]}"
        elif name == "reg_mr":
            name += f" {fields['argument']}"
        verbs.append(name)
    return verbs


def by_key(rows):
    """Lists of (event, fields) by what each row begins with, in the order of their first rows."""
    found = {}
    for key, *rest in rows:
        found.setdefault(key, []).append(tuple(rest))
    return found


def split_alone(verbs, names):
    counts = collections.Counter(verb for verb in verbs if verb in names)
    return [verb for verb in verbs if verb not in names], counts


def wanted_of(run):
    """How often a process calls what creates, changes and destroys, by what the program is told to do."""
    counts = {"alloc_pd": 1, "reg_mr": 1, "create_cq": 1, "create_qp": run.pairs, "modify_qp": 3 * run.pairs, "destroy_qp": run.pairs,
              "destroy_cq": 1, "dereg_mr": 1, "dealloc_pd": 1, "create_channel": run.events, "destroy_channel": run.events,
              "create_srq": run.shared, "destroy_srq": run.shared}
    return {name: count for name, count in counts.items() if count}


def compare_verbs(run, side, rxe, emulated):
    common = {}
    for where, verbs in (("rxe", rxe), ("emulated", emulated)):
        common[where], counts = split_alone(verbs, ALONE[where])
        expected = {name: of(run) for name, (of, _) in ALONE[where].items()}
        wrong = {name: (counts[name], *expected[name]) for name in expected if not expected[name][0] <= counts[name] <= expected[name][1]}
        equal(f"{run.name}, {side}: what {where} alone has, as often as it should", wrong, {})
    equal(f"{run.name}, {side}: {len(common['rxe'])} verbs are the same in the same order", common["emulated"], common["rxe"])
    wanted = wanted_of(run)
    found = collections.Counter(verb.split()[0] for verb in common["rxe"])
    equal(f"{run.name}, {side}: they are the program's", {name: found[name] for name in wanted}, wanted)
    equal(f"{run.name}, {side}: of as many bytes", [verb for verb in common["rxe"] if verb.startswith("reg_mr")], [f"reg_mr {run.size}"])


def statistic(path, name):
    words = text(path).split()
    return int(words[words.index(name) + 1])


def said(path):
    return [int(number) for number in re.findall(r"(\d+) bytes in", text(path))]


def compare_bytes(run, at):
    """What the programs say that they moved, and what either device has counted."""
    wanted = 2 * run.count * run.size
    rxe = said(at("server")) + said(at("client"))
    equal(f"{run.name}: bytes that the programs say, at both", said(at("out")), rxe)
    with open(at("csv"), encoding="utf-8") as file:
        landed = int(next(csv.DictReader(file))["landed_bytes"])
    moved = {name: statistic(at("after"), name) - statistic(at("before"), name)
             for name in ("rdma_sends", "rdma_recvs", "completer_retry_err", "rcvd_rnr_err")}
    sent, received = moved["rdma_sends"] * run.size, moved["rdma_recvs"] * run.size
    # What an acknowledgement that was late made it send again is told twice, and received once.
    again = (moved["completer_retry_err"] + moved["rcvd_rnr_err"]) * run.count * run.size
    if not run.shared:
        equal(f"{run.name}: bytes said, received by rxe, landed by the device", [*rxe, received, landed], [wanted] * 4)
        between(f"{run.name}: bytes sent by rxe", sent, wanted, wanted + again)
        return
    # Either end stops once it has all of its own: what its peer had on the way by then lands, too, or does not.
    equal(f"{run.name}: bytes said", rxe, [wanted] * 2)
    for name, count, most in (("sent by rxe", sent, again), ("received by rxe", received, 0), ("landed by the device", landed, 0)):
        between(f"{run.name}: bytes {name}", count, wanted, wanted + most + 2 * run.pairs * run.size)


def compare(run, at):
    rxe = by_key(trace(at("rxe")))
    backends = by_key((fields["backend"], event, fields) for _, event, fields in trace(at("emulated")) if event == "backend")
    truth = [json.loads(line) for line in text(at("truth")).splitlines()]
    told = by_key((record["device"], record) for record in truth if record["what"] == "verb")
    equal(f"{run.name}: processes at rxe", sorted(rxe), sorted((run.server, run.client)))
    # The server's device comes first in the job, and its guest begins first.
    for side, pid, device, events in zip(("server", "client"), (run.server, run.client), sorted(told), backends.values()):
        records = [record for record, in told[device]]
        equal(f"{run.name}, {side}: commands traced are the truth log's", [int(fields["kind"]) for _, fields in events],
              [record["code"] for record in records])
        equal(f"{run.name}, {side}: none is refused", {record["queue"] for record in records}, {0})
        compare_verbs(run, side, rxe_verbs(rxe.get(pid, [])), emulated_verbs(events))
    equal(f"{run.name}: emulated devices", (len(told), len(backends)), (2, 2))
    compare_bytes(run, at)


def run_of(line):
    name, size, count, server, client, *program = line.split()
    pairs = int(program[program.index("-q") + 1]) if "-q" in program else 1
    return Run(name, int(size), int(count), int(server), int(client), program, pairs, int("ibv_srq_pingpong" in program),
               int("-e" in program))


def main():
    directory = sys.argv[1]
    for line in text(f"{directory}/runs").splitlines():
        run = run_of(line)
        compare(run, lambda kind, name=run.name: f"{directory}/{name}.{kind}")
    for where, verbs in ALONE.items():
        for name, (_, reason) in verbs.items():
            print(f"# {name}, {where} alone: {reason}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
