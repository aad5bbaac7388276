#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Holds what a NIC of a virtual machine's says against what its guest and the programs at both ends have counted.

    compare_vm_nic.py CSVDIR TRUTH RESULTS CONSOLE HASHES

CSVDIR is what `faultline report --csv` wrote of a run of one point, TRUTH its log, RESULTS its CSV, CONSOLE what the guest
has printed (`run --console`): its load's counters, `md5sum` of what it has received and sent, and iperf3 -J.
HASHES has a line of tests/vm/hashes.py for each connection. Prints "ok - ..."/"not ok - ..." lines and the closing line.
"""
import csv
import json
import re
import sys

import compare_frames
import compare_vm
from verdict import closing, result

IPERF3 = "10.77.0.2:5201"


def told(lines):
    """What the guest's load has told: {key: number}."""
    found = (re.search(r"faultline-guest: (\w+) (\d+)$", line) for line in lines)
    return {match[1]: int(match[2]) for match in found if match}


def iperf3(lines):
    """The one object that it printed; a console has tabs as text."""
    text = "\n".join(line.partition(": ")[2].replace("\\t", " ") for line in lines)
    return json.JSONDecoder().raw_decode(text[text.index("{"):])[0]


def equal(name, *pairs):
    result(name, [f"{what}: {got}, expected {expected}" for what, got, expected in pairs if got != expected])


def compare_counters(row, directions, guest):
    """directions: of the table `nic`, {side: (frames, bytes)}."""
    equal(f"what was delivered the guest's kernel has received ({guest['net_frames_in']} frames)",
          ("frames", guest["net_frames_in"], int(row["delivered"])), ("of the report", directions["rx"][0], int(row["delivered"])),
          ("bytes", guest["net_in_bytes"], directions["rx"][1]), ("column", guest["net_frames_in"], int(row["guest_net_frames_in"])))
    equal(f"what it has sent was sent ({guest['net_frames_out']} frames)",
          ("frames", directions["tx"][0], guest["net_frames_out"]), ("bytes", directions["tx"][1], guest["net_out_bytes"]))
    equal("no frame was wrong: it dropped none, TCP found no wrong checksum",
          ("drops", guest["net_drops"], 0), ("errors of TCP", guest["tcp_checksum_errors"], 0), ("errors", int(row["frame_errors"]), 0),
          ("violations", int(row["violations"]), 0), ("bypassed", int(row["bypassed"]), 0))
    equal("frames are delivered, lost or held", ("frames", int(row["frames"]) + int(row["lost_before_nic"]),
                                                  sum(int(row[name]) for name in ("delivered", "lost", "held_now"))))


def compare_pages(row, path):
    counts, origins, out, wrong, _ = compare_vm.truth(path)
    equal(f"pages that were evicted have come back once, or are out yet ({counts['evicted']})",
          ("evictions", int(row["evictions"]), counts["evicted"]), ("come back", origins[compare_vm.FILE] + out, counts["evicted"]),
          ("major", int(row["major"]), origins[compare_vm.FILE]), ("out of turn", wrong, []))
    equal(f"faults are those of the log ({counts['detect']})", ("faults", int(row["faults"]), counts["detect"]))


def compare_hashes(path, lines):
    """Of the one connection with payload: what was sent at each end is what came at the other."""
    with open(path) as file:
        pairs = [line.split() for line in file]
    sums = {match[2]: match[1] for match in (re.search(r"([0-9a-f]{32})  /tmp/(\w+)$", line) for line in lines) if match}
    equal("what each end has sent is what the other has received", ("connections", len(pairs), 1),
          ("to the guest", sums.get("in"), pairs[0][0]), ("from the guest", sums.get("out"), pairs[0][2]))


def compare_iperf3(frames, flows, report, asked):
    """Its data's flow: what the guest's program was given are the bytes that the log has as delivered, each once; what its
    sender says was sent again the kernel has told, besides what it sent again as the test was over."""
    port = report["start"]["connected"][0]["local_port"]
    flow = f"{IPERF3} > 10.77.0.1:{port}"
    bytes_ = set()
    for frame in frames:
        if frame.flow == flow and not frame.lost:
            bytes_.update(frame.sequence())
    received = report["end"]["sum_received"]["bytes"]
    # The beginning and the end of a flow have a number each.
    equal(f"iperf3 has received what was delivered of its flow ({received} bytes)",
          ("bytes", received, asked), ("delivered", len(bytes_), received + 2))
    resent = report["end"]["sum_sent"]["retransmits"]
    row = flows.get(flow, {"retransmits": 0, "lost": 0})
    lost = sum(frame.lost for frame in frames if frame.flow == flow)
    result(f"what it has sent again is in its flow's account ({resent})",
           [] if resent <= int(row["retransmits"]) else [f"told {row['retransmits']}"])
    equal(f"and what that flow has lost ({lost})", ("lost", int(row["lost"]), lost))


def main(directory, log, results, console, hashes):
    with open(results, newline="") as file:
        row, = csv.DictReader(file)
    with open(console, errors="replace") as file:
        lines = [line.rstrip("\n") for line in file]
    nic = {side: [0, 0] for side in ("rx", "tx")}
    for line in csv.DictReader(open(f"{directory}/nic.csv")):
        if line["queue"] and line["side"] in nic:
            nic[line["side"]][0] += int(line["frames"])
            nic[line["side"]][1] += int(line["transferred_bytes"])
    flows = {line["flow"]: line for line in csv.DictReader(open(f"{directory}/flows.csv"))}
    compare_counters(row, nic, told(lines))
    compare_pages(row, log)
    compare_hashes(hashes, lines)
    report = iperf3(lines)
    compare_iperf3(compare_frames.read_truth()[0], flows, report, report["start"]["test_start"]["bytes"])
    resent = sum(int(line["retransmits"]) + int(line["synacks"]) for line in flows.values())
    result(f"segments sent again are no more than the wire's kernel has counted ({resent} of {row['retransmits']})",
           [] if resent <= int(row["retransmits"]) else ["more"])
    return closing()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
