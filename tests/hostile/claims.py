#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Recordings that name far more than they hold.

    claims.py DIRECTORY    writes NAME.flt for each function below

Each is a few kilobytes of columns without a plane, so that what a frame says is in it is a claim.
"""
import pathlib
import random
import struct
import sys

from forge import (DETECT, IO_COMPLETE, KIND, LOSS, PASID_NONE, PROBE, READ, RECORDS, SECOND, START_NS, Claim,
                   Recording, packed)

PAGES = 1 << 20  # of one window, at most: AGGREGATE_PAGES_MAX
ROWS = 1 << 17  # AGGREGATE_ROWS_MAX
BIN = [{"bucket": 5, "count": 1}]


def pages():
    """Twenty seconds, in each of which a device touched 4 GiB that it had not touched before."""
    r = Recording().device(name="vm0/disk", memory=1 << 40).faults(count=3)
    for i in range(20):
        r.aggregate(pages=Claim(PAGES, page=(i * PAGES, 1), device=1, reads=1))
    return r


def too_many_pages():
    r = Recording().device()
    for i in range(20):
        r.aggregate(pages=Claim(2_700_000, page=(i << 32, 1), device=1, reads=1))
    return r


def too_many_rows():
    r = Recording().device()
    for _ in range(20):
        r.aggregate(rows=Claim(900_000, device=(1, 1), kind=IO_COMPLETE, count=1, bins=1), bins=BIN)
    return r


def rows_of_no_device():
    r = Recording().device()
    for i in range(20):
        r.aggregate(rows=Claim(ROWS, device=(i * ROWS, 1), kind=IO_COMPLETE, count=1, bins=1), bins=BIN)
    return r


def rows_of_no_kind():
    r = Recording().device()
    for _ in range(20):
        r.aggregate(rows=Claim(ROWS, device=1, kind=(0, 1), pid=(1, 1), count=1, latency_sum=9, latency_max=9,
                               bins=1), bins=BIN)
    return r


def events_of_no_device():
    """Faults, I/O and DMA mappings of 65536 devices, none of which is told."""
    r = Recording().device()
    for name in ("FAULT_DETECT", "FAULT_REQUEST", "FAULT_RESUME", "INVALIDATE_START", "IOMMU_FAULT", "VFIO_MAP",
                 "IO_COMPLETE", "DMA_MAP", "RDMA_COUNTER"):
        for first in range(0, 65536, 16384):
            r.events(Claim(16384, time=(r.now, 1000), device=(first, 1), kind=KIND[name], group=(1, 1), queue=(0, 1),
                           pasid=PASID_NONE, instance=1, value=5_000_000, length=4096, flags=READ),
                     last=r.now + 16384 * 1000)
    return r


def device_of_no_table(**does):
    """What device 1 does, and what one does whose handle is the first that there is no table for."""
    r = Recording().device().faults(count=3)
    return r.aggregate(pages=[{"page": 7, "device": 1, "reads": 1}]).aggregate(**does)


def pages_of_no_table():
    return device_of_no_table(pages=[{"page": 1, "device": 65536, "reads": 1}])


def rows_of_no_table():
    return device_of_no_table(rows=[{"device": 65536, "kind": IO_COMPLETE, "count": 1}])


def events_of_no_table():
    r = device_of_no_table()
    for device in 65536, 2**32 - 1:
        for kind in range(1, 90):
            r.events([dict(time=r.now + 1, device=device, kind=kind, instance=1, value=9, length=4096)])
    return r


def pasids():
    """Faults of the kernel's that stay open, and the names of as many PASIDs that none of them has."""
    r = Recording().device(kind=2)
    for first in range(0, 65536, 16384):
        r.events(Claim(16384, time=(r.now, 1000), device=1, kind=KIND["FAULT_ISR"], group=(first, 1), pasid=1,
                       instance=1, address=(0, 4096), length=4096, flags=READ), last=r.now + 16384 * 1000)
    for _ in range(4):
        r.events(Claim(16384, time=(r.now, 1000), device=1, kind=KIND["PASID_ATTACH"], pasid=(2, 1), pid=77),
                 last=r.now + 16384 * 1000)
    return r


