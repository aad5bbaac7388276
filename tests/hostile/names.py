#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Names that strangers give, in every place of a recording that has one, through every verb and form.

    names.py make FILE             writes a recording of devices, processes, probes, a host, ... of such names
    names.py text PROGRAM FILE     what people read is printable ASCII, and shows each name escaped
    names.py json PROGRAM FILE     is JSON in UTF-8 with every name
    names.py csv PROGRAM FILE DIR  is CSV by RFC 4180 with every name as it is
    names.py terminal PROGRAM FILE CSV on a terminal is escaped, too
    names.py screen PROGRAM FILE   `top` on a terminal
    names.py shared PROGRAM FILE   writes a recording of devices that share names: who has which is told everywhere
"""
import collections
import csv
import io
import json
import os
import pathlib
import pty
import re
import subprocess
import sys
import unicodedata

from forge import KIND, SHELF, Claim, Recording, raw

# Of a name there is room for 63 bytes, and a NUL would end it.
NAMES = [raw(text)[:63] for text in SHELF.values() if text]
SLO = "[slo \x1b[2J\x07\u202e]\nlatency_target = 1us\nfault_rate = 0\n[slo rest]\nburst = 1\ndevice = \x1b]0;owned*\n"
# A verb, its arguments, whether it has JSON and tables in a folder.
VERBS = [
    ("report", [], True), ("report", ["--wide"], False), ("timeline", [], False), ("timeline", ["--all"], True), ("explain", ["--all"], True),
    ("footprint", [], True), ("diff", ["names.flt"], True), ("slo", ["-c", "names.slo"], True), ("top", ["-b", "-i"], True),
    ("accesses", ["--trace"], True), ("sim", ["--trace"], True), ("doctor", [], True),
]
# Views of `top`, of which each is a verb of its own here.
VIEWS = ("iommu", "dma", "vfio", "rdma")


def make(path):
    r = Recording(preamble=False)
    hostile = b"\x1b]0;owned\x07\xe2\x80\xae\n"
    r.host(hostname=hostile, kernel=hostile, boot=hostile, version=hostile, command=hostile).clock()
    for name in ("fault_detect", "fault_request", "fault_isr", "fault_handler", "fault_resolved", "fault_mapped",
                 "fault_response", "fault_resume", "io_complete"):
        r.probe(name, hits=1000, emitted=1000)
    for i, name in enumerate(NAMES):
        r.probe(name, attach=name, reason=name, state=i % 3)
        r.process(4711, name[:15])
        r.device(name=name, model=name, vm=name, comm=name[:15], pid=4711 + i)
        r.stack(i + 1, name * 3)
        r.faults(count=7).ios(count=11)
        r.events([dict(time=r.now + 1, kind=KIND["CPU_FAULT"], address=4096, pid=4711, tid=4711, flags=2)])
        r.aggregate(rows=[dict(window=r.now // 10**9 + 1, device=r.last_device, kind=KIND["IO_COMPLETE"], queue=0,
                               count=11, bytes=4096, latency_sum=1000, latency_max=1000)],
                    pages=Claim(5, page=(0, 1), device=r.last_device, reads=1))
    r.loss(10000, 10000)
    r.end().write(path)
    pathlib.Path("names.slo").write_text(SLO, encoding="utf-8")


def run(program, verb, arguments, path, *more):
    done = subprocess.run([program, verb, *arguments, path, *more], capture_output=True, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 5, 6):
        sys.exit(f"{verb} {arguments} {more}: exit {done.returncode}: {done.stderr[:500]}")
    return done


def plain(what, output):
    found = re.search(rb"[^\n -~]", output)
    if found:
        sys.exit(f"{what}: {output[max(found.start() - 60, 0):found.end() + 20]}")


def escaped(name):
    """As lib/base/printable.h says, told by another program."""
    out = ""
    for c in name.decode("utf-8", "surrogateescape"):
        code = ord(c)
        if 0xdc80 <= code <= 0xdcff:
            out += f"\\x{code - 0xdc00:02x}"
        elif c in "\n\r\t":
            out += {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[c]
        elif 0x20 <= code < 0x7f:
            out += c
        else:
            out += f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return out


def text(program, path):
    everything = b""
    for verb, arguments, _ in VERBS:
        done = run(program, verb, arguments, path)
        plain(f"{verb} {arguments}", done.stdout)
        plain(f"{verb} {arguments}, stderr", done.stderr)
        everything += done.stdout
    for view in VIEWS:
        plain(view, run(program, "top", ["-b", "--view", view, "-i"], path).stdout)
    for name in NAMES:
        # A note's words are set apart by one blank.
        if escaped(name).encode() not in everything:
            sys.exit(f"{name} is not shown as {escaped(name)}")
    # Error messages: an option, an input, a table of such a name.
    for words in (["report", "\x1b]0;owned\x07.flt"], ["report", path, "--table", "\x1b[2J"], ["\x1b[2J"],
                  ["report", "\u202e", "\x1b[2J\n"], ["report", "--\x1b[2J"], ["report", "-\x1b"],
                  ["report", path, "--since", "\x9b2J"], ["slo", path, "-c", "\x1bnowhere"]):
        done = subprocess.run([program, *words], capture_output=True, check=False)
        if done.returncode not in (2, 3) or not done.stderr:
            sys.exit(f"{words}: exit {done.returncode}: {done.stderr}")
        plain(str(words), done.stderr + done.stdout)


def in_json(name):
    return "".join(f"\\x{ord(c) - 0xdc00:02x}" if 0xdc80 <= ord(c) <= 0xdcff else c
                   for c in name.decode("utf-8", "surrogateescape"))


def as_json(program, path):
    for verb, arguments, tables in VERBS:
        if not tables:
            continue
        output = run(program, verb, arguments, path, "--json").stdout
        if re.search(rb"[^\n -~]", output):
            sys.exit(f"{verb}: not in visible ASCII")
        found = json.loads(output)
        if verb == "report":
            names = {row["device"] for row in found["tables"]["devices"]}
            lost = {in_json(name) for name in NAMES} - names
            if lost or len(found["tables"]["probes"]) < len(NAMES):
                sys.exit(f"devices lost: {lost}")


def as_csv(program, path, directory):
    run(program, "report", [], path, f"--csv={directory}")
    tables = 0
    for file in pathlib.Path(directory).glob("*.csv"):
        data = file.read_bytes()
        text = io.StringIO(data.decode("utf-8", "surrogateescape"), newline="")
        rows = list(csv.reader(text, strict=True))
        wrong = [row for row in rows if len(row) != len(rows[0])]
        if wrong:
            sys.exit(f"{file}: {wrong[0]}")
        tables += 1
        if file.stem == "devices":
            at = rows[0].index("device")
            lost = {name.decode("utf-8", "surrogateescape") for name in NAMES} - {row[at] for row in rows[1:]}
            if lost:
                sys.exit(f"devices lost: {lost}")
    if tables < 20:
        sys.exit(f"only {tables} tables")


def on_terminal(words, keys=b""):
    """What a program writes to a terminal of 200x60 until it ends."""
    child, terminal = pty.fork()
    if not child:
        os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8", LINES="60", COLUMNS="200")
        os.execv(words[0], words)
    output = b""
    while True:
        try:
            some = os.read(terminal, 65536)
        except OSError:
            some = b""
        if not some:
            break
        output += some
        # Keys go to whoever has drawn a screen.
        if keys and b"DEVICE" in output:
            os.write(terminal, keys[:1])
            keys = keys[1:]
    os.waitpid(child, 0)
    return output


DANGEROUS = [rb"\x1b\]0;owned", rb"\x1b\]52;", rb"\x9b2J", rb"\xc2\x9b", "\u202e".encode(), rb"\x1b\[6n", rb"\x05",
             rb"\xff"]


def not_steered(what, output, shown):
    for pattern in DANGEROUS:
        found = re.search(pattern, output)
        if found:
            sys.exit(f"{what}: {output[max(found.start() - 40, 0):found.end() + 40]}")
    if shown not in output:
        sys.exit(f"{what}: {shown} is not shown: {output[-2000:]}")


def terminal(program, path):
    not_steered("csv", on_terminal([program, "report", path, "--csv", "--table", "devices"]), rb"\x1b]0;owned\x07")


def screen(program, path):
    """The devices, then the help of each kind of screen, the detail of one, its filter, the end."""
    output = on_terminal([program, "top", "-i", path], keys=b"jjjj\rq\t\t\t\tqq")
    not_steered("top", output, rb"\x1b")


# By handle. Two machines, a machine that has the process of one before it, and what was plugged in again.
SHARED = {1: "vm/disk#4711", 2: "vm/disk#4712", 3: "0000:00:05.0#3", 4: "0000:00:05.0#4", 5: "vm/nic",
          6: "vm/late#4713.6", 7: "vm/late#4713.7", 8: "vm/quite-a-long-name#4711", 9: "vm/quite-a-long-name#4712"}
FAULTS = {name: 10 + handle for handle, name in SHARED.items()}


def make_shared(path):
    r = Recording()
    for name in ("fault_detect", "fault_request", "fault_isr", "fault_handler", "fault_resolved", "fault_mapped",
                 "fault_response", "fault_resume", "io_complete"):
        r.probe(name, hits=1000, emitted=1000)
    for handle, shown in SHARED.items():
        name, _, number = shown.partition("#")
        kernel = name[0] == "0"
        # What one did is written before the next of its name is met; a later segment tells it again.
        for _ in range(2):
            r.device(handle, name=name, kind=2 if kernel else 1, pid=0 if kernel else int(number.split(".")[0] or 4711))
        r.faults(count=FAULTS[shown]).ios(count=11)
        r.now += 300_000_000  # intervals of `top`
        window = r.now // 10**9 + 1
        r.aggregate(rows=[dict(window=window, device=handle, kind=KIND["IO_COMPLETE"], queue=0, count=11,
                               bytes=4096, latency_sum=11_000_000, latency_max=1_000_000)],
                    pages=Claim(5, page=(0, 1), device=handle, reads=1))
    r.loss(10000, 10000).end().write(path)


def told(program, verb, arguments, path, table):
    """Of each name the rows of a table, of `top` those of its last look."""
    rows = json.loads(run(program, verb, ["--json", *arguments], path).stdout)["tables"][table]
    return collections.Counter(row["device"] for row in rows if row.get("time") == rows[-1].get("time"))


def same(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found}, not {expected}")


def shared(program, path):
    """One whose name is its own keeps it; the others are told apart in all that names them."""
    make_shared(path)
    names = set(SHARED.values())
    for table in ("summary", "stages", "queues", "bursts", "io_devices", "ios", "rates", "counts", "footprint",
                  "footprint_curve", "devices"):
        same(table, set(told(program, "report", [], path, table)) - {"all", "-"}, names)
    same("faults", told(program, "report", [], path, "faults"), FAULTS)
    same("timeline", told(program, "timeline", ["--all"], path, "faults"), FAULTS)
    same("footprint", set(told(program, "footprint", [], path, "footprint")) - {"all"}, names)
    # In text, too, also where the name is longer than its column; what `top` said before it knew all is its own.
    for verb, arguments in (("report", []), ("timeline", ["--all"]), ("footprint", []), ("top", ["-b", "-i"])):
        output = run(program, verb, arguments, path).stdout.decode()
        output = output[output.rindex("DEVICE") if verb == "top" else 0:]
        for name in names:
            base, mark, tail = name.partition("#")
            if not re.search(rf"{re.escape(base[:5])}[^ #]*{mark}{re.escape(tail)}(?![^ \n:,.])", output):
                sys.exit(f"{verb}: {name} is not shown: {output[-2000:]}")
            if mark and re.search(rf"{re.escape(base)}(?![^ \n:,])", output):
                sys.exit(f"{verb}: {base} is not told apart: {output[-2000:]}")
    # A row of `top` changes its name when a second device of that is met, and keeps its handle.
    rows = json.loads(run(program, "top", ["-b", "--json", "-i"], path, "100ms").stdout)["tables"]["top"]
    called = {(int(row["handle"]), row["device"]) for row in rows if row["device"] != "all"}
    same("top's handles of devices", {handle for handle, _ in called}, set(SHARED))
    same("top's names of handles", called - set(SHARED.items()),
         {(handle, name.split("#")[0]) for handle, name in SHARED.items() if handle in (3, 6, 8)})
    # A pattern fits all of a name, or, with #, one of them; without, what it does not show is no part of a name.
    for pattern, fits in (("vm/disk", (1, 2)), ("vm/disk#4712", (2,)), ("*#4711", (1, 5, 8)), ("vm/late#4713", (6, 7)),
                          ("vm/late#4713.7", (7,)), ("0000:00:05.0", (3, 4)), ("0000:00:05.0#4", (4,)), ("*2", ())):
        expected = {SHARED[handle] for handle in fits}
        same(f"timeline -d {pattern}", set(told(program, "timeline", ["--all", "-d", pattern], path, "faults")), expected)
        same(f"top -d {pattern}", set(told(program, "top", ["-b", "-d", pattern, "-i"], path, "top")) - {"all"}, expected)
        pathlib.Path("shared.slo").write_text(f"[slo few]\nfault_rate = 1/s\ndevice = {pattern}\n", encoding="utf-8")
        same(f"slo of {pattern}", set(told(program, "slo", ["-c", "shared.slo"], path, "slo")) - {""}, expected)


if __name__ == "__main__":
    assert unicodedata.category("\u202e") == "Cf"
    {"make": make, "text": text, "json": as_json, "csv": as_csv, "terminal": terminal,
     "screen": screen, "shared": shared}[sys.argv[1]](*sys.argv[2:])
