#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""journal.py RUN-DIRECTORY WORLD: changes in WORLD, and the journal of a dead injector that has made them.

Six attributes set and three directories, one in the other. The journal ends with its last page (where a file
system is full, not a byte can be added to it). injectors/real/journal_file.h is the format."""
import pathlib
import struct
import sys

import xxhash

OWNER, SET, ACT, DIRECTORY = 1, 2, 3, 4
PAGE, HEAD = 4096, 24


def record(sequence, kind, *texts):
    body = b"".join(text.encode() + b"\0" for text in texts)
    head = struct.pack("<IHHII", 0x314A4C46, kind, len(texts), sequence, len(body))
    return head + struct.pack("<Q", xxhash.xxh64_intdigest(head + body)) + body


def main():
    run, world = map(pathlib.Path, sys.argv[1:])
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    changes = [(ACT, str(world / "probe"), "device")]
    for i in range(3):
        changes += [(SET, str(world / f"first{i}"), f"old{i}", f"new{i}")]
    made = world
    for name in "abc":
        made /= name
        changes += [(DIRECTORY, str(made))]
    made.mkdir(parents=True)
    for i in range(3):
        changes += [(SET, str(world / f"last{i}"), f"old{i}", f"new{i}")]
    for kind, path, *texts in changes:
        if kind != DIRECTORY:
            pathlib.Path(path).write_text(f"{texts[1]}\n" if kind == SET else "")
    content = record(1, OWNER, "4194305", "1", boot)
    content += b"".join(record(i, *change) for i, change in enumerate(changes, 2))
    # One more, of an attribute that is gone with its device.
    last = ("/nowhere", "old")
    content += record(len(changes) + 2, SET, *last, "x" * ((-len(content) - HEAD - 1 - sum(len(t) + 1 for t in last)) % PAGE))
    assert len(content) % PAGE == 0
    journal = run / "4194305-1.journal"
    journal.write_bytes(content)
    journal.chmod(0o600)


if __name__ == "__main__":
    main()