def probes():
    r = Recording().device()
    for i in range(3_000):
        r.probe("fault_detect", attach=f"usdt {i}")
    return r


def accounts(changed):
    """Probes as many as there may be, attached and never hit, and 300,000 accounts of loss, half a byte each."""
    r = Recording().device()
    names = "fault_detect", "fault_request", "iommu_map", "dma_map", "vfio_map", "odp_fault", "mm_fault"
    for i in range(1024):
        r.probe(names[i % len(names)], attach=f"usdt {i}", hits=0)
    loss, probe = bytes(14 * 8), packed("tttIQQQQ", names[0], "usdt 0", "", 1, 0, 0, 0, 0)
    body = b""
    for i in range(1000):
        if changed:
            probe = packed("tttIQQQQ", names[0], "usdt 0", "", 1, i & 1, 0, 0, 0)
            body += struct.pack("<BI", PROBE, len(probe)) + probe
        body += struct.pack("<BI", LOSS, len(loss)) + loss
    # No denser than a reader believes: a record of no type there is, which does not compress.
    filler = random.Random(1).randbytes(len(body) // 250)
    for _ in range(300):
        r.frame(RECORDS, body + struct.pack("<BI", 99, len(filler)) + filler, compress=True)
    return r


def accounts_of_the_same():
    return accounts(False)


def accounts_of_changes():
    return accounts(True)


def ios():
    """I/Os of a GiB each: a quarter of a million pages for 64 bytes that are not even there."""
    r = Recording().device()
    for _ in range(4):
        r.events(Claim(16384, time=(r.now, 1000), device=1, kind=IO_COMPLETE, address=(0, 1 << 30),
                       length=1 << 30, value=5_000_000, pasid=PASID_NONE, flags=READ), last=r.now + 16384 * 1000)
    return r


def ticks():
    r = Recording().device().faults(count=1)
    for i in range(4):
        first = START_NS + i * 16384 * 3600 * SECOND
        r.events([], ticks=Claim(16384, now=(first, 3600 * SECOND)), first=first, last=first + 16384 * 3600 * SECOND)
    return r


def windows():
    """Seconds years apart: what lies between them is nothing."""
    r = Recording().device()
    for i in range(100):
        r.aggregate(window=1000 + i * 10_000_000, rows=[{"device": 1, "kind": IO_COMPLETE, "count": 1, "bytes": 4096}])
    return r.faults(count=1)


def high_number():
    """A device whose number is the highest there is, in 81 events of which each comes 9 s after the one before."""
    r = Recording().device(65535)
    for i in range(81):
        r.events(r.fault(at=START_NS + i * 9 * SECOND, stages=1))
    return r


def days():
    """A week in which it is said every 9 s that time passes, in a kilobyte; and a day of events as far apart."""
    r = Recording().device().faults(count=1)
    for i in range(4):
        first = START_NS + i * 16384 * 9 * SECOND
        r.events([], ticks=Claim(16384, now=(first, 9 * SECOND)), first=first, last=first + 16384 * 9 * SECOND)
    return r.events(Claim(10000, time=(r.now, 9 * SECOND), device=1, kind=DETECT, group=(2, 1), pasid=PASID_NONE,
                          instance=1, length=4096), last=r.now + 90000 * SECOND)


def end_of_time():
    """The last nanoseconds that a clock of 64 bits can count."""
    last = (1 << 64) - 1
    return Recording().device().events([{"time": last - 2, "device": 1, "kind": IO_COMPLETE, "value": 5}],
                                       ticks=[{"now": last - 1, "position": 1}], first=0, last=0)


ALL = [pages, too_many_pages, too_many_rows, rows_of_no_device, rows_of_no_kind, events_of_no_device, pages_of_no_table,
       rows_of_no_table, events_of_no_table, pasids, probes,
       ios, ticks, windows, high_number, days, end_of_time, accounts_of_the_same,
       accounts_of_changes]

if __name__ == "__main__":
    for make in ALL:
        recording = make().end()
        recording.write(pathlib.Path(sys.argv[1]) / f"{make.__name__}.flt")
        print(make.__name__, len(recording.bytes))
