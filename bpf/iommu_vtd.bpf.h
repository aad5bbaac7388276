/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Part of iommu.bpf.c: unrecoverable faults of Intel VT-d, of which there is no tracepoint.
 *
 * The kernel's handler dmar_fault() is called once an interrupt, nearly always for one fault, and
 * prints what it finds until its rate limit stops it. What it prints is decoded from the text,
 * within its printing; a call that printed nothing is reported as a fault unseen. If reading registers
 * was allowed, the records are instead read from the IOMMU just before the kernel does, all of them.
 */
#ifndef FAULTLINE_IOMMU_VTD_BPF_H
#define FAULTLINE_IOMMU_VTD_BPF_H

#include "bpf/dmar_text.h"
#include "bpf/iommu_owner.bpf.h"

#define VTD_FSTS	 0x34	   /* fault status register */
#define FSTS_OVERFLOW	 (1u << 0) /* faults were dropped for want of records */
#define FSTS_PENDING	 (1u << 1)
#define FRCD_BYTES	 16
#define FRCD_FAULT	 (1ull << 63)
#define FRCD_READ	 (1ull << 62) /* type bit 1 */
#define FRCD_PASID	 (1ull << 31) /* the PASID is valid */
#define FRCD_EXEC	 (1ull << 30)
#define FRCD_PRIV	 (1ull << 29)
#define REASON_INTERRUPT 0x20 /* reasons of interrupt remapping are 0x20 to 0x2f */
#define FRCD_MOST	 256  /* records that an IOMMU can have */

/* The handler that runs on this CPU. */
struct vtd_handler {
	__u64 iommu;   /* struct intel_iommu, 0: none */
	__u64 records; /* address of the first */
	__u32 record;  /* number of the one that comes next */
	__u32 record_count;
	__u32 decoded;
	__u32 segment;
};

MAP(vtd_handlers, PERCPU_ARRAY, 1, __u32, struct vtd_handler);

static __always_inline struct vtd_handler *vtd_handler(void)
{
	return map_only(&vtd_handlers);
}

static __always_inline __u8 fault_flags(const struct dmar_fault *fault)
{
	if (fault->is_interrupt)
		return 0;
	return (fault->is_write ? EVENT_WRITE : EVENT_READ) | (fault->is_exec ? EVENT_EXEC : 0) |
	       (fault->is_privileged ? EVENT_PRIV : 0);
}

static __always_inline void fault_emit(struct probe_counter *counter,
				       const struct dmar_fault *fault, __u64 source)
{
	struct pci_function *function = bpf_map_lookup_elem(&pci_functions, (void *)&fault->rid);
	__u32 device = function ? function->device : device_by_rid(counter, fault->rid);
	struct event *event = event_if_wanted(counter, EVENT_IOMMU_FAULT);

	if (event) {
		event->address = fault->address;
		event->device = device;
		event->pasid = fault->pasid;
		event->value = source;
		event->code = fault->reason;
		event->flags = fault_flags(fault);
		event_submit(counter, event);
	}
	if (!fault->is_interrupt)
		owner_emit(counter, device, function ? function->group : 0, fault->address,
			   MAPPING_PAGE);
}

static __always_inline void unseen_emit(struct probe_counter *counter, __u64 count, __u8 code)
{
	struct event *event = event_if_wanted(counter, EVENT_IOMMU_UNSEEN);

	if (!event)
		return;
	event->value = count;
	event->code = code;
	event_submit(counter, event);
}

static __always_inline __u64 read_register(__u64 address, __u32 bytes)
{
	__u64 value = 0;

	bpf_probe_read_kernel(&value, bytes, (void *)address);
	return value;
}

