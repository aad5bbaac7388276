// SPDX-License-Identifier: GPL-2.0
/* Emulated hosts that lend devices to each other (docs/smartio.md): each is an emulated machine, met as those are. */
#include "lib/capture/paths/rows.h"

#define LEND_ROW(ID, probe, KIND, lack)                                              \
	{                                                                            \
		PROBE_##ID, #probe, &emu_object, EVENT_##KIND, METHODS(USDT(probe)), \
			.unaccused = "nothing need be lent", .without = (lack)       \
	}

static const struct probe_row rows[] = {
	LEND_ROW(LEND_STEP, lend_step, LEND_STEP,
		 "who lent, borrowed and returned devices is not known, nor how long it took"),
	LEND_ROW(WINDOW_MAP, window_map, WINDOW_MAP, "which windows adapters had is not known"),
	LEND_ROW(WINDOW_UNMAP, window_unmap, WINDOW_UNMAP,
		 "when windows of adapters went is not known"),
	LEND_ROW(REQUESTER_ADD, requester_add, REQUESTER_ADD,
		 "who had entries of requester tables is not known"),
	LEND_ROW(REQUESTER_REMOVE, requester_remove, REQUESTER_REMOVE,
		 "when entries of requester tables were given back is not known"),
	LEND_ROW(LINK_STATE, link_state, LINK_STATE,
		 "when links of adapters went down and came back is not known"),
	LEND_ROW(LEND_MAP, lend_map, LEND_MAP, "what drivers of lent devices mapped is not known"),
	LEND_ROW(LEND_UNMAP, lend_unmap, LEND_UNMAP,
		 "what drivers of lent devices unmapped is not known"),
	LEND_ROW(WINDOW_STATE, window_state, WINDOW_STATE,
		 "how full the windows of borrows were is not known"),
	LEND_ROW(PATH_STATE, path_state, PATH_STATE,
		 "how far transactions of lent devices went, and which got lost, is not known"),
	LEND_ROW(LEND_IO, lend_io, LEND_IO, "stages of I/Os on lent devices are not known"),
	LEND_ROW(CLIENT_STATE, client_state, CLIENT_STATE,
		 "what users of lent devices got is not known, nor who starved"),
	LEND_ROW(FAILOVER, failover, FAILOVER,
		 "which clients went on over another path is not known"),
	LEND_ROW(STRAY_DMA, stray_dma, STRAY_DMA,
		 "DMA of lent devices that went astray is not known"),
	LEND_ROW(INTERRUPT_RELAY, interrupt_relay, INTERRUPT_RELAY,
		 "interrupts relayed to guests are not counted"),
	LEND_ROW(MULTICAST, multicast, MULTICAST,
		 "how many hosts multicast writes reached is not known"),
	LEND_ROW(ADAPTER_STATE, adapter_state, ADAPTER_STATE,
		 "how full tables of adapters were is not known, nor what they lost"),
	LEND_ROW(LEND_FAULT, lend_fault, LEND_FAULT,
		 "which transactions IOMMUs of emulated hosts refused is not known"),
	LEND_ROW(LEND_LOST, lend_lost, LEND_LOST,
		 "whether emulated hosts had no room for what they had to tell is not known"),
	/* Of another kind's events: who asks for this path alone does not ask for them. */
	{PROBE_LEND_IOMMU_MAP, "lend_iommu_map", &emu_object, EVENT_IOMMU_MAP,
	 METHODS(USDT(lend_iommu_map)), .optional = true,
	 .without = "what IOMMUs of emulated hosts mapped is not known"},
	{PROBE_LEND_IOMMU_UNMAP, "lend_iommu_unmap", &emu_object, EVENT_IOMMU_UNMAP,
	 METHODS(USDT(lend_iommu_unmap)), .optional = true,
	 .without = "what IOMMUs of emulated hosts unmapped is not known"},
};

const struct path lend_path = {
	.name = "emulated hosts",
	.needs = "install faultline-inject, or --emulator PATH",
	ROWS(rows),
};
