// SPDX-License-Identifier: GPL-2.0
/* Rows of the probe table: bpf/emu.bpf.c. */
#include "lib/capture/rows.h"

const struct probe_row emu_rows[] = {
	{PROBE_FAULT_DETECT, "fault_detect", OBJECT_EMU, EVENT_FAULT_DETECT, true, NULL,
	 USDT(fault_detect),
	 .without =
		 "how many faults there were and when they began is not known, nor what became of them, their total times and how long queues stood still"},
	{PROBE_FAULT_REQUEST, "fault_request", OBJECT_EMU, EVENT_FAULT_REQUEST, true, NULL,
	 USDT(fault_request),
	 .without =
		 "stage request is part of the next one seen, a fault whose request got through after an overflow is told as overflowed, and which were discarded is not known"},
	{PROBE_FAULT_ISR, "fault_isr", OBJECT_EMU, EVENT_FAULT_ISR, false, NULL, USDT(fault_isr),
	 .every = FROM_EMULATED, .without = "stage delivery is part of the next one seen"},
	{PROBE_FAULT_HANDLER, "fault_handler", OBJECT_EMU, EVENT_FAULT_HANDLER, false, NULL,
	 USDT(fault_handler), .every = FROM_EMULATED,
	 .without =
		 "stage dispatch is part of the next one seen, and CPU page faults are credited to no fault"},
	{PROBE_FAULT_RESOLVED, "fault_resolved", OBJECT_EMU, EVENT_FAULT_RESOLVED, false, NULL,
	 USDT(fault_resolved), .every = FROM_EMULATED,
	 .without =
		 "stage resolve is part of the next one seen, and whether storage was read is not known"},
	{PROBE_FAULT_MAPPED, "fault_mapped", OBJECT_EMU, EVENT_FAULT_MAPPED, false, NULL,
	 USDT(fault_mapped), .every = FROM_EMULATED,
	 .without = "stage map is part of the next one seen"},
	{PROBE_FAULT_RESPONSE, "fault_response", OBJECT_EMU, EVENT_FAULT_RESPONSE, true, NULL,
	 USDT(fault_response), .every = FROM_EMULATED,
	 .without = "stage respond is part of the next one seen"},
	{PROBE_FAULT_RESUME, "fault_resume", OBJECT_EMU, EVENT_FAULT_RESUME, true, NULL,
	 USDT(fault_resume),
	 .without =
		 "whether and when devices went on is not known: faults stay unfinished, without a total time, and how many overflowed is not known"},
	{PROBE_FAULT_OVERFLOW, "fault_overflow", OBJECT_EMU, EVENT_FAULT_OVERFLOW, false, NULL,
	 USDT(fault_overflow),
	 .without =
		 "overflowed and discarded faults are not told apart, and some may be told as complete"},
	{PROBE_FAULT_VOID, "fault_void", OBJECT_EMU, EVENT_FAULT_VOID, false, NULL,
	 USDT(fault_void),
	 .without = "discarded faults are not known as such, and some may be told as complete"},
	{PROBE_FAULT_ABANDON, "fault_abandon", OBJECT_EMU, EVENT_FAULT_ABANDON, false, NULL,
	 USDT(fault_abandon),
	 .without =
		 "which faults their devices gave up is not known: they are told as unfinished or complete"},
	{PROBE_INVALIDATE_START, "invalidate_start", OBJECT_EMU, EVENT_INVALIDATE_START, false,
	 NULL, USDT(invalidate_start),
	 .without = "when invalidations began is not known, nor when devices were told after that"},
	{PROBE_INVALIDATE_DEVICE, "invalidate_device", OBJECT_EMU, EVENT_INVALIDATE_DEVICE, false,
	 NULL, USDT(invalidate_device),
	 .without = "when devices were told of invalidations is not known"},
	{PROBE_INVALIDATE_ACK, "invalidate_ack", OBJECT_EMU, EVENT_INVALIDATE_ACK, false, NULL,
	 USDT(invalidate_ack),
	 .without = "whether and when devices acknowledged invalidations is not known"},
	{PROBE_INVALIDATE_FREED, "invalidate_freed", OBJECT_EMU, EVENT_INVALIDATE_FREED, false,
	 NULL, USDT(invalidate_freed),
	 .without =
		 "which invalidations ended, and when, is not known, nor how much memory was freed"},
	{PROBE_INJECT_START, "inject_start", OBJECT_EMU, EVENT_INJECT_START, false, NULL,
	 USDT(inject_start), .without = "when injections began is not known"},
	{PROBE_INJECT_STOP, "inject_stop", OBJECT_EMU, EVENT_INJECT_STOP, false, NULL,
	 USDT(inject_stop), .without = "when injections ended is not known"},
};

const size_t emu_row_count = sizeof(emu_rows) / sizeof(emu_rows[0]);
