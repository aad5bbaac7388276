#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Traces of translations, independently of lib/translate: from the formats and the rule as docs/ tell them.

    translations.py write FILE SID:DID:COUNT:FIRST:LEVEL...   48-byte records, sources in turn until each has none left
    translations.py merge TENANTS TURN REQUESTS FILE...       packets of each tenant: "TENANT PACKETS" lines, then
                                                              "TENANT ADDRESS SIZE ACCESSES" of every page
    translations.py count FILE...                             translations of each recorded tenant

FILE of merge and count is a .flt recording with I/Os, QEMU's lines, or 48-byte records.
"""
import collections
import re
import struct
import sys

RECORD = struct.Struct("<IHHQQQQQ")  # type, source, domain, IOVA, mask, level, entry, next use
SHIFT = {1: 12, 2: 21, 3: 30}
IO_COMPLETE = 28
LINE = re.compile(r"vtd_iotlb_page_(?:hit|update) IOTLB page (?:hit|update) sid (0x\w+) iova (0x\w+)(?: pmask (0x\w+))?"
                  r" slpte (0x\w+)(?: level (0x\w+))? domain (0x\w+)")


def write(path, specs):
    sources = [[int(part, 0) for part in spec.split(":")] for spec in specs]
    with open(path, "wb") as file:
        for number in range(max(source[2] for source in sources)):
            for sid, did, count, first, level in sources:
                if number < count:
                    shift = SHIFT[level]
                    iova = first + (number % 13 << shift) + number % 7 * 64
                    file.write(RECORD.pack(1, sid, did, iova, (1 << 64) - (1 << shift), level, 0x87, 2**64 - 1))


def read_flt(path):
    import flt_read  # only here: it needs modules that the others do not
    for name, values in flt_read.read(path):
        if name == "event" and values[10] == IO_COMPLETE:
            address, length = values[1], values[2]
            for page in range(address >> 12, (address + max(length, 1) - 1 >> 12) + 1):
                yield (values[4], values[5]), page << 12, 12


def read_records(path):
    with open(path, "rb") as file:
        while record := file.read(RECORD.size):
            _, sid, did, iova, _, level, _, _ = RECORD.unpack(record)
            yield (sid, did), iova, SHIFT[level]


def read_lines(path):
    with open(path, encoding="ascii") as file:
        for line in file:
            if match := LINE.search(line):
                sid, iova, mask, _, level, did = (int(text, 16) if text else 0 for text in match.groups())
                shift = SHIFT[level] if level else (mask & -mask).bit_length() - 1 if mask else 12
                yield (sid, did), iova, shift


def tenants(paths):
    """Pages of each tenant, who are numbered as they come up."""
    found = {}
    for path in paths:
        with open(path, "rb") as file:
            begin = file.read(4)
        read = read_flt if begin == b"\x89FLT" else read_records if begin == b"\1\0\0\0" else read_lines
        for key, iova, shift in read(path):
            found.setdefault((path, key), []).append((iova >> shift << shift, shift))
    return list(found.values())


def merge(count, turn, requests, paths):
    recorded = tenants(paths)
    sent, pages = [0] * count, collections.Counter()
    while True:
        for tenant in range(count):
            for _ in range(turn):
                own = recorded[tenant % len(recorded)]
                packet = own[sent[tenant] * requests:(sent[tenant] + 1) * requests]
                if len(packet) < requests:
                    return sent, pages
                sent[tenant] += 1
                pages.update((tenant, *page) for page in packet)


def main(verb, *arguments):
    if verb == "write":
        write(arguments[0], arguments[1:])
    elif verb == "count":
        for pages in tenants(arguments):
            print(len(pages))
    else:
        sent, pages = merge(*map(int, arguments[:3]), arguments[3:])
        for tenant, packets in enumerate(sent):
            print(tenant, packets)
        for (tenant, iova, shift), accesses in sorted(pages.items()):
            print(tenant, hex(iova), 1 << shift, accesses)


if __name__ == "__main__":
    main(*sys.argv[1:])
