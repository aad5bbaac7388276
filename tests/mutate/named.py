# SPDX-License-Identifier: GPL-2.0
"""Mistakes that have a name: of a paper as it is printed, or that somebody would make again. A unit test has to notice each.

What is there is text that occurs once in its file, so that a mistake whose place is gone is told.
"""
import pathlib
import sys

import sites

ROOT = pathlib.Path(__file__).resolve().parents[2]
NIC = "injectors/emu/nic/"
RDMA = "injectors/emu/rdma/"
REQUEST, ANSWER = RDMA + "transport_request.c", RDMA + "transport_answer.c"
RESPOND, RESPONSE = RDMA + "transport_respond.c", RDMA + "transport_response.c"
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

TRANSPORT = (
    ("packet numbers are compared as if they did not wrap", RDMA + "packets.h",
     "__s32 ahead = (__s32)((psn - (__u32)near) << 8) >> 8;",
     "__s32 ahead = (__s32)(psn & RDMA_PSN_MASK) - (__s32)((__u32)near & RDMA_PSN_MASK);"),
    ("a NAK for each packet behind a gap", RESPOND, "if (!responder->refusing) {", "if (responder->behind != RDMA_DROP_RNR) {"),
    ("a gap behind an RNR NAK is one of the sequence", RESPOND, "if (!responder->refusing) {",
     "if (!responder->refusing || (responder->behind == RDMA_DROP_RNR && !responder->nak_due)) {"),
    ("an RNR NAK is counted as a retry", ANSWER, "requester->rnr_left--;",
     "requester->rnr_left--; if (!requester_retry(pair, now_ns)) return;"),
    ("RNR retries are given back by nothing", ANSWER, "\trequester->rnr_left = pair->rnr_retries;\n", ""),
    ("retries are given back by nothing", ANSWER, "\trequester->acked = position;\n\trequester->retries_left = pair->retries;\n",
     "\trequester->acked = position;\n"),
    ("one RNR retry too many", ANSWER, "!requester->rnr_left)", "requester->rnr_left == 255)"),
    ("the sender does not wait for the timer of an RNR NAK", REQUEST,
     "if (pair_waits(pair, WAIT_SEND_MEMORY) || pair_waits(pair, WAIT_SEND_RNR))", "if (pair_waits(pair, WAIT_SEND_MEMORY))"),
    ("a read is asked for again from its first response", REQUEST, "__u64 offset = entry->received * pair->mtu;", "__u64 offset = 0;"),
    ("responses on their way count as a gap", ANSWER, "packet->generation != requester->generation ||", ""),
    ("a response that is asked for again has a new number", REQUEST, "RDMA_READ_REQUEST, entry->first + entry->received)",
     "RDMA_READ_REQUEST, entry->first)"),
    ("what is sent completes before it is acknowledged", ANSWER, ": entry->end > requester->acked)", ": entry->end > requester->sent)"),
    ("a read completes by an acknowledgement behind it", ANSWER, "? entry->received < entry->end - entry->first", "? entry->end > requester->acked"),
    ("the receive queue is not flushed", RDMA + "transport.c", "\trequester_flush(pair);\n\tresponder_flush(pair);\n}",
     "\trequester_flush(pair);\n}"),
    ("what was sent is not flushed", ANSWER, "\twhile (requester->head != requester->tail)\n\t\tcomplete_send(pair, VERBS_WR_FLUSH_ERR);\n", ""),
    ("a fence holds nothing", REQUEST, "if (requester->reads && (entry->send.flags & VERBS_SEND_FENCE))", "if (0)"),
    ("an acknowledgement overtakes a read's responses", RESPONSE, "if (!responder->ack_due || responder->acked >= next)",
     "if (responder->ack_due) next = responder->expected; if (!responder->ack_due || responder->acked >= next)"),
    ("a duplicate is not acknowledged again", RESPOND, "responder->ack_due = true; /* the acknowledgement was lost */", ""),
    ("a duplicate is taken again", RESPOND, "if (position < responder->expected) {", "if (position + 1 < responder->expected) {"),
    ("timers run while the send queue waits", REQUEST, "if (!requester->timer_on || pair_waits(pair, WAIT_SEND_MEMORY) ||",
     "if (!requester->timer_on ||"),
    ("a message's place moves though its page is absent", RESPOND, "\terr = scatter_request(pair, packet, &to, now_ns);\n\tif (err == -EAGAIN)\n\t\treturn false;\n\tif (err)\n\t\treturn refuse_request(",
     "\terr = scatter_request(pair, packet, &to, now_ns);\n\tif (err == -EAGAIN) {\n\t\tresponder->offset = offset + packet->bytes;\n\t\treturn false;\n\t}\n\tif (err)\n\t\treturn refuse_request("),
    ("drop: what is behind a fault is told as a gap", RDMA + "transport_absent.c",
     "\tresponder->refusing = true;\n\tresponder->behind = RDMA_DROP_SEQUENCE;\n", "\tresponder->behind = RDMA_DROP_SEQUENCE;\n"),
    ("READ_RNR: reads behind are not rewound", RDMA + "transport_reads.c", "behind->next = behind->first;", "(void)behind;"),
)


def mutations(files):
    """As sites.py's; of all files if none is named."""
    for name, path, old, new in FIGURE_6 + RINGS + TRANSPORT:
        if files and path not in files:
            continue
        text = (ROOT / path).read_bytes()
        if text.count(old.encode()) != 1:
            sys.exit(f"not ok - {path}: the place of a named mutation occurs {text.count(old.encode())} times: {old}")
        begin = text.index(old.encode())
        yield sites.Mutation(path, text.count(b"\n", 0, begin) + 1, begin, begin + len(old.encode()), new, name)
