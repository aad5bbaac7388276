/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The USDT probes of emulated hosts, provider "faultline", as injectors/emu/probes.h has those of emulated machines. All are
 * fired by the process of the host whose machine they are of, in one place (seen_ring.c); what they are is with their kinds
 * (bpf/event_kinds.def).
 *
 * Arguments, all u64 (kernel side: bpf/lend.bpf.h):
 *	0 device	index in the host's machine | queue << 32 | code << 48 | flags << 56
 *	1 address, 2 length, 3 value	the event's
 *	4 group | instance << 32
 *	5 pasid | tid << 32
 * lend_io has an I/O's stages in the place of 3 to 6: model ns of two stages each, the first in the lower half.
 */
#ifndef FAULTLINE_CLUSTER_PROBES_H
#define FAULTLINE_CLUSTER_PROBES_H

#include "injectors/emu/probes.h"

/* X(KIND, probe): EVENT_KIND and the probe that tells it. */
#define LEND_PROBES(X)                        \
	X(LEND_STEP, lend_step)               \
	X(WINDOW_MAP, window_map)             \
	X(WINDOW_UNMAP, window_unmap)         \
	X(REQUESTER_ADD, requester_add)       \
	X(REQUESTER_REMOVE, requester_remove) \
	X(LINK_STATE, link_state)             \
	X(LEND_MAP, lend_map)                 \
	X(LEND_UNMAP, lend_unmap)             \
	X(WINDOW_STATE, window_state)         \
	X(PATH_STATE, path_state)             \
	X(LEND_IO, lend_io)                   \
	X(CLIENT_STATE, client_state)         \
	X(FAILOVER, failover)                 \
	X(STRAY_DMA, stray_dma)               \
	X(INTERRUPT_RELAY, interrupt_relay)   \
	X(MULTICAST, multicast)               \
	X(ADAPTER_STATE, adapter_state)       \
	X(LEND_FAULT, lend_fault)             \
	X(LEND_LOST, lend_lost)               \
	X(IOMMU_MAP, lend_iommu_map)          \
	X(IOMMU_UNMAP, lend_iommu_unmap)

#define LEND_PROBE(what, a) \
	STAP_PROBE8(faultline, what, (a)[0], (a)[1], (a)[2], (a)[3], (a)[4], (a)[5], (a)[6], (a)[7])

#endif
