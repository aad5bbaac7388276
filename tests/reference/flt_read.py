#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""An independent reader of .flt recordings, written from docs/flt-format.md alone.

    flt_read.py FILE [HOST]

HOST is the number of one in a merged recording. Prints one line a call: its name, then its fields in the order of the format, texts as hexadecimal.
As a module: read(path). Needs python3-zstandard and python3-xxhash. Takes ordinary files that are
undamaged, though perhaps cut: it exists to hold the C reader and the documentation to each other.
"""
import struct
import sys

import xxhash
import zstandard

EVENT = [8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 2, 2, 2, 1, 1]
TICK = [8, 8]
ROW = [8, 4, 4, 2, 2, 1, 1, 8, 8, 8, 8, 4, 4]
BIN = [4, 4]
PAGE = [8, 4, 4, 4, 4]
HOST_START = 7  # of a host's fields
RECORDS = {  # t: text, a: an address' 16 bytes, B: u8, H: u16, I: u32, i: s32, Q: u64
    1: ("host", "tttttIIQtt"),
    2: ("clock", "QQ"),
    3: ("probe", "tttIQQQQ"),
    4: ("device", "IIttttiIQQQIQQQ"),
    7: ("loss", "QQQQQQQQQQQQQQQQQ"),
    8: ("end", "Q"),
    10: ("stack", "IIt"),
    11: ("process", "IQt"),
    12: ("kept", "QQQ"),
    14: ("flow", "IIBBHHHaa"),
}
EVENTS, AGGREGATE, SEVERAL = 5, 6, 13
NAMES = {4, 10, 11, 14}  # device, stack, process, flow: the first field tells one from another


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if self.at + size > len(self.data):
            raise ValueError("payload too short")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, code):
        return struct.unpack("<" + code, self.take(struct.calcsize(code)))[0]

    def field(self, code):
        if code == "a":
            return self.take(16).hex()
        return self.take(self.number("H")).hex() if code == "t" else self.number(code)


def column(cursor, count, size):
    mode, planes, shift = cursor.number("B"), cursor.number("B"), cursor.number("B")
    cursor.take(1)
    base = cursor.number("Q")
    last = cursor.number("Q") if mode == 1 else 0
    data = [cursor.take(count) for _ in range(planes)]
    values = []
    for i in range(count):
        value = base + (sum(plane[i] << 8 * k for k, plane in enumerate(data)) << shift)
        if mode == 1:
            last = value = last + value
        values.append(value % (1 << 8 * size))
    return values


def records(cursor, count, sizes):
    return list(zip(*[column(cursor, count, size) for size in sizes]))


def events(cursor, count):
    ticks = cursor.number("I")
    found = records(cursor, count, EVENT)
    ticks = records(cursor, ticks, TICK)
    for i, event in enumerate(found):
        while ticks and ticks[0][0] <= i:
            yield "tick", ticks.pop(0)[1:]
        yield "event", event
    for tick in ticks:
        yield "tick", tick[1:]


def aggregate(cursor):
    window, incomplete = cursor.number("Q"), cursor.number("B")
    rows, bins, pages = cursor.number("I"), cursor.number("I"), cursor.number("I")
    yield "aggregate", (window, incomplete, rows, bins, pages)
    for name, count, sizes in ("row", rows, ROW), ("bin", bins, BIN), ("page", pages, PAGE):
        for record in records(cursor, count, sizes):
            yield name, record


def record(kind, cursor, told, again):
    """Devices, stacks, processes and flows that are told again are for those who have not heard of them."""
    name, codes = RECORDS[kind]
    fields = [cursor.field(code) for code in codes]
    if not (again and (kind, fields[0]) in told):
        yield name, fields
    if kind in NAMES:
        told.add((kind, fields[0]))


def decode(kind, again, count, cursor, told):
    if kind == EVENTS:
        yield from events(cursor, count)
    elif kind == AGGREGATE:
        yield from aggregate(cursor)
    elif kind in RECORDS:
        yield from record(kind, cursor, told, again)
    elif kind == SEVERAL:
        while cursor.at < len(cursor.data):
            kind, size = cursor.number("B"), cursor.number("I")
            payload = Cursor(cursor.take(size))
            if kind in RECORDS:
                yield from record(kind, payload, told, again)


def frames(data, recording, wanted):
    """Payloads of a host as (type, repeated, count, bytes), up to where the file was cut."""
    at, sequence = 40, 0
    while at + 64 <= len(data):
        (magic, number, kind, flags, host, count, found, raw, stored, _, _, payload_sum,
         header_sum) = struct.unpack_from("<IIBBHIQIIQQQQ", data, at)
        if magic != 0xf54c46b5 or number != recording or found != sequence:
            raise ValueError(f"no frame {sequence} at byte {at}")
        if xxhash.xxh3_64_intdigest(data[at:at + 56]) != header_sum:
            raise ValueError(f"header checksum at byte {at}")
        payload = data[at + 64:at + 64 + stored]
        if len(payload) < stored:
            return
        if xxhash.xxh3_64_intdigest(payload) != payload_sum:
            raise ValueError(f"payload checksum at byte {at}")
        if flags & 1 and host == wanted:
            payload = zstandard.ZstdDecompressor().decompress(payload, max_output_size=raw)
        if host == wanted:
            yield kind, bool(flags & 6), count, payload
        at += 64 + stored
        sequence += 1


def read(path, host=0):
    """All calls of a recording, or of a host of a merged one, as (name, fields)."""
    with open(path, "rb") as file:
        data = file.read()
    magic, version, event_version, recording, _, _, _, checksum = struct.unpack_from(
        "<8sIIIIIIQ", data)
    if magic != b"\x89FLT\r\n\x1a\n" or (version, event_version) != (2 if host else 1, 1):
        raise ValueError(f"no recording of {'several hosts' if host else 'one host'} that this reads")
    if xxhash.xxh3_64_intdigest(data[:32]) != checksum:
        raise ValueError("file header checksum")
    told = set()
    for kind, again, count, payload in frames(data, recording, host):
        yield from decode(kind, again, count, Cursor(payload), told)


if __name__ == "__main__":
    for name, fields in read(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0):
        print(name, *fields)
