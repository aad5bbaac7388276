// SPDX-License-Identifier: GPL-2.0
/* Rows of the probe table: bpf/emu.bpf.c. */
#include "lib/capture/rows.h"

const struct probe_row emu_rows[] = {
	{PROBE_FAULT_DETECT, "fault_detect", OBJECT_EMU, EVENT_FAULT_DETECT, true, NULL,
	 USDT(fault_detect)},
	{PROBE_FAULT_REQUEST, "fault_request", OBJECT_EMU, EVENT_FAULT_REQUEST, true, NULL,
	 USDT(fault_request)},
	{PROBE_FAULT_ISR, "fault_isr", OBJECT_EMU, EVENT_FAULT_ISR, false, NULL, USDT(fault_isr),
	 .every = FROM_EMULATED},
	{PROBE_FAULT_HANDLER, "fault_handler", OBJECT_EMU, EVENT_FAULT_HANDLER, false, NULL,
	 USDT(fault_handler), .every = FROM_EMULATED},
	{PROBE_FAULT_RESOLVED, "fault_resolved", OBJECT_EMU, EVENT_FAULT_RESOLVED, false, NULL,
	 USDT(fault_resolved), .every = FROM_EMULATED},
	{PROBE_FAULT_MAPPED, "fault_mapped", OBJECT_EMU, EVENT_FAULT_MAPPED, false, NULL,
	 USDT(fault_mapped), .every = FROM_EMULATED},
	{PROBE_FAULT_RESPONSE, "fault_response", OBJECT_EMU, EVENT_FAULT_RESPONSE, true, NULL,
	 USDT(fault_response), .every = FROM_EMULATED},
	{PROBE_FAULT_RESUME, "fault_resume", OBJECT_EMU, EVENT_FAULT_RESUME, true, NULL,
	 USDT(fault_resume)},
	{PROBE_FAULT_OVERFLOW, "fault_overflow", OBJECT_EMU, EVENT_FAULT_OVERFLOW, false, NULL,
	 USDT(fault_overflow)},
	{PROBE_FAULT_VOID, "fault_void", OBJECT_EMU, EVENT_FAULT_VOID, false, NULL,
	 USDT(fault_void)},
	{PROBE_FAULT_ABANDON, "fault_abandon", OBJECT_EMU, EVENT_FAULT_ABANDON, false, NULL,
	 USDT(fault_abandon)},
	{PROBE_INVALIDATE_START, "invalidate_start", OBJECT_EMU, EVENT_INVALIDATE_START, false,
	 NULL, USDT(invalidate_start)},
	{PROBE_INVALIDATE_DEVICE, "invalidate_device", OBJECT_EMU, EVENT_INVALIDATE_DEVICE, false,
	 NULL, USDT(invalidate_device)},
	{PROBE_INVALIDATE_ACK, "invalidate_ack", OBJECT_EMU, EVENT_INVALIDATE_ACK, false, NULL,
	 USDT(invalidate_ack)},
	{PROBE_INVALIDATE_FREED, "invalidate_freed", OBJECT_EMU, EVENT_INVALIDATE_FREED, false,
	 NULL, USDT(invalidate_freed)},
	{PROBE_INJECT_START, "inject_start", OBJECT_EMU, EVENT_INJECT_START, false, NULL,
	 USDT(inject_start)},
	{PROBE_INJECT_STOP, "inject_stop", OBJECT_EMU, EVENT_INJECT_STOP, false, NULL,
	 USDT(inject_stop)},
};

const size_t emu_row_count = sizeof(emu_rows) / sizeof(emu_rows[0]);
