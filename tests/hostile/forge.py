#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Makes .flt recordings that say whatever a test wants, behind sound magics, lengths and checksums.

As a module:

    from forge import KIND, Claim, Recording
    r = Recording()                                     # has a HOST and a CLOCK frame
    r.device(1, name="vm0/disk\\n2026,x").faults(1, 100)
    r.aggregate(rows=Claim(5_000_000, device=1, kind=KIND["IO_COMPLETE"], count=(1, 1)))
    r.end().write("x.flt")

As a command, steps in the order in which they are to be written:

    forge.py flt OUT [STEP...]        forge.py ring PATH SEGMENTS [STEP...]    (the same steps in each)
    forge.py ini OUT [LINE...]        a job or SLO file: escapes as in Python, bytes as \\xNN
    forge.py shelf                    names that strangers give, a line each: NAME, then the text as JSON

    STEPs: device=NAME  devices=COUNT  probe=NAME  probes=COUNT  process=NAME  stack=TEXT  host=NAME
           command=TEXT  faults=COUNT  ios=COUNT  rows=COUNT  pages=COUNT  windows=COUNT  lost=COUNT
           produced=COUNT  kept=COUNT  end=NS-AFTER-START
    Texts have Python's escapes ('vm\\n0', '\\x1b[2J'); '@name' is a text of the shelf. What names a device
    means the last one made. Unless a step `end` comes, an END frame is the last.

docs/flt-format.md is the format; it is written here a second time, so that nothing of the programs
under test decides what a test can say. Needs python3-xxhash and python3-zstandard.
"""
import json
import os
import pathlib
import re
import struct
import sys

import xxhash
import zstandard

MASK = (1 << 64) - 1
START_NS = 1_000_000_000_000  # CLOCK_MONOTONIC where a recording begins
REAL_NS = 1_795_269_723_000_000_000  # and what CLOCK_REALTIME is then
SECOND = 1_000_000_000
PASID_NONE, QUEUE_NONE = 1 << 31, 0xffff

HOST, CLOCK, PROBE, DEVICE, EVENTS, AGGREGATE, LOSS, END, INDEX, STACK, PROCESS, KEPT, RECORDS = range(1, 14)
COMPRESSED, REPEATED = 1, 2  # flags of a frame
RING, SEGMENT = 1, 2  # of a file
READ, WRITE, LAST, MAJOR, GROUP = 1, 2, 16, 32, 64  # of an event
KINDS = pathlib.Path(__file__).resolve().parents[2] / "bpf" / "event_kinds.def"
KIND = {name: int(number) for name, number in re.findall(r"^EVENT_KIND\((\w+), (\d+),", KINDS.read_text(), re.M)}
DETECT, RESUME, IO_COMPLETE = KIND["FAULT_DETECT"], KIND["FAULT_RESUME"], KIND["IO_COMPLETE"]

EVENT = dict(time=8, address=8, length=8, value=8, device=4, pasid=4, group=4, instance=4, pid=4,
             tid=4, kind=2, queue=2, cpu=2, code=1, flags=1)
TICK = dict(position=8, now=8)
ROW = dict(window=8, device=4, pid=4, kind=2, queue=2, code=1, flags=1, count=8, bytes=8,
           latency_sum=8, latency_max=8, histogram=4, bins=4)
BIN = dict(bucket=4, count=4)
PAGE = dict(page=8, device=4, reads=4, writes=4, pasid=4)

# What strangers call their devices, processes, hosts and kernels.
SHELF = {
    "row": "x\n2026-11-21T14:02:03.000000000Z',I/O page fault,y,1\n",
    "gnuplot": "x\n'; system('touch pwned'); a='.1,I/O page fault,vm0/disk,1",
    "shell": "$(touch pwned)`touch pwned`;touch pwned;'\"",
    "quotes": "a \"b\", 'c'",
    "carriage": "good\rbad\r\nworse",
    "formula": "=cmd|' /C touch pwned'!A0",
    "format": "%s%n%s%n%1000000d",
    "escape": "\x1b[2J\x1b[1;31mred\x1b[0m",
    "title": "\x1b]0;owned\x07",
    "clipboard": "\x1b]52;c;dG91Y2ggcHduZWQK\x07",
    "answerback": "\x05\x1b[6n\x1b[c",
    "backspaces": "bad\b\b\bgood\x7f",
    "c1": b"\x9b2Jx\x9d0;owned\x9c",
    "c1-utf8": "\x9b2Jx",
    "bidi": "abc\u202etxt.exe\u2066x\u2069\u200f",
    "invisible": "a\u200b\u2060\ufeffb\u00adc\u2028d",
    "combining": "a" + "\u0301" * 20,
    "invalid": b"\xff\xfe\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82",
    "umlaut": "gerät/größe",
    "long": "x" * 63,
    "longer": "y" * 5000,
    "empty": "",
    "path": "../../../../tmp/pwned",
    "option": "--force",
    "pattern": "[a-",
}


def raw(text):
    return text if isinstance(text, bytes) else text.encode()


class Claim:
    """So many records as columns without a single plane: a handful of bytes, whatever the count.
    Fields are numbers, or (first, step); those left out are 0."""

    def __init__(self, number, /, **fields):
        self.count, self.fields = number, fields

    def columns(self, sizes):
        unknown = self.fields.keys() - sizes.keys()
        assert not unknown, unknown
        for name in sizes:
            value = self.fields.get(name, 0)
            first, step = value if isinstance(value, tuple) else (value, 0)
            yield struct.pack("<BBBBQQ", 1, 0, 0, 0, step & MASK, (first - step) & MASK)


class Records:
    """Records as dictionaries; fields left out are 0."""

    def __init__(self, records):
        self.records = list(records)
        self.count = len(self.records)

    def columns(self, sizes):
        for record in self.records:
            assert record.keys() <= sizes.keys(), record.keys() - sizes.keys()
        for name in sizes:
            yield column([record.get(name, 0) & MASK for record in self.records])


def column(values):
    least, most = min(values, default=0), max(values, default=0)
    planes = ((most - least).bit_length() + 7) // 8
    return struct.pack("<BBBBQ", 0, planes, 0, 0, least) + b"".join(
        bytes((value - least) >> 8 * plane & 0xff for value in values) for plane in range(planes))


def records(what):
    return what if isinstance(what, Claim) else Records(what)


def packed(codes, *values):
    """t: text, else a code of struct."""
    out = b""
    for code, value in zip(codes, values, strict=True):
        if code == "t":
            value = raw(value)[:0xffff]
            out += struct.pack("<H", len(value)) + value
        else:
            out += struct.pack("<" + code, value)
    return out


class Recording:
    """A file from its first byte on. Every step returns the recording."""

    def __init__(self, host="stranger", recording=0x600df00d, flags=0, segment=0, sequence=0,
                 preamble=True):
        self.recording, self.sequence = recording, sequence
        self.now = START_NS
        self.last_device = self.groups = 0
        header = struct.pack("<8sIIIIII", b"\x89FLT\r\n\x1a\n", 1, 1, recording, flags, segment, 0)
        self.bytes = bytearray(header + struct.pack("<Q", xxhash.xxh3_64_intdigest(header)))
        if preamble:
            self.host(hostname=host).clock()

    def frame(self, kind, payload, count=1, flags=0, first=None, last=None, raw_length=None,
              stored_length=None, compress=None):
        """One frame. What it claims of itself may be anything; checksums are of what is stored."""
        stored = bytes(payload)
        if compress or (compress is None and len(stored) > 512):
            stored, flags = zstandard.ZstdCompressor().compress(stored), flags | COMPRESSED
        self.now = max(self.now, 0 if last is None else last & MASK)
        header = struct.pack("<IIBBHIQIIQQQ", 0xf54c46b5, self.recording, kind, flags, 0, count,
                             self.sequence, len(payload) if raw_length is None else raw_length,
                             len(stored) if stored_length is None else stored_length,
                             self.now if first is None else first & MASK,
                             self.now if last is None else last & MASK,
                             xxhash.xxh3_64_intdigest(stored))
        self.bytes += header + struct.pack("<Q", xxhash.xxh3_64_intdigest(header)) + stored
        self.sequence += 1
        return self

    def host(self, hostname="stranger", kernel="6.1.0-stranger", boot="boot", version="0.1.0",
             command="faultline record", cpus=2, page_size=4096, start=START_NS, devices="", kinds="",
             **frame):
        return self.frame(HOST, packed("tttttIIQtt", hostname, kernel, boot, version, command, cpus,
                                       page_size, start & MASK, devices, kinds), **frame)

    def clock(self, monotonic=START_NS, real=REAL_NS, **frame):
        return self.frame(CLOCK, packed("QQ", monotonic & MASK, real & MASK), **frame)

    def probe(self, name, attach="usdt faultline", reason="", state=1, hits=1, emitted=1, lost=0,
              missed=0, **frame):
        return self.frame(PROBE, packed("tttIQQQQ", name, attach, reason, state, hits, emitted, lost,
                                        missed), **frame)

    def device(self, handle=None, name="vm0/disk", kind=1, model="block", vm="vm0", comm="inject",
               iommu_group=-1, pid=4711, pid_start=1, cgroup=0, source=None, queues=1, memory=1 << 26,
               first=START_NS, mapped_at=0, **frame):
        self.last_device = handle = self.last_device + 1 if handle is None else handle
        return self.frame(DEVICE, packed("IIttttiIQQQIQQQ", handle, kind, name, model, vm, comm,
                                         iommu_group, pid, pid_start, cgroup,
                                         handle if source is None else source, queues, memory,
                                         first & MASK, mapped_at), **frame)

    def stack(self, number, text, depth=3, **frame):
        return self.frame(STACK, packed("IIt", number, depth, text), **frame)

    def process(self, pid, name, first=START_NS, **frame):
        return self.frame(PROCESS, packed("IQt", pid, first & MASK, name), **frame)

    def loss(self, *counters, **frame):
        """produced, received, lost, missed, ... in the order of docs/flt-format.md."""
        values = list(counters) + [0] * (14 - len(counters))
        return self.frame(LOSS, packed("Q" * 14, *values), **frame)

    def kept(self, since, segments, events, **frame):
        return self.frame(KEPT, packed("QQQ", since & MASK, segments, events), **frame)

    def events(self, events, ticks=(), count=None, **frame):
        events, ticks = records(events), records(ticks)
        payload = struct.pack("<I", ticks.count)
        payload += b"".join(events.columns(EVENT)) + b"".join(ticks.columns(TICK))
        if isinstance(events, Records) and events.count:
            times = [event.get("time", 0) & MASK for event in events.records]
            frame = {"first": min(times), "last": max(times), **frame}
        return self.frame(EVENTS, payload, events.count if count is None else count, **frame)

    def aggregate(self, window=None, rows=(), bins=(), pages=(), incomplete=0, **frame):
        """A window, unless told otherwise the one behind all that was written so far."""
        window = self.now // SECOND + 1 if window is None else window
        parts = [(records(rows), ROW), (records(bins), BIN), (records(pages), PAGE)]
        payload = struct.pack("<QBIII", window & MASK, incomplete, *(part.count for part, _ in parts))
        payload += b"".join(b"".join(part.columns(sizes)) for part, sizes in parts)
        frame = {"first": window * SECOND & MASK, "last": (window * SECOND + SECOND - 1) & MASK, **frame}
        return self.frame(AGGREGATE, payload, **frame)

    def fault(self, device=None, at=None, stages=RESUME, step=10_000, group=None, instance=1, pages=1,
              **fields):
        """The events of one fault, up to that stage."""
        device = self.last_device if device is None else device
        at = self.now + 1000 if at is None else at
        if group is None:
            self.groups += 1
            group = self.groups
        event = dict(address=0x10000 + group * 4096, length=4096 * pages, device=device, queue=0,
                     pasid=PASID_NONE, group=group, instance=instance, pid=4711, tid=4712, **fields)
        self.now = max(self.now, at + step * stages)
        return [dict(event, time=at + step * (kind - DETECT), kind=kind,
                     flags=READ | LAST | (GROUP if kind in (4, 7, 8) else 0))
                for kind in range(DETECT, DETECT + stages)]

    def faults(self, device=None, count=1, each=1000, **fields):
        """So many complete faults, in frames as the recorder writes them."""
        while count > 0:
            some = min(count, each)
            self.events([event for _ in range(some) for event in self.fault(device, **fields)])
            count -= some
        return self

    def ios(self, device=None, count=1, latency=1_000_000, gap=10_000, **fields):
        device = self.last_device if device is None else device
        begin = self.now
        for at in range(0, count, 16384):
            some = min(count - at, 16384)
            self.events([dict(dict(time=begin + (at + i + 1) * gap, address=i * 4096, length=4096,
                                   value=latency, device=device, queue=0, pasid=PASID_NONE,
                                   kind=IO_COMPLETE, flags=READ), **fields) for i in range(some)])
        return self

    def end(self, at=None, **frame):
        at = self.now + 1 if at is None else at
        return self.frame(END, packed("Q", at & MASK), **frame)

    def __bytes__(self):
        return bytes(self.bytes)

    def write(self, path):
        pathlib.Path(path).write_bytes(self.bytes)
        return self


def write_ring(path, segments, recording=0x600df00d):
    """A flight recorder's files: `segments` are functions that fill the Recording they are given, or None."""
    Recording(recording=recording, flags=RING, preamble=False).write(path)
    sequence = 0
    for number, fill in enumerate(segments, 1):
        r = Recording(recording=recording, flags=SEGMENT, segment=number, sequence=sequence,
                      preamble=False)
        repeated = {"flags": REPEATED if number > 1 else 0}
        if number > 1:
            r.kept(0, 0, 0, **repeated)
        r.host(**repeated).clock(**repeated)
        if fill:
            fill(r)
        if number == len(segments):
            r.end()
        sequence = r.sequence
        r.write(f"{path}.{number:06}")


def text_of(word):
    """'@name': a text of the shelf; else with Python's escapes, \\xNN below 256 as that very byte."""
    if word.startswith("@"):
        return raw(SHELF[word[1:]])
    return b"".join(bytes([ord(c)]) if ord(c) < 256 else c.encode()
                    for c in os.fsencode(word).decode("unicode_escape"))


def rows_of_windows(r, windows):
    for _ in range(windows):
        r.aggregate(rows=[dict(window=r.now // SECOND + 1, device=r.last_device, kind=IO_COMPLETE,
                               queue=0, count=1, bytes=4096, latency_sum=1000, latency_max=1000)])


STEPS = {
    "host": lambda r, t: r.host(hostname=t),
    "command": lambda r, t: r.host(command=t),
    "device": lambda r, t: r.device(name=t),
    "probe": lambda r, t: r.probe(t),
    "process": lambda r, t: r.process(4711, t),
    "stack": lambda r, t: r.stack(1, t),
}
COUNTED_STEPS = {
    "devices": lambda r, n: [r.device(name=f"vm{i}/disk") for i in range(n)],
    "probes": lambda r, n: [r.probe(f"probe{i}", hits=i) for i in range(n)],
    "faults": lambda r, n: r.faults(count=n),
    "ios": lambda r, n: r.ios(count=n),
    "rows": lambda r, n: r.aggregate(rows=Claim(n, window=r.now // SECOND + 1, device=r.last_device,
                                                kind=IO_COMPLETE, count=1, pid=(1, 1))),
    "pages": lambda r, n: r.aggregate(pages=Claim(n, page=(0, 1), device=r.last_device, reads=1)),
    "windows": rows_of_windows,
    "lost": lambda r, n: r.loss(n, 0, n),
    "produced": lambda r, n: r.loss(n, n),
    "kept": lambda r, n: r.kept(r.now, n, n),
    "end": lambda r, n: r.end(START_NS + n),
}


def take_steps(recording, words):
    for word in words:
        step, _, value = word.partition("=")
        if step in STEPS:
            STEPS[step](recording, text_of(value))
        elif step in COUNTED_STEPS:
            COUNTED_STEPS[step](recording, int(value, 0))
        else:
            sys.exit(f"forge.py: {word}: no such step")


def main(words):
    if words == ["shelf"]:
        for name, text in SHELF.items():
            print(name, json.dumps(raw(text).decode("latin-1")))
    elif len(words) > 1 and words[0] == "flt":
        recording = Recording()
        take_steps(recording, words[2:])
        if not any(word.startswith("end=") for word in words[2:]):
            recording.end()
        recording.write(words[1])
    elif len(words) > 2 and words[0] == "ring":
        write_ring(words[1], [lambda r: take_steps(r, words[3:])] * int(words[2]))
    elif len(words) > 1 and words[0] == "ini":
        pathlib.Path(words[1]).write_bytes(b"".join(text_of(line) + b"\n" for line in words[2:]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
