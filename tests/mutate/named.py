# SPDX-License-Identifier: GPL-2.0
"""Mistakes that have a name: of a paper as it is printed, or that somebody would make again. A unit test has to notice each.

What is there is text that occurs once in its file, so that a mistake whose place is gone is told.
"""
import pathlib
import sys

import sites

ROOT = pathlib.Path(__file__).resolve().parents[2]
NIC = "injectors/emu/nic/"
BACKUP, POLICY = NIC + "rx_backup.c", NIC + "policy_backup.c"
UNLOCKED = "extern void rx_unlocked(struct rx_ring *) __attribute__((weak)); if (rx_unlocked) rx_unlocked(ring);"

# NPF's Fig. 6 as printed, and without what corrects it.
FIGURE_6 = (
    ("room is asked of the posted buffers' number, not of the position", POLICY,
     "rx_ring_posted(ring, verdict->position, verdict->count) &&",
     "ring->tail - ring->head - ring->head_offset < ring->size &&"),
    ("room of the backup ring likewise", BACKUP,
     "backup->head < backup_tail(backup)", "backup_tail(backup) - backup->head < backup->ring.count"),
    ("bm_index is not the ring's", POLICY, "ring->bm_index + ring->head_offset", "ring->head_offset"),
    ("bm_index does not go with the head", POLICY, "ring->bm_index++;", ""),
    ("no cap of head_offset", POLICY, "ring->head_offset + verdict->count > ring->bm_size ||", ""),
    ("the cap of head_offset is for one buffer", POLICY,
     "ring->head_offset + verdict->count > ring->bm_size", "ring->head_offset >= ring->bm_size"),
    ("no lock between check and increment", POLICY,
     "ring->head_offset += verdict->count;\n\t\t\tring->counters",
     UNLOCKED + "ring->head_offset += verdict->count; ring->counters"),
    ("a ring without posted buffers does not take the backup ring", POLICY, "if (ring->head_offset + verdict->count > ring->bm_size",
     "if (verdict->absent == RX_NO_SLOT || ring->head_offset + verdict->count > ring->bm_size"),
    ("the head goes on by one", POLICY, "while (ring->head_offset &&", "if (ring->head_offset &&"),
    ("the guest sees what is behind a held frame", POLICY, "if (ring->head_offset) {", "if (0) {"),
    ("a frame of several buffers has one bit", POLICY, "held_bits_set(ring, verdict->bit, verdict->count)",
     "held_bits_set(ring, verdict->bit, 1)"),
    ("one bit of a frame of several buffers is cleared", POLICY, "held_bits_clear(ring, bit, count);",
     "held_bits_clear(ring, bit, 1);"),
)
RINGS = (
    ("drop: a frame that needs present buffers only passes the fault", NIC + "policy_drop.c",
     "if (!ring->paused)\n", "\n"),
    ("cache: once it is resolved a frame overtakes the held ones", NIC + "policy_cache.c",
     "if (!ring->cached.count) {", "if (!ring->paused) {"),
    ("cache: a ring without a fault does not pass through it", NIC + "policy_cache.c",
     "if (!rx_cache_fits(ring->cache, frame->length))", "if (ring->paused && !rx_cache_fits(ring->cache, frame->length))"),
    ("ooo: what was passed over is not asked for again", NIC + "policy_ooo.c", "\tring->skipped = 0;\n", ""),
    ("ooo: what was passed over is lost to the ring", NIC + "policy_ooo.c", "*slot_of(ring, to--) = *slot_of(ring, from);",
     "to--;"),
    ("a tail beyond what the ring has is taken", NIC + "rx_ring.c", "tail - ring->head > ring->size", "0"),
)


def mutations(files):
    """As sites.py's; of all files if none is named."""
    for name, path, old, new in FIGURE_6 + RINGS:
        if files and path not in files:
            continue
        text = (ROOT / path).read_bytes()
        if text.count(old.encode()) != 1:
            sys.exit(f"not ok - {path}: the place of a named mutation occurs {text.count(old.encode())} times: {old}")
        begin = text.index(old.encode())
        yield sites.Mutation(path, text.count(b"\n", 0, begin) + 1, begin, begin + len(old.encode()), new, name)
