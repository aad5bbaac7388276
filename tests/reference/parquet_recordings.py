#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Recordings for the suite `parquet`: parquet_recordings.py DIRECTORY writes NAME.flt for each function below."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hostile"))

from forge import REAL_NS, SECOND, START_NS, Claim, Recording  # noqa: E402

HOSTILE = b"no/../\xff\"\n%41 \xc3\xa9=x"  # tests/e2e/parquet.sh knows what becomes of it


def recording(host, days=0):
    return Recording(preamble=False).host(hostname=host).clock(real=REAL_NS + days * 86400 * SECOND)


def hostile():
    """Names that a CSV, a path and an engine might stumble over."""
    r = recording(HOSTILE)
    for name in (b"vm0/\"di'sk\",\n\xff", b"", b"caf\xc3\xa9\\x41", b"=1+1", b"plain", b"\xc3"):
        r.device(name=name, model=b"mo\"del\n").faults(count=11)
    return r.process(4711, b"a\"b\nc\xfe").ios(count=7).end()


def clean():
    return recording("..").device(name="vm0/disk").faults(count=13).end()


def monday():
    """Bursts of seven on one device, single faults on another, none on the third."""
    r = recording("mon/day", 1)
    r.device(name="vm0/disk").device(name="vm0/nic0", model="nic").device(name="vm1/disk")
    for i in range(11):
        at = START_NS + i * 5 * SECOND
        r.events([event for k in range(7) for event in r.fault(1, at + k * 100_000_000)])
        r.events(r.fault(2, at + 2 * SECOND))
    return r.end()


def tuesday():
    """Around midnight: two days in one recording; events were lost."""
    r = recording("tuesday", 2)
    r.device(name="vm0/disk").device(name="vm0/nic0", model="nic")
    midnight = START_NS + 86400 * SECOND - REAL_NS % (86400 * SECOND)
    for i in range(-17, 19):
        r.events(r.fault(1 + i % 2, midnight + i * SECOND // 2))
    return r.loss(1009, 1000, 9).end()


def timeless():
    """It knows no wall-clock, and no host."""
    return Recording(preamble=False).host(hostname="").device().faults(count=5).end()


def pages():
    """More pages than 16 MB of memory can count."""
    r = recording("pages").device(memory=1 << 40)
    for i in range(7):
        r.aggregate(pages=Claim(1 << 20, page=(i << 20, 1), device=1, reads=1))
    return r.end()


def far():
    """Its clock is wrong by six centuries."""
    return Recording(preamble=False).host(hostname="far").clock(real=(1 << 64) - (1 << 40)).device().faults(count=3).end()


def big():
    r = recording("big").device(name="vm0/disk")
    return r.faults(count=40009).end()


def damaged():
    return bytes(clean()) + b"\x45" * 64


def cut():
    return bytes(recording("cut").device().faults(count=23).device(name="vm0/other").faults(count=29).end())[:-150]


def main():
    for make in (hostile, clean, monday, tuesday, timeless, pages, far, big, damaged, cut):
        with open(os.path.join(sys.argv[1], make.__name__ + ".flt"), "wb") as file:
            file.write(bytes(make()))


if __name__ == "__main__":
    main()
