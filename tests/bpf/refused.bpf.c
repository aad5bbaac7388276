// SPDX-License-Identifier: GPL-2.0
/*
 * Takes the place of the iommu object in test_refused: one program is sound, one reads where it may
 * not, one asks for a field that no kernel has.
 */
#include "bpf/kernel.h"

#include "bpf/emit.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bus_type___of_nobody {
	int field_that_no_kernel_has;
};

#pragma clang attribute pop

SEC("tp_btf/map")
int BPF_PROG(map, unsigned long iova, __u64 paddr, size_t size)
{
	probe_hit(PROBE_IOMMU_MAP);
	return 0;
}

SEC("tp_btf/unmap")
int BPF_PROG(unmap, unsigned long iova, size_t size, size_t unmapped)
{
	return *(volatile int *)iova; /* an address that nobody has checked */
}

SEC("tp_btf/io_page_fault")
int BPF_PROG(io_page_fault, void *dev, unsigned long iova, int flags)
{
	const struct bus_type___of_nobody *bus = (void *)iova;

	return BPF_CORE_READ(bus, field_that_no_kernel_has);
}