/* The record that comes next; nonzero: there is none. */
static long fault_record(__u32 step, void *context)
{
	struct probe_counter *counter = probe_again(PROBE_VTD_FAULT);
	struct vtd_handler *handler = vtd_handler();
	struct dmar_fault fault = {};
	__u64 at, low, high;

	if (!counter || !handler)
		return 1;
	at = handler->records + (__u64)handler->record * FRCD_BYTES;
	low = read_register(at, 8);
	high = read_register(at + 8, 8);
	if (!(high & FRCD_FAULT))
		return 1;
	if (++handler->record >= handler->record_count)
		handler->record = 0;
	handler->decoded++;
	fault.reason = high >> 32;
	fault.is_interrupt = (fault.reason & 0xf0) == REASON_INTERRUPT;
	fault.is_write = !(high & FRCD_READ);
	fault.is_exec = high & FRCD_PASID && high & FRCD_EXEC;
	fault.is_privileged = high & FRCD_PASID && high & FRCD_PRIV;
	fault.rid = handler->segment << 16 | (high & 0xffff);
	fault.pasid = high & FRCD_PASID ? (high >> 40) & 0xfffff : PASID_NONE;
	fault.address = fault.is_interrupt ? low >> 48 : low & ~(__u64)(MAPPING_PAGE - 1);
	fault_emit(counter, &fault, SOURCE_REGISTERS);
	return handler->decoded >= handler->record_count;
}

SEC("fentry/dmar_fault")
int BPF_PROG(handles_faults, int irq, struct intel_iommu *iommu)
{
	struct probe_counter *counter = probe_hit(PROBE_VTD_FAULT);
	struct vtd_handler *handler = vtd_handler();
	__u64 registers, capabilities, status;

	if (!handler || !counter)
		return 0;
	handler->iommu = (__u64)iommu;
	handler->decoded = 0;
	handler->segment = BPF_CORE_READ(iommu, segment);
	if (!filter.iommu_registers)
		return 0;
	capabilities = BPF_CORE_READ(iommu, cap);
	registers = (__u64)BPF_CORE_READ(iommu, reg);
	status = read_register(registers + VTD_FSTS, 4);
	if (!(status & FSTS_PENDING))
		return 0;
	handler->records = registers + ((capabilities >> 24) & 0x3ff) * FRCD_BYTES;
	handler->record_count = ((capabilities >> 40) & 0xff) + 1;
	handler->record = (status >> 8) & 0xff;
	bpf_loop(FRCD_MOST, fault_record, NULL, 0);
	if (status & FSTS_OVERFLOW)
		unseen_emit(counter, 1, UNSEEN_AT_LEAST);
	return 0;
}

SEC("fexit/dmar_fault")
int BPF_PROG(handled_faults, int irq, struct intel_iommu *iommu)
{
	struct probe_counter *counter = probe_again(PROBE_VTD_FAULT);
	struct vtd_handler *handler = vtd_handler();

	if (!handler || !handler->iommu)
		return 0;
	handler->iommu = 0;
	if (counter && !filter.iommu_registers && !handler->decoded)
		unseen_emit(counter, 1, UNSEEN_AT_LEAST);
	return 0;
}

SEC("tp_btf/console")
int BPF_PROG(console, const char *text, size_t length)
{
	struct vtd_handler *handler = vtd_handler();
	struct probe_counter *counter;
	struct dmar_fault fault = {};
	struct dmar_scan scan = {};

	if (!handler || length < sizeof("DMAR: [DMA "))
		return 0;
	bpf_probe_read_kernel(scan.text,
			      length < sizeof(scan.text) ? length : sizeof(scan.text) - 1, text);
	if (!dmar_parse(&scan, &fault))
		return 0;
	counter = probe_hit(PROBE_VTD_FAULT_TEXT);
	if (!counter)
		return 0;
	/* With registers each record is decoded from these. */
	if (handler->iommu && filter.iommu_registers)
		return 0;
	if (handler->iommu) {
		handler->decoded++;
		if (fault.rid < 0x10000)
			fault.rid |= handler->segment << 16;
	}
	fault_emit(counter, &fault, SOURCE_CONSOLE);
	return 0;
}

#endif
